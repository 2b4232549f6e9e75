# SPDX-License-Identifier: MIT
"""The reference's pages, one for each header that has public names, from the headers' `///` comments.

Doxygen reads the declarations and the comments; this writes them as Sphinx's C++ domain has them. A
declaration without a comment joins the one before it: a try_ form its other form, an overload the
first one.
"""

import re
import subprocess
import xml.etree.ElementTree as ET

FOLDERS = {
    "core": "core: sizes, dtypes, devices, errors",
    "tensor": "tensor: make, view, copy, resize",
    "backend": "backend: where memory comes from",
    "exchange": "exchange: Blob, DLPack, bytes",
    "module": "module: models",
    "interop": "interop: other libraries, languages and files",
    "testing": "testing: suites for your own backend",
}

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

LABEL = re.compile(r"(Ownership|Shapes and units|Shapes|Sizes and strides|Errors|Threads|Threads / streams|Streams|"
                   r"Source|Cost)[:,] +", re.DOTALL)
COMMENT = re.compile(r"^( *)/// (?=(?:Ownership|Shapes|Errors|Threads|Streams|Source|Cost)\b[^:\n]*: )", re.MULTILINE)


# A comment that begins with a macro's name and a colon, such as "/// TENON_HEAP=0: …": switches, which programs may
# define, so that Doxygen does not see their definitions.
NAME = re.compile(r"(TENON_[A-Z0-9_]+|USE_ATEN_LIB)(?:=\w+)?")
OF_MACROS = re.compile(rf"///? {NAME.pattern}(?:, {NAME.pattern})*: ")
COMMENTS = re.compile(r"(?:^///?(?: .*)?\n)+", re.MULTILINE)


def header_files(repository):
    return sorted(path for root in ROOTS for path in (repository / root).rglob("*.h"))


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
            copy.write_text(COMMENT.sub(r"\1///\n\1/// ", text), encoding="utf-8")
    settings = {
        "INPUT": headers, "STRIP_FROM_PATH": headers, "RECURSIVE": "YES", "OUTPUT_DIRECTORY": work,
        "INCLUDE_PATH": headers, "GENERATE_HTML": "NO",
        "EXCLUDE_SYMBOLS": " ".join(f"{name} *::{name} *::{name}::*" for name in ("detail", "detail_values")),
        "GENERATE_LATEX": "NO", "GENERATE_XML": "YES", "XML_PROGRAMLISTING": "NO", "QUIET": "YES", "WARNINGS": "NO",
        "EXTRACT_ALL": "YES", "EXTRACT_STATIC": "YES", "MACRO_EXPANSION": "YES", "SORT_MEMBER_DOCS": "NO",
        "AUTOLINK_SUPPORT": "NO", "MAX_INITIALIZER_LINES": "1", "BUILTIN_STL_SUPPORT": "NO",
        "PREDEFINED": " ".join(f'"{macro}"' for macro in re.sub(r"\\ ", "\0", " ".join(PREDEFINED.split())).replace(
            "\0", "~").split()).replace("~", " "),
    }
    text = "".join(f"{key} = {value}\n" for key, value in settings.items())
    subprocess.run(["doxygen", "-"], input=text, text=True, check=True, stderr=subprocess.DEVNULL)
    return work / "xml"


def escape(text):
    return re.sub(r"([\\*`|_])", r"\\\1", text)


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
            label = LABEL.match(text)
            if text and label:
                yield [f":{label.group(1)}: {text[label.end():]}"]
            elif text:
                yield [text]
            yield from blocks(child)
        elif child.tag in ("itemizedlist", "orderedlist"):
            for item in child:
                paragraphs = [line for block in blocks(item) for line in block]
                yield [("- " if i == 0 else "  ") + line for i, line in enumerate(paragraphs)]
        elif child.tag in ("programlisting", "verbatim"):
            yield ["::", "", *("   " + line for line in "".join(child.itertext()).splitlines())]


def description(node):
    """The lines of a declaration's comment; fields last, as they stand."""
    lines = []
    was_field = False
    for tag in ("briefdescription", "detaileddescription"):
        for block in blocks(node.find(tag)):
            is_field = block[0].startswith(":") and block[0] != "::"
            if lines and not (was_field and is_field):
                lines.append("")
            lines.extend(block)
            was_field = is_field
    return lines


def text_of(node, tag):
    found = node.find(tag)
    return "" if found is None else " ".join("".join(found.itertext()).split())


def plain(code):
    """A type or an argument without what only the library needs to see."""
    code = re.sub(r"\b(?:tenon::)?detail(?:_values)?::", "", code)
    code = re.sub(r"\b(?:tenon::|own::)", "", code)
    code = re.sub(r"\[\[[^\]]*\]\]|\binline\b|\bTENON_\w+(?:\([^()]*\))?", "", code)
    return " ".join(code.split())


def template_of(node):
    """`template<...>` without the parameters that only choose among overloads."""
    found = node.find("templateparamlist")
    if found is None:
        return ""
    kept = []
    for parameter in found:
        kind, name = text_of(parameter, "type"), text_of(parameter, "declname")
        if re.search(r"enable_if|IfOptions|detail::If|Require", kind + text_of(parameter, "defval")):
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
        return f"{plain(text_of(node, 'type'))} {name}{text_of(node, 'argsstring')}"
    if kind == "define":
        parameters = [text_of(parameter, "defname") for parameter in node.findall("param")]
        return name + (f"({', '.join(parameters)})" if parameters else "")
    return name


DIRECTIVES = {"function": "cpp:function", "typedef": "cpp:type", "variable": "cpp:var", "define": "c:macro"}


class Entry:
    """Declarations that one comment describes."""

    def __init__(self, node, namespace, directive=None):
        self.namespace = namespace
        self.directive = directive or DIRECTIVES[node.get("kind")]
        self.name = text_of(node, "name")
        self.signatures = [signature(node)]
        self.lines = description(node)
        self.members = []

    def join(self, other):
        if not self.lines and other.lines:
            return False
        same = other.name.removeprefix("try_") == self.name.removeprefix("try_")
        creators = self.directive == "cpp:var" and re.sub("_(like|strided)$", "", self.name) == re.sub(
            "^try_|_(like|strided)$", "", other.name)
        if other.lines or other.members or self.members or self.directive != other.directive or not (same or creators):
            return False
        self.signatures += [text for text in other.signatures if text not in self.signatures]
        return True

    def write(self, indent=""):
        first, *others = self.signatures
        yield f"{indent}.. {self.directive}:: {first}"
        yield from (f"{indent}   {' ' * len(self.directive)}   {other}" for other in others)
        yield ""
        yield from (f"{indent}   {line}".rstrip() for line in self.lines)
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
        if not (kept and kept[-1].namespace == entry.namespace and kept[-1].join(entry)):
            kept.append(entry)
    return kept


def place(node):
    location = node.find("location")
    return location.get("file"), int(location.get("line"))


def is_shown(node):
    if node.get("prot") not in (None, "public") or node.get("kind") not in (*DIRECTIVES, "enum"):
        return False
    name, arguments = text_of(node, "name"), text_of(node, "argsstring")
    if node.get("kind") == "define":
        return bool(description(node)) and not name.startswith("TENON_DETAIL")
    if node.get("kind") == "variable" and text_of(node, "type") == "const char *" and name == "function":
        return False  # a function object's name of itself
    if node.get("kind") == "function" and not text_of(node, "type") and text_of(node, "argsstring").find("->") > 0:
        return False  # a deduction guide
    if node.get("kind") == "typedef" and signature(node) == f"{name} = {name}":
        return False  # ATen mode's own name of it
    return not (name.startswith(("~", "@")) or re.search(r"= ?(delete|default)\b", arguments) or not name or
                "::" in name or name.startswith("TENON_"))


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

    def add(where, entry):
        found.setdefault(where[0].removeprefix("tenon/"), []).append((where[1], entry))

    for compound in compounds.values():
        kind, name = compound.get("kind"), text_of(compound, "compoundname")
        if kind == "namespace" and re.match(r"tenon(::|$)", name) and "detail" not in name:
            members = [node for section in compound.findall("sectiondef") for node in section.findall("memberdef")]
            for where, entry in member_entries(filter(is_shown, members), name):
                add(where, entry)
            for inner in compound.findall("innerclass"):
                node = compounds[inner.get("refid")]
                if "<" not in text_of(node, "compoundname") and "detail::" not in text_of(node, "compoundname"):
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
        lines.append(line[2:].strip())
    text = re.sub(r"\n(?=(?:Errors|Threads|Ownership|Source): )", "\n\n", "\n".join(lines))
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    first, _, rest = paragraphs[0].partition(". ")
    return first.rstrip(".") + ".", [part for part in (rest, *paragraphs[1:]) if part]


def prose(text):
    return re.sub(r"`([^`]+)`|([^`]+)", lambda m: f"``{m[1]}``" if m[1] else escape(m[2]), text)


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
             ":doc:`error.h <core/error>` has ``TENON_TRY``.", ""]
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
    for folder, title in FOLDERS.items():
        headers = sorted((h for h in entries if h.split("/")[0] == folder), key=lambda h: (h.count("/"), h))
        rows = []
        for header in headers:
            root = "testing/include" if folder == "testing" else "include"
            text = (repository / root / "tenon" / header).read_text(encoding="utf-8")
            about, more = header_comment(text)
            name = header.removesuffix(".h").partition("/")[2]
            lines = [name + ".h", "=" * (len(name) + 2), "", prose(about), "",
                     ".. code-block:: cpp", "", f"   #include <tenon/{header}>", ""]
            for part in more:
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
            rows += [f"   * - :doc:`{name}.h <{header.removesuffix('.h')}>`", f"     - {prose(about)}"]
        index = pages / "reference" / f"{folder}.rst"
        index.write_text("\n".join([
            title, "=" * len(title), "", ".. list-table::", "   :widths: auto", "", *rows, "",
            ".. toctree::", "   :hidden:", "", *(f"   {h.removesuffix('.h')}" for h in headers), ""]), encoding="utf-8")
    made["include/tenon/config.h"] = pages / "reference" / "macros.rst"
    write_macros(repository, made["include/tenon/config.h"])
    return made, [*(f"reference/{folder}" for folder in FOLDERS), "reference/macros"]
