#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the names that src/tenon.cppm exports with those that the headers declare, as Doxygen reads them, and asks
docs/names.md for the names in camelCase, which are other libraries'.

usage: names_test.py REPOSITORY
A header's names stand under its path in a comment, in its order. Prints one line for each fault and exits with 1 if
there is one.
"""

import pathlib
import re
import shutil
import sys
import tempfile
import xml.etree.ElementTree as ET

EXPORTED = ("core", "kernels", "backend", "tensor", "exchange", "module", "ostream.h")
OTHERS = "backend/cuda"  # needs CUDA


def declared(xml, reference):
    """Maps a header to the names it declares outside of detail, in its order."""
    found = {}

    def add(node, name):
        file, line = reference.place(node)
        found.setdefault(file.removeprefix("tenon/"), {}).setdefault(name, line)

    for path in xml.glob("*.xml"):
        compound = ET.parse(path).getroot().find("compounddef")
        if compound is None:
            continue
        kind, scope = compound.get("kind"), reference.text_of(compound, "compoundname")
        if kind in ("class", "struct") and re.fullmatch(r"tenon::(dlpack::)?\w+", scope):
            add(compound, scope)
        elif kind == "namespace" and re.match(r"tenon(?!::(detail|detail_values|functions|own)\b)", scope):
            for node in compound.iterfind("sectiondef/memberdef"):
                add(node, f"{scope}::{reference.text_of(node, 'name')}")
                if node.get("kind") == "enum" and node.get("strong") != "yes":
                    for value in node.iterfind("enumvalue"):
                        add(node, f"{scope}::{reference.text_of(value, 'name')}")
    return {header: sorted(names, key=names.get) for header, names in found.items() if not header.startswith(OTHERS)}


def in_camel_case(xml):
    """The functions of the namespace and of its public classes that are spelled so."""
    for path in xml.glob("*.xml"):
        compound = ET.parse(path).getroot().find("compounddef")
        if compound is not None and re.match(r"tenon(?!::(detail|functions|own|dlpack)\b)",
                                             compound.findtext("compoundname")):
            for node in compound.iterfind("sectiondef/memberdef[@kind='function'][@prot='public']"):
                if re.match(r"(?!k[A-Z])[a-z]+[A-Z]", node.findtext("name")):
                    yield node.findtext("name")


def exported(text):
    lists = re.findall(r"^// (\S+\.h)\n((?:using [^;]+;\n|#.*\n)+)", text, re.MULTILINE)
    found = {}
    for header, names in lists:
        found.setdefault(header, []).extend(re.findall(r"tenon::[^\s,;]+", names))
    return found


def faults(headers, module):
    for header in sorted(headers.keys() | module.keys()):
        there, here = headers.get(header, []), module.get(header, [])
        yield from (f"{header}: {name} is not exported" for name in there if name not in here)
        yield from (f"{header}: {name} is exported, but not declared there" for name in here if name not in there)
        if set(there) == set(here) and there != here:
            yield f"{header}: another order: {', '.join(there)}"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    if not shutil.which("doxygen"):
        print("tenon: skipped: doxygen was not found")
        return 77
    repository = pathlib.Path(arguments[0]).resolve()
    sys.path.insert(0, str(repository / "docs/site"))
    import reference
    reference.FOLDERS = dict.fromkeys(EXPORTED)
    with tempfile.TemporaryDirectory() as work:
        xml = reference.run_doxygen(repository, pathlib.Path(work))
        headers = declared(xml, reference)
        camel_case = set(in_camel_case(xml))
    module = exported((repository / "src/tenon.cppm").read_text(encoding="utf-8"))
    found = list(faults(headers, module))
    page = (repository / "docs/names.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\w+", page))
    found += [f"docs/names.md does not say whose name {name} is" for name in sorted(camel_case)
              if name not in named and not re.match(r"(is|to|tryTo)[A-Z]\w*$", name)]
    if len(camel_case) < 40:
        found.append(f"there are {len(camel_case)} names in camelCase: Doxygen did not see all")
    # That it finds them.
    assert list(faults({"a.h": ["tenon::A", "tenon::b"]}, {"a.h": ["tenon::b", "tenon::c"]})) == [
        "a.h: tenon::A is not exported", "a.h: tenon::c is exported, but not declared there"]
    print("\n".join(found))
    count = sum(map(len, headers.values()))
    print(f"{count} names of {len(headers)} headers, {len(found)} faults")
    return 1 if found or count < 300 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
