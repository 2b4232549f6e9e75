# SPDX-License-Identifier: MIT
"""Interprets tenon.natvis in gdb, as far as the file goes, so that its expressions are evaluated on
real objects where there is no Visual Studio.

    source natvis_in_gdb.py
    natvis-file tenon.natvis
    natvis EXPRESSION          prints the line for it and the elements that it contains
    natvis-open EXPRESSION     prints what opens below that line
"""

import re
import xml.etree.ElementTree as ElementTree

import gdb

XMLNS = "{http://schemas.microsoft.com/vstudio/debugger/natvis/2010}"
IDENTIFIER = re.compile(r"(?:(?<=->)|(?<=\.)|(?<![\w.$>]))(?<!\d)[A-Za-z_]\w*")
WORDS = set("int long short unsigned signed char float double bool void true false ULL".split())
SPECIFIER = re.compile(r",\s*(en|sb|x|\[\d+\]x?)$")
# Visual C++'s names of the standard library's members.
ELSEWHERE = {"_Ptr": "_M_ptr", "nullptr": "0"}


class Break(Exception):
    pass


class Scope:
    """An object with what expressions on it may name."""

    def __init__(self, value, entry, arguments):
        self.value, self.arguments, self.variables = value, arguments, {}
        self.intrinsics = {node.get("Name"): (node.find(XMLNS + "Parameter").get("Name"),
                                              node.get("Expression"))
                           for node in entry.iter(XMLNS + "Intrinsic")}

    def translate(self, text):
        """The expression as gdb can evaluate it."""
        for name, (parameter, body) in self.intrinsics.items():
            while re.search(r"\b%s\(" % name, text):
                start = re.search(r"\b%s\(" % name, text).start()
                end = start + len(name) + 1
                depth = 1
                while depth:
                    depth += {"(": 1, ")": -1}.get(text[end], 0)
                    end += 1
                argument = "(" + text[start + len(name) + 1:end - 1] + ")"
                text = "%s(%s)%s" % (text[:start], re.sub(r"\b%s\b" % parameter, argument, body),
                                     text[end:])
        text = re.sub(r"\$T(\d+)", lambda match: self.arguments[int(match.group(1)) - 1], text)

        def word(match):
            name = match.group()
            if name in ELSEWHERE:
                return ELSEWHERE[name]
            before = text[:match.start()]
            if name in WORDS or before.endswith((".", "->")):
                return name
            return ("$natvis_" if name in self.variables else "$natvis_this->") + name

        return IDENTIFIER.sub(word, text)

    def evaluate(self, text):
        gdb.set_convenience_variable("natvis_this", self.value.address)
        return gdb.parse_and_eval(self.translate(text.strip()))

    def holds(self, node):
        """Whether a node's condition, if it has one, is true."""
        condition = node.get("Condition")
        return condition is None or bool(self.evaluate(condition))

    def assign(self, name, value):
        """Sets a variable, which keeps the type of its first value."""
        value = value.cast(self.variables.setdefault(name, value.type))
        gdb.set_convenience_variable("natvis_" + name, value)

    def text(self, expression):
        """An expression with its format specifier as text."""
        expression = expression.strip()
        match = SPECIFIER.search(expression)
        value = self.evaluate(expression[:match.start()] if match else expression)
        kind = match.group(1) if match else ""
        if kind == "en":
            return value.format_string().split("::")[-1]
        if kind == "sb":
            return value.string()
        if kind.startswith("["):
            count, x = re.match(r"\[(\d+)\](x?)", kind).groups()
            array = value.dereference().cast(value.type.target().array(int(count) - 1))
            return array.format_string(format="x") if x else array.format_string()
        return value.format_string(format="x") if kind == "x" else show(value)

    def display(self, text):
        """Text with expressions in braces."""
        return re.sub(r"\{([^{}]*)\}", lambda match: self.text(match.group(1)), text)


ENTRIES = []


def find(value):
    """The scope and the entry of a value, by its type or a base of it; None if there is none."""
    kind = value.type.strip_typedefs().unqualified()
    name = str(kind.name).replace(" ", "")
    for patterns, entry in ENTRIES:
        for pattern in patterns:
            match = re.fullmatch(pattern, name)
            if match:
                return Scope(value, entry, match.groups()), entry
    if kind.code == gdb.TYPE_CODE_STRUCT:
        for field in kind.fields():
            if field.is_base_class:
                return find(value.cast(field.type))
    return None


def show(value):
    found = find(value)
    if not found:
        return value.format_string(raw=True, symbols=False)
    scope, entry = found
    for node in entry.findall(XMLNS + "DisplayString"):
        if scope.holds(node):
            return scope.display(node.text)
    return "(no text)"


def children(scope, expand):
    """Yields names and text."""
    for node in expand if expand is not None else ():
        if node.tag is ElementTree.Comment or not scope.holds(node):
            continue
        tag = node.tag[len(XMLNS):]
        if tag == "Item":
            yield node.get("Name"), scope.text(node.text)
        elif tag == "ExpandedItem":
            yield from children_of(scope.evaluate(node.text))
        elif tag == "Synthetic":
            for name, text in children(scope, node.find(XMLNS + "Expand")):
                yield node.get("Name") + name, text
        elif tag == "ArrayItems":
            first = next(scope.evaluate(pointer.text)
                         for pointer in node.findall(XMLNS + "ValuePointer")
                         if scope.holds(pointer))
            for i in range(int(scope.evaluate(node.find(XMLNS + "Size").text))):
                yield "[%d]" % i, show(first[i])
        elif tag == "CustomListItems":
            for variable in node.findall(XMLNS + "Variable"):
                scope.assign(variable.get("Name"), scope.evaluate(variable.get("InitialValue")))
            size = int(scope.evaluate(node.find(XMLNS + "Size").text))
            items = list(run(scope, node))
            if len(items) != size:
                raise gdb.GdbError("Size is %d, but there are %d items" % (size, len(items)))
            for i, (name, text) in enumerate(items):
                yield name or "[%d]" % i, text
        else:
            raise gdb.GdbError("what is <%s>?" % tag)


def children_of(value):
    scope, entry = find(value)
    return children(scope, entry.find(XMLNS + "Expand"))


def run(scope, block):
    """Runs the code of CustomListItems; yields the items."""
    done = False  # a branch of the current If
    for node in block:
        tag = node.tag[len(XMLNS):] if node.tag is not ElementTree.Comment else ""
        if tag == "If":
            done = False
        if tag in ("If", "Elseif", "Else"):
            if not done and scope.holds(node):
                done = True
                yield from run(scope, node)
        elif not tag or tag in ("Variable", "Size") or not scope.holds(node):
            pass
        elif tag == "Exec":
            name, expression = node.text.split("=", 1)
            scope.assign(name.strip(), scope.evaluate(expression))
        elif tag == "Item":
            yield scope.display(node.get("Name", "")), scope.text(node.text)
        elif tag == "Break":
            raise Break
        elif tag == "Loop":
            try:
                while True:
                    yield from run(scope, node)
            except Break:
                pass
        else:
            raise gdb.GdbError("what is <%s>?" % tag)


class NatvisFile(gdb.Command):
    def __init__(self):
        super().__init__("natvis-file", gdb.COMMAND_DATA)

    def invoke(self, argument, _):
        for entry in ElementTree.parse(argument).getroot().iter(XMLNS + "Type"):
            names = [entry.get("Name")]
            names += [node.get("Name") for node in entry.iter(XMLNS + "AlternativeType")]
            ENTRIES.append(([re.escape(name.replace(" ", "")).replace(r"\*", "(.*?)")
                             for name in names], entry))


class Natvis(gdb.Command):
    def __init__(self):
        super().__init__("natvis", gdb.COMMAND_DATA)

    def invoke(self, argument, _):
        value = gdb.parse_and_eval(argument)
        elements = [text for name, text in children_of(value)
                    if re.match(r"(\[elements\])?\[\d+\]", name)]
        print(show(value) + (": " + ", ".join(elements) if elements else ""))


class NatvisOpen(gdb.Command):
    def __init__(self):
        super().__init__("natvis-open", gdb.COMMAND_DATA)

    def invoke(self, argument, _):
        for name, text in children_of(gdb.parse_and_eval(argument)):
            print("%s = %s" % (name, text))


NatvisFile()
Natvis()
NatvisOpen()
