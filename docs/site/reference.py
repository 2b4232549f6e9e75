# SPDX-License-Identifier: MIT
"""The reference's pages, one for each header that has public names, from the headers' `///` comments.

Doxygen reads the declarations and the comments; this writes them as Sphinx's C++ domain has them. A
declaration without a comment joins the one before it: a try_ form its other form, an overload the
first one. A function object is shown as the functions that its operator() makes it.
"""

import re
import shlex
import subprocess
import xml.etree.ElementTree as ET

from titles import FOLDERS

ROOTS = ("include", "testing/include")

# The branches of the headers that the reference shows, and the macros that say nothing to a reader.
PREDEFINED = """
TENON_BEGIN_NAMESPACE=namespace\\ tenon{ TENON_BEGIN_VALUES=namespace\\ tenon{ TENON_END_NAMESPACE=}
TENON_DETAIL_RAISES= TENON_TEMPLATE_INLINE= TENON_COMPILED_ONCE= TENON_EXPORT=
TENON_LIFETIMEBOUND= TENON_COLD= TENON_NOINLINE= TENON_ALWAYS_INLINE= TENON_INLINE_IN_TARGET= TENON_RESTRICT=
TENON_HOST_DEVICE= TENON_USES_FREE_MEMORY= TENON_VECTORIZE= TENON_VECTORIZE_EXACT= TENON_VECTORIZE_WHOLE=
TENON_CALLS_ALIKE= TENON_MISTAKE(x)==delete TENON_HAS_EXCEPTIONS=1 TENON_HAS_THREADS=1 TENON_HEAP=1
TENON_BARE_METAL=0 TENON_INLINE_DIMS=6 TENON_ERROR_TEXT=1 TENON_MARKS_FREE_MEMORY=0 TENON_HAS_OPENMP=0
__unix__ __linux__ __cplusplus=201703L NDEBUG
"""

# The fields of a description, in their order. A comment's are paragraphs that begin with their label: "Errors:",
# "Errors, besides:", "Ownership, threads:".
FIELDS = ("param", "Returns", "Options", "Shapes", "Ownership", "Errors", "Threads", "Streams", "Devices", "Cost",
          "Source")
LABELLED = rf"((?:{'|'.join(FIELDS[2:])})(?:[ ,/][a-z ,/]{{1,30}})?):"
LABEL = re.compile(rf"{LABELLED} +")
LABEL_IN_LINE = re.compile(rf"(?:(^ *///)|(?<=[.;])) (?={LABELLED}(?: |$)|`\w+`: )")
BESIDES = "Errors, besides"
OF_TRY = re.compile(r" ?The try\\_ form returns (?:a Result|the Error)\.")
PARAMETER = re.compile(r"``(\w+)``: +")  # "`copy`: whether to copy"

# What functions take, where the type alone does not say it.
PARAMETERS = [
    (r"DataPtr \w+", "a pointer to elements, which has their dtype, or a ``void*`` or a pointer to bytes with a type; to "
                     "``const`` for a read-only tensor"),
    (r"Dims sizes", "a list such as ``{2, 3}``, or a container of integers"),
    (r"(?:Dims|StridesArg) strides", "in elements, such as ``{3, 1}``; ``{}`` for dense ones"),
    (r"DimOrderArg dim_order", "the dimensions, outermost first, such as ``{1, 0}``; ``{}`` for row-major"),
    (r"StridesOrOrder layout", "``Strides{3, 1}`` or ``DimOrder{1, 0}``"),
    (r"FilePath path", "a ``std::string``, a ``const char*`` or a ``std::filesystem::path``"),
    (r"FileTarget to", "a path; a row of Byte, to whose end the bytes are added; or a function that takes them"),
    (r"FileContent \w+", "a contiguous :cpp:struct:`Blob` or tensor of the file's bytes, in the host's memory"),
    (r"Managed managed", "a ``DLManagedTensorVersioned*`` or ``DLManagedTensor*`` of any header, or a :cpp:type:`DLPackPtr`"),
    (r"TypeArg type", ":cpp:enum:`ScalarType`, the dtype"),
    (r"Values values", "a list such as ``{1.5, 2}``, or a container of elements"),
    (r"F deleter", "takes the ``void*``: ``[](void* data) { … }``"),
    (r"Owner owner", "any value that can be moved, such as a ``std::shared_ptr``; dropped with the last user of the memory"),
    (r"Options options", "any of these, in any order: a :cpp:enum:`ScalarType`, a :cpp:enum:`TensorShapeDynamism`, a "
                         ":cpp:class:`Backend` or a :cpp:class:`Device`"),
]

# The suites of testing/include: what a program uses of them.
OF_TESTING = ("BackendTraits", "Report", "BackendCase", "backend_cases", "run_case", "check_backend")
# What the standard library's templates and algorithms ask of a class, and no reader.
OF_STANDARD = ("value_type", "element_type", "reference", "pointer", "iterator", "const_iterator", "difference_type",
               "iterator_category")


# A comment that begins with a macro's name and a colon, such as "/// TENON_HEAP=0: …": switches, which programs may
# define, so that Doxygen does not see their definitions.
NAME = re.compile(r"(TENON_[A-Z0-9_]+|USE_ATEN_LIB)(?:=\w+)?")
OF_MACROS = re.compile(rf"///? {NAME.pattern}(?:, {NAME.pattern})*: ")
COMMENTS = re.compile(r"(?:^///?(?: .*)?\n)+", re.MULTILINE)


def header_files(repository):
    return sorted(path for root in ROOTS for path in (repository / root).rglob("*.h"))


def for_doxygen(line):
    """A line of a comment, with each label at the beginning of a paragraph, and `__x__` not read as bold x."""
    start = re.match(" *///", line)[0]
    line = re.sub(r"([`\"][^`\"]*[`\"])|(__\w+__(?:\(\))?)", lambda match: match[1] or f"`{match[2]}`", line)
    return LABEL_IN_LINE.sub(lambda match: ("" if match[1] else "\n") + f"{start}\n{start} ", line)


def run_doxygen(repository, work):
    """The headers' XML, in a folder below `work`."""
    headers = work / "headers"
    for path in header_files(repository):
        name = path.relative_to(next(repository / root for root in ROOTS if path.is_relative_to(repository / root)))
        if name.parts[1] in FOLDERS:
            copy = headers / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text(encoding="utf-8")
            text = COMMENTS.sub(lambda comment: "" if OF_MACROS.match(comment[0]) else comment[0], text)
            text = re.sub(r"template <class = void>\n", "\n", text)
            text = text.replace("namespace detail {  // function objects", "namespace functions {")
            text = re.sub("^ *///.*", lambda line: for_doxygen(line[0]), text, flags=re.MULTILINE)
            copy.write_text(text, encoding="utf-8")
    settings = {
        "INPUT": headers, "STRIP_FROM_PATH": headers, "RECURSIVE": "YES", "OUTPUT_DIRECTORY": work,
        "INCLUDE_PATH": headers, "GENERATE_HTML": "NO",
        "EXCLUDE_SYMBOLS": " ".join(f"{name} *::{name} *::{name}::*" for name in ("detail", "detail_values")),
        "GENERATE_LATEX": "NO", "GENERATE_XML": "YES", "XML_PROGRAMLISTING": "NO", "QUIET": "YES", "WARNINGS": "NO",
        "EXTRACT_ALL": "YES", "EXTRACT_STATIC": "YES", "MACRO_EXPANSION": "YES", "SORT_MEMBER_DOCS": "NO",
        "AUTOLINK_SUPPORT": "NO", "DISTRIBUTE_GROUP_DOC": "YES", "MAX_INITIALIZER_LINES": "1", "BUILTIN_STL_SUPPORT": "NO",
        "PREDEFINED": " ".join(f'"{macro}"' for macro in shlex.split(PREDEFINED)),
    }
    text = "".join(f"{key} = {value}\n" for key, value in settings.items())
    subprocess.run(["doxygen", "-"], input=text, text=True, check=True, stderr=subprocess.DEVNULL)
    return work / "xml"


def link(name):
    """A link to a function, if there is one of that name."""
    return f":cpp:func:`{name}() <{name}>`"


def escape(text):
    """The text with what reStructuredText would read as markup escaped, and links from `name()` and docs/PAGE.md."""
    return re.sub(r"(?<![\w:.~])([A-Za-z]\w*(?:::\w+)*)\(\)|\bdocs/(\w+)\.md|([\\*`|_])",
                  lambda match: f"\0{link(match[1])}\0" if match[1] else f"\0:doc:`/docs/{match[2]}`\0" if match[2] else
                  "\\" + match[3], text)


def inline(element):
    """The text of a paragraph as reStructuredText."""
    parts = [escape(element.text or "")]
    for child in element:
        if child.tag == "computeroutput":
            code = "".join(child.itertext()).strip()
            parts.append(f"\0``{code}``\0" if code else "")
        elif child.tag in ("nonbreakablespace", "linebreak"):
            parts.append(" ")
        elif child.tag in ("ndash", "mdash"):
            parts.append("–")
        elif child.tag not in ("itemizedlist", "orderedlist", "programlisting", "verbatim"):
            parts.append(inline(child))
        parts.append(escape(child.tail or ""))
    return " ".join("".join(parts).split())


def separated(text):
    """The text with the code's ends, which are NUL so far, set off where a word follows at once."""
    text = re.sub(r"(?:(?<=[\s(/-])|^)\0|\0(?=[\s.,;:)/-]|$)", "", text)
    return text.replace("\0", "\\ ")


def blocks(element):
    """The paragraphs and lists of a description, each a list of lines."""
    for child in element:
        if child.tag == "para":
            text = separated(inline(child))
            if text:
                yield [text]
            yield from blocks(child)
        elif child.tag in ("itemizedlist", "orderedlist"):
            for item in child:
                paragraphs = [line for block in blocks(item) for line in block]
                yield [("- " if i == 0 else "  ") + line for i, line in enumerate(paragraphs)]
        elif child.tag in ("programlisting", "verbatim"):
            yield ["::", "", *("   " + line for line in "".join(child.itertext()).splitlines())]


def description(node):
    """A declaration's comment: the lines of its text, and its fields as pairs of a label and a text."""
    lines, fields = [], []
    for tag in ("briefdescription", "detaileddescription"):
        for block in blocks(node.find(tag)):
            label = LABEL.match(block[0])
            parameter = node.get("kind") == "function" and PARAMETER.match(block[0])
            if label or parameter:
                name = f"param {parameter[1]}" if parameter else label[1]
                fields.append((name, block[0][(parameter or label).end():]))
            else:
                lines += [*([""] if lines else []), *block]
    return lines, fields


def text_of(node, tag):
    found = node.find(tag)
    return "" if found is None else " ".join("".join(found.itertext()).split())


def plain(code):
    """A type or an argument without what only the library needs to see."""
    code = re.sub(r"\b(?:tenon::)?detail(?:_values)?::", "", code)
    code = re.sub(r"\b(?:tenon::|own::)", "", code)
    code = re.sub(r"\[\[[^\]]*\]\]|\binline\b|\bTENON_\w+(?:\([^()]*\))?", "", code)
    code = re.sub(r"(?<=<) | (?=>)", "", code)
    return " ".join(code.split())


PLAIN_PACKS = ("Options", "Arguments")  # which the parameters' descriptions explain


def template_of(node):
    """`template<...>` without the parameters that only choose among overloads."""
    found = node.find("templateparamlist")
    if found is None:
        return ""
    kept = []
    for parameter in found:
        kind, name = text_of(parameter, "type"), text_of(parameter, "declname")
        if re.search(r"enable_if|\bIf[A-Z]\w*<|Require", kind + text_of(parameter, "defval")) or name in PLAIN_PACKS:
            continue
        default = plain(text_of(parameter, "defval"))
        kept.append(f"{kind} {name}".strip() + (f" = {default}" if default else ""))
    return f"template<{', '.join(kept)}> " if kept else ""


def parameters_of(node):
    parts = []
    for parameter in node.findall("param"):
        kind, name = plain(text_of(parameter, "type")), text_of(parameter, "declname")
        array, default = text_of(parameter, "array"), plain(text_of(parameter, "defval"))
        pointer = re.match(r"(.*\(\s*[*&])(\).*)$", kind)
        part = f"{pointer.group(1)}{name}{pointer.group(2)}" if pointer else f"{kind} {name}{array}"
        parts.append(part.strip() + (f" = {default}" if default else ""))
    return "(" + ", ".join(parts) + ")"


def signature(node):
    """The declaration as the C++ domain has it."""
    kind, name = node.get("kind"), text_of(node, "name")
    if kind == "function":
        result = plain(text_of(node, "type"))
        after = re.sub(r"\bnoexcept\(.*", "", text_of(node, "argsstring")).rpartition(")")[2]
        words = [word for word in ("static", "explicit") if node.get(word) == "yes"]
        if node.get("virt") in ("virtual", "pure-virtual"):
            words.append("virtual")
        suffix = re.findall(r"\bconst\b|&&|&|\bnoexcept\b", after)
        if node.get("virt") == "pure-virtual":
            suffix.append("= 0")
        result = re.sub(r"\b(static|explicit|virtual)\b ?", "", result)
        if name.startswith("operator ") and not re.search(r"\W$", name):
            result = ""
        return f"{template_of(node)}{' '.join([*words, result, name]).strip()}{parameters_of(node)} {' '.join(suffix)}"
    if kind == "typedef":
        definition = text_of(node, "definition")
        value = plain(re.sub(r"\btypedef\b", "", definition.partition("=")[2])) if definition.startswith(("using", "template")) else ""
        return f"{template_of(node)}{name}" + (f" = {value}" if value else "")
    if kind == "variable":
        return f"{plain(text_of(node, 'type'))} {name}{plain(text_of(node, 'argsstring'))}"
    if kind == "define":
        parameters = [text_of(parameter, "defname") for parameter in node.findall("param")]
        return name + (f"({', '.join(parameters)})" if parameters else "")
    return name


DIRECTIVES = {"function": "cpp:function", "typedef": "cpp:type", "variable": "cpp:var", "define": "c:macro"}


def base_name(name):
    """The name without what makes it the form that returns an error."""
    return re.sub("^(?:try_|tryT(?=o[A-Z]))", lambda match: "t" if match[0] == "tryT" else "", name)


def as_sentence(text):
    """A comment beside a field or an enumerator, "in elements", as a sentence; a type, "float", stays one."""
    if re.match(r"(?!(?:bool|float|double)\b)[a-z]+(?:[ ,;:]|$)", text):
        text = text[0].upper() + text[1:]
    return text if re.search(r"[.:]$|^[a-z]\S*$", text) else text + "."


class Entry:
    """Declarations that one comment describes."""

    def __init__(self, node, namespace, directive=None):
        self.namespace = namespace
        self.directive = directive or DIRECTIVES[node.get("kind")]
        self.name = text_of(node, "name")
        self.signatures = [signature(node)]
        self.lines, self.fields = description(node)
        if self.directive in ("cpp:var", "cpp:enumerator") and len(self.lines) == 1:
            self.lines = [as_sentence(self.lines[0])]
        self.members = []
        self.results = {self.name: plain(text_of(node, "type"))}  # of each name that the entry shows

    def describes(self, other):
        """Whether this entry's comment is the other's too: that has none and is another form, or the same one."""
        if (other.members or self.members or self.namespace != other.namespace or self.directive != other.directive):
            return False
        if other.lines or other.fields:
            return (other.lines, other.fields) == (self.lines, self.fields)
        result = other.results[other.name]
        return (base_name(other.name) in map(base_name, self.results)
                or self.directive == "cpp:var" and result.startswith("constexpr ") and result in self.results.values())

    def join(self, other):
        if self.name != base_name(self.name):
            self.signatures, other.signatures = other.signatures, self.signatures
            self.name = other.name
        self.signatures += [text for text in other.signatures if text not in self.signatures]
        self.results = {**other.results, **self.results}
        if other.name != self.name:  # says what returns() says
            self.lines = [OF_TRY.sub("", line) for line in self.lines]
            self.fields = [(label, OF_TRY.sub("", text)) for label, text in self.fields]

    def returns(self, is_member):
        """What a function returns that has a try_ form, and what that does."""
        twins = [name for name in self.results if name != base_name(name) and base_name(name) in self.results]
        if not twins and not is_member and self.results[self.name] == "Error":
            yield "Returns", f"``Error::Ok``, or the error; {link('last_error_message')} has its text."
        if twins:
            first, result = (re.sub(r"\b(?:static|constexpr)\b ?", "", self.results[name])
                             for name in (self.name, twins[0]))
            names, kind = " and ".join(f"``{name}()``" for name in twins), "a ``Result``" if len(twins) > 1 else f"``{result}``"
            what = f"``{first}``" if len(twins) == 1 and first != "void" else "nothing" if first == "void" else "the value"
            yield "Returns", (f"{what}; throws an error as :cpp:class:`Exception`. {names} return{'s'[len(twins) - 1:]} "
                              f"{kind} instead{', which holds the error' if 'Result' in kind else ''}.")

    def parameters(self):
        """What the types of the parameters do not say: pairs of a name and a text."""
        options = "".join(text for label, text in self.fields if label.startswith("Options"))
        code = " ".join(re.sub(r"[&*.]|\bconst\b", " ", " ".join(self.signatures)).split())
        found = []
        for kind, text in PARAMETERS:
            match = re.search(rf"(?<![\w:]){kind}\b", code)
            name = match and match[0].rpartition(" ")[2]
            if match and f"param {name}" not in dict(self.fields):
                found.append((f"param {name}", options if name == "options" and options else text))
        found += [pair for pair in self.fields if pair[0].startswith("param")]
        return sorted(found, key=lambda pair: re.search(rf"\b{pair[0][6:]}\b(?! *\()|$", code).start())

    def every_field(self, is_member):
        """The fields of the comment, and those that follow from the declarations, in the order of FIELDS."""
        fields = self.fields
        if self.directive == "cpp:function":
            fields = [pair for pair in fields if not pair[0].startswith(("Options", "param"))]
            fields += self.parameters()
            fields += self.returns(is_member)
        besides = dict(fields).get(BESIDES)
        if besides and "Errors" in dict(fields):
            fields = [(label, f"{text.rstrip('.')}; {besides}" if label == "Errors" else text) for label, text in fields
                      if label != BESIDES]
        return sorted(fields, key=lambda pair: FIELDS.index(re.match(r"[A-Za-z]+", pair[0])[0]))

    def write(self, indent=""):
        first, *others = self.signatures
        yield f"{indent}.. {self.directive}:: {first}"
        yield from (f"{indent}   {' ' * len(self.directive)}   {other}" for other in others)
        yield ""
        yield from (f"{indent}   {line}".rstrip() for line in self.lines)
        yield ""
        yield from (f"{indent}   :{label}: {text}" for label, text in self.every_field(indent != ""))
        yield ""
        for member in self.members:
            yield from member.write(indent + "   ")


def key(declaration):
    """What the C++ domain tells declarations apart by: no return type, names of parameters as they are."""
    return re.sub(r"^(template<[^(]*> )?[^(]*?(?=[\w~]+\(|operator)", r"\1", declaration)


def gathered(entries):
    """The entries with those joined that have no comment, and without those that read like one before."""
    kept, seen = [], set()
    for entry in entries:
        entry.signatures = [text for text in entry.signatures if (entry.namespace, key(text)) not in seen]
        if not entry.signatures:
            continue
        seen.update((entry.namespace, key(text)) for text in entry.signatures)
        # An overload joins the one before it, a try_ form the first of the overloads.
        latest = kept[-1:] if entry.name == base_name(entry.name) else []
        described = next((other for other in [*latest, *kept] if other.describes(entry)), None)
        if described:
            described.join(entry)
        else:
            kept.append(entry)
    return kept


def split(types):
    """Template arguments, as they are between the angle brackets."""
    parts = [""]
    for text in re.split(r"(,)", types):
        if text == "," and parts[-1].count("<") == parts[-1].count(">"):
            parts.append("")
        else:
            parts[-1] += text
    return [part.strip() for part in parts if part.strip()]


def names_in(text, name):
    """The arguments of `name(…)` in a comment, without those that every overload has."""
    match = re.search(rf"\b{name}\(([^)]*)\)", text)
    return [word for word in re.findall(r"\w+", match[1] if match else "") if word not in ("sizes", "source", "strides")]


class Functions:
    """Makes the entries of function objects: each overload of operator() as a function of the object's name."""

    def __init__(self, compounds):
        self.structs = {text_of(node, "compoundname").removeprefix("tenon::functions::"): node
                        for node in compounds.values() if text_of(node, "compoundname").startswith("tenon::functions::")}
        self.shown = {}  # what an object is made of, but the type that it returns: the name that shows the overloads
        self.names = {}  # the arguments before the sizes: those of normal() are normal_like()'s too

    def struct_of(self, node):
        return self.structs.get(re.sub(r"<.*", "", plain(text_of(node, "type")).removeprefix("constexpr ")).strip())

    def entries(self, node, namespace):
        """The object's overloads; of one whose overloads another shows, one function that takes the same arguments."""
        struct, name = self.struct_of(node), text_of(node, "name")
        kind, _, types = plain(text_of(node, "type")).removeprefix("constexpr ").rpartition(">")[0].partition("<")
        types = split(types)
        overloads = sorted((member for section in struct.findall("sectiondef") for member in section.findall("memberdef")
                            if text_of(member, "name") == "operator()" and is_shown(member)), key=lambda m: place(m)[1])
        own = Entry(node, namespace, "cpp:function")
        own.results = {name: types[0] if types else ""}
        described = description(struct)
        base = base_name(name)
        first = self.shown.setdefault((kind, *types[1:]), base)
        if first != base or name != base and len(overloads) > 1:
            own.signatures = [f"{own.results[name]} {name}(Arguments&&... arguments)"]
            if first != base and name == base:
                own.fields.append(("param arguments", f"those of {link(first)}"))
            return [own]
        self.names.setdefault(base, names_in(" ".join(own.lines), base))
        made = []
        for overload in overloads:
            entry = Entry(overload, namespace)
            entry.name = name
            entry.signatures = [self.signature(text, name, struct, types) for text in entry.signatures]
            entry.results = own.results if types else {name: text_of(overload, "type")}
            if name != base:
                entry.lines, entry.fields = own.lines, own.fields
            elif not made:
                entry.lines, entry.fields = joined((own.lines, own.fields), described, (entry.lines, entry.fields))
            if made and not entry.lines:
                made[-1].join(entry)
            else:
                made.append(entry)
        for entry in made[1:]:
            entry.fields += self.as_of_the_first(name, made[0].fields, entry.fields)
        return made

    @staticmethod
    def as_of_the_first(name, fields, own):
        """What an overload has of the first one's comment."""
        as_first = f"those of the first {link(name)}"
        its = {re.match(r"\w+", label)[0] for label, _ in own if label != BESIDES}
        labels = [label for label in ("Ownership", "Errors", "Cost") if label in dict(fields) and label not in its]
        if "Options" not in its:
            yield "Options", as_first
        if "Errors" in labels and BESIDES in dict(own):
            yield "Errors", as_first
            labels.remove("Errors")
        if labels:
            yield ", ".join(labels).capitalize(), as_first

    def signature(self, text, name, struct, types):
        """An operator() as a function of this name, with the arguments of the struct's template in their places."""
        text = re.sub(r"\s*\bconst\b\s*$", "", text.strip().replace("operator()(", f"{name}("))
        parameters = [text_of(parameter, "declname") or text_of(parameter, "type").removeprefix("class ")
                      for parameter in struct.findall("templateparamlist/param")]
        packs = {text_of(parameter, "declname") for parameter in struct.findall("templateparamlist/param")
                 if "..." in text_of(parameter, "type")}
        for i, parameter in enumerate(parameters):
            if parameter not in packs:
                text = re.sub(rf"\b{parameter}\b", types[i], text)
                continue
            base = re.sub("^try_|_(?:like|strided)$", "", name)
            text = re.sub(
                rf"(const )?\b{parameter} ?(&*)\.\.\. ?(\w+)(, )?",
                lambda m: "".join(f"{m[1] or ''}{kind} {m[2]}{argument}{m[4] or ''}" for kind, argument in zip(
                    types[i:], [m[3]] if len(types) == i + 1 else self.names[base])), text)
        return text


def joined(*descriptions):
    """Descriptions, as description() returns them, as one."""
    lines = [line for text, _ in descriptions if text for line in ("", *text)]
    return lines[1:], [field for _, fields in descriptions for field in fields]


def place(node):
    location = node.find("location")
    return location.get("file"), int(location.get("line"))


def is_shown(node):
    if node.get("prot") not in (None, "public") or node.get("kind") not in (*DIRECTIVES, "enum"):
        return False
    name, arguments = text_of(node, "name"), text_of(node, "argsstring")
    is_described = any(description(node))
    if node.get("kind") == "define":
        return is_described and not name.startswith("TENON_DETAIL")
    if node.get("kind") == "function" and not text_of(node, "type") and arguments.find("->") > 0:
        return False  # a deduction guide
    if node.get("kind") == "typedef" and (signature(node) == f"{name} = {name}" or name in OF_STANDARD):
        return False  # ATen mode's own name of it
    if not is_described and (re.match(r"operator (?:new|delete)", name) or name == "operator=" or
                             re.match(rf"\((?:const )?{re.escape(name)} ?&&? ?\w*\)", arguments)):
        return False  # what every class has
    return not (name.startswith(("~", "@")) or name.endswith("_") and node.get("kind") == "variable" or not name or
                re.search(r"= ?(delete|default)\b", arguments) or "::" in name or name.startswith("TENON_"))


def member_entries(nodes, namespace):
    for node in sorted(nodes, key=lambda node: place(node)[1]):
        if node.get("kind") == "enum":
            entry = Entry(node, namespace, "cpp:enum-class" if node.get("strong") == "yes" else "cpp:enum")
            for value in node.findall("enumvalue"):
                entry.members.append(Entry(value, namespace, "cpp:enumerator"))
            yield place(node), entry
        else:
            yield place(node), Entry(node, namespace)


def class_entry(compound, compounds, namespace):
    full = text_of(compound, "compoundname")
    entry = Entry(compound, namespace, "cpp:struct" if compound.get("kind") == "struct" else "cpp:class")
    entry.name = full.rpartition("::")[2]
    bases = [plain("".join(base.itertext())) for base in compound.findall("basecompoundref")
             if base.get("prot") == "public" and "detail" not in "".join(base.itertext())]
    entry.signatures = [template_of(compound) + entry.name + (" : public " + ", public ".join(bases) if bases else "")]
    members = [node for section in compound.findall("sectiondef") for node in section.findall("memberdef")
               if is_shown(node)]
    entries = list(member_entries(members, namespace))
    for inner in compound.findall("innerclass"):
        if inner.get("prot") == "public" and inner.get("refid") in compounds:
            node = compounds[inner.get("refid")]
            entries.append((place(node), class_entry(node, compounds, namespace)))
    entry.members = gathered(e for _, e in sorted(entries, key=lambda pair: pair[0][1]))
    return entry


def read_entries(xml):
    """Maps a header to its entries, in the header's order."""
    compounds = {}
    for path in xml.glob("*.xml"):
        if path.name.startswith(("namespace", "class", "struct", "union", "tenon_", "file")) or "_8h" in path.name:
            compounds[path.stem] = ET.parse(path).getroot().find("compounddef")
    found = {}
    functions = Functions(compounds)

    def is_for_users(node, namespace):
        name = (text_of(node, "name") or text_of(node, "compoundname")).rpartition("::")[2]
        return namespace != "tenon::testing" or name in OF_TESTING

    def add(where, entry):
        found.setdefault(where[0].removeprefix("tenon/"), []).append((where[1], entry))

    for compound in compounds.values():
        kind, name = compound.get("kind"), text_of(compound, "compoundname")
        if kind == "namespace" and re.match(r"tenon(::(?!functions)|$)", name) and "detail" not in name:
            members = [node for section in compound.findall("sectiondef") for node in section.findall("memberdef")
                       if is_shown(node) and is_for_users(node, name)]
            for node in sorted((node for node in members if functions.struct_of(node) is not None),
                               key=lambda node: place(node)):
                for entry in functions.entries(node, name):
                    add(place(node), entry)
            for where, entry in member_entries((node for node in members if functions.struct_of(node) is None), name):
                add(where, entry)
            for inner in compound.findall("innerclass"):
                node = compounds[inner.get("refid")]
                if not re.search(r"<|detail::", text_of(node, "compoundname")) and is_for_users(node, name):
                    add(place(node), class_entry(node, compounds, name))
        elif kind == "file":
            members = [node for section in compound.findall("sectiondef") for node in section.findall("memberdef")]
            for where, entry in member_entries((node for node in members if node.get("kind") == "define" and
                                                is_shown(node)), "tenon"):
                add(where, entry)
    return {header: gathered(entry for _, entry in sorted(pairs, key=lambda pair: pair[0]))
            for header, pairs in found.items()}


def header_comment(text):
    """The comment at the head of a header, behind its licence line: (first sentence, the rest as paragraphs)."""
    lines = []
    for line in text.splitlines()[1:]:
        if not line.startswith("//"):
            break
        lines.append(line[3:].rstrip())
    text = re.sub(rf"(?:\n|(?<=[.;]) )(?={LABELLED} )", "\n\n", "\n".join(lines))
    paragraphs = [part if part.startswith("    ") else " ".join(part.split()) for part in text.split("\n\n")]
    first, _, rest = paragraphs[0].partition(". ")
    return first.rstrip(".") + ".", [part for part in (rest, *paragraphs[1:]) if part]


def prose(text):
    return separated(re.sub(r"`([^`]+)`|([^`]+)", lambda m: f"\0``{m[1]}``\0" if m[1] else escape(m[2]), text))


def macros(repository):
    """Maps a header to its macros that a comment documents by name: (the names, the paragraphs)."""
    found = {}
    for path in sorted((repository / "include/tenon").rglob("*.h"), key=lambda path: (path.name != "config.h", path)):
        for comment in COMMENTS.findall(path.read_text(encoding="utf-8")):
            if OF_MACROS.match(comment):
                text = re.sub(r"^///? ?", "", comment, flags=re.MULTILINE)
                names = [match[1] for match in NAME.finditer(text.partition(": ")[0])]
                paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
                found.setdefault(path.relative_to(repository / "include").as_posix(), []).append((names, paragraphs))
    return found


def write_macros(repository, page):
    lines = ["Macros: switches and version", "=" * 28, "",
             "Define a switch alike for every file of a program, such as ``-DTENON_HEAP=0``. The page on building says how "
             "a difference is found. "
             ":doc:`core/error` has ``TENON_TRY``.", ""]
    for header, entries in macros(repository).items():
        lines += [header, "-" * len(header), ""]
        for names, paragraphs in entries:
            lines += [f".. c:macro:: {names[0]}", *(f"             {other}" for other in names[1:]), ""]
            first, _, about = paragraphs[0].partition(": ")
            if "=" not in first:  # else it says which value does that
                paragraphs[0] = about[0].upper() + about[1:]
            for text in paragraphs:
                lines += ["   " + prose(NAME.sub(r"`\g<0>`", text)), ""]
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(lines), encoding="utf-8")


def write_pages(repository, pages, work):
    """Writes the pages; returns {header: page} and the names of the folders' pages."""
    entries = read_entries(run_doxygen(repository, work))
    made = {}
    for folder, (title, titles) in FOLDERS.items():
        headers = {f"{folder}/{name}.h": text for name, text in titles.items() if f"{folder}/{name}.h" in entries}
        untitled = sorted(header for header in entries if header.split("/")[0] == folder and header not in headers)
        if untitled:
            raise ValueError(f"docs/site/titles.py has no title for {', '.join(untitled)}")
        rows = []
        for header, heading in headers.items():
            root = "testing/include" if folder == "testing" else "include"
            text = (repository / root / "tenon" / header).read_text(encoding="utf-8")
            about, more = header_comment(text)
            heading = escape(heading)
            lines = [heading, "=" * len(heading), "", prose(about), "",
                     ".. code-block:: cpp", "", f"   #include <tenon/{header}>", ""]
            for part in more:
                if part.startswith("    "):
                    lines += [".. code-block:: cpp", "", *(f"   {line[4:]}" for line in part.splitlines()), ""]
                    continue
                lines += [LABEL.sub(r":\1: ", prose(part), count=1) if LABEL.match(part) else prose(part), ""]
            namespace = None
            for entry in entries[header]:
                if entry.namespace != namespace:
                    namespace = entry.namespace
                    lines += [f".. cpp:namespace:: {namespace}", ""]
                lines += entry.write()
            page = pages / "reference" / (header.removesuffix(".h") + ".rst")
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text("\n".join(lines), encoding="utf-8")
            made[f"{root}/tenon/{header}"] = page
            rows += [f"   * - :doc:`{header.removesuffix('.h')}`", f"     - {prose(about)}"]
        index = pages / "reference" / f"{folder}.rst"
        index.write_text("\n".join([
            title, "=" * len(title), "", ".. list-table::", "   :widths: auto", "", *rows, "",
            ".. toctree::", "   :hidden:", "", *(f"   {h.removesuffix('.h')}" for h in headers), ""]), encoding="utf-8")
    made["include/tenon/config.h"] = pages / "reference" / "macros.rst"
    write_macros(repository, made["include/tenon/config.h"])
    return made, [*(f"reference/{folder}" for folder in FOLDERS), "reference/macros"]
