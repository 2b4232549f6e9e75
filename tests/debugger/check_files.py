#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the debuggers' files speak of what the headers declare.

usage: check_files.py CHECK REPOSITORY
  natvis  debug/tenon.natvis is XML; its types exist, each in both ABI namespaces; so do all members
          that its expressions name
  tables  debug/tenon_gdb.py knows every ScalarType and DeviceType, by the right name
Prints one line for each fault and exits with 1 if there is one.
"""

import ast
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

XMLNS = "{http://schemas.microsoft.com/vstudio/debugger/natvis/2010}"
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# "  const Ops* ops_ = nullptr;", "    T inline_[kInline];"
MEMBER = re.compile(r"^ +(?!return|using|typedef|friend|throw|goto|delete)[\w:<>,*& ]+[ *&](\w+)"
                    r"(?:\[[^\]]*\])?(?: = [^;]*|\{[^;]*\})?;", re.MULTILINE)
IDENTIFIER = re.compile(r"(?<![\w$])[A-Za-z_]\w*")
SPECIFIER = re.compile(r",\s*(?:en|sb|x|\[\d+\]x?)$")
# C++ and what Visual C++'s standard library calls its members.
KNOWN = set("int long short unsigned signed char float double bool true false nullptr ULL _Ptr"
            .split())


def read_headers(repository):
    """All headers' code in one text."""
    return "\n".join(COMMENT.sub("", path.read_text(encoding="utf-8"))
                     for path in sorted(pathlib.Path(repository, "include").rglob("*.h")))


def expressions(entry):
    """Yields the expressions of a <Type>."""
    for node in entry.iter():
        for attribute in ("Condition", "InitialValue", "Expression"):
            if node.get(attribute):
                yield node.get(attribute)
        if node.tag == XMLNS + "DisplayString":
            yield from re.findall(r"\{([^{}]*)\}", node.text)
        elif node.text and node.text.strip() and isinstance(node.tag, str):
            yield node.text.strip()


def check_natvis(text, headers):
    """Yields faults of tenon.natvis."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        yield f"is no XML: {error}"
        return
    if root.tag != XMLNS + "AutoVisualizer":
        yield f"the outermost element is {root.tag}"
    major = re.search(r"#define TENON_VERSION_MAJOR (\d+)", headers).group(1)
    members = set(MEMBER.findall(headers))
    for entry in root.iter(XMLNS + "Type"):
        name = entry.get("Name")
        match = re.match(rf"tenon::v{major}_plain::(?:detail::)?(\w+)", name)
        if not match:
            yield f"{name}: is not in tenon::v{major}_plain"
            continue
        if not re.search(rf"\b(?:class|struct)\s+(?:\[\[\w+\]\]\s+)?{match.group(1)}\b", headers):
            yield f"{name}: there is no such type"
        other = name.replace("_plain::", "_plain_noexcept::")
        if [node.get("Name") for node in entry.iter(XMLNS + "AlternativeType")] != [other]:
            yield f"{name}: {other} is not its one alternative"
        own = {node.get("Name") for tag in ("Variable", "Intrinsic", "Parameter")
               for node in entry.iter(XMLNS + tag)}
        for expression in expressions(entry):
            for word in IDENTIFIER.findall(SPECIFIER.sub("", expression)):
                if word not in members | own | KNOWN:
                    yield f"{name}: no header declares a member {word}, named in {expression}"


def table(script, name):
    """A literal of a Python file."""
    for node in ast.parse(script).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    raise LookupError(name)


def check_tables(script, headers):
    """Yields faults in the tables of tenon_gdb.py."""
    rows = re.search(r"#define TENON_FORALL_SCALAR_TYPES\(_\)(.*?)\n\n", headers, re.DOTALL)
    dtypes = set(re.findall(r"_\(.*, (\w+)\)", rows.group(1)))
    known = set(table(script, "C_TYPES")) | set(table(script, "COMPLEX"))
    for name in sorted(dtypes ^ known):
        yield f"the dtype {name} is in only one of scalar_type.h and tenon_gdb.py"
    numbers = dict(re.findall(r"^  (\w+) = (\d+),", re.search(
        r"enum class DeviceType\b.*?\};", headers, re.DOTALL).group(), re.MULTILINE))
    names = dict(re.findall(r'case DeviceType::(\w+): return "(\w+)";', headers))
    devices = {int(number): names.get(name) for name, number in numbers.items()}
    if devices != table(script, "DEVICES"):
        yield f"the devices are not those of device.h, {devices}"


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in ("natvis", "tables"):
        print(__doc__, file=sys.stderr)
        return 2
    check, repository = arguments
    folder = pathlib.Path(repository, "debug")
    headers = read_headers(repository)
    if check == "natvis":
        file = folder / "tenon.natvis"
        faults = list(check_natvis(file.read_text(encoding="utf-8"), headers))
    else:
        file = folder / "tenon_gdb.py"
        faults = list(check_tables(file.read_text(encoding="utf-8"), headers))
    for fault in faults:
        print(f"{file.name}: {fault}")
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
