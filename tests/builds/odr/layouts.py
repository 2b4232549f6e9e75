#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the layout of each public class, and the order of its virtual functions, against layouts.txt.

    layouts.py check  REPOSITORY CLANG++
    layouts.py update REPOSITORY CLANG++    # writes layouts.txt

Objects of one ABI epoch may meet in a program (docs/versions.md): a class that changes needs another
epoch. The classes are those that src/tenon.cppm exports. Of a class the file has size, alignment and
the offset of each member, private ones too, since inline functions use them; of its virtual functions
the signatures. tenon's classes that are members are there too. The first section is of a 64-bit system with the usual switches; the others have what
differs with a switch.
"""

import os
import pathlib
import re
import subprocess
import sys

MODES = {
    "": [],
    "NDEBUG, C++20": ["-DNDEBUG", "-std=c++20"],
    "-fno-exceptions, TENON_ERROR_TEXT=0": ["-fno-exceptions", "-DTENON_ERROR_TEXT=0"],
    "TENON_HEAP=0": ["-DTENON_HEAP=0"],
    "TENON_HAS_THREADS=0": ["-DTENON_HAS_THREADS=0"],
    "TENON_PORTABLE=1": ["-DTENON_PORTABLE=1"],
}
# Instances of templates, and internal classes through which libraries call each other.
OTHERS = ["Result<Blob>", "TensorAccessor<float, 2>", "complex<float>", "detail::BackendState", "detail::Method"]
HEADERS = ["tenon.h", "ostream.h", "backend/strided_copy.h", "module/function_module.h", "tensor/values.h"]
HOSTED = ["backend/pmr.h", "backend/pool.h", "backend/tracking.h", "backend/tracking_report.h", "tensor/expr.h"]  # need a heap
RESERVED = re.compile(r"reserved\w*\(")


def declared_classes(repository, without=()):
    """The exported classes that are not templates."""
    exported = set(re.findall(r"\btenon::((?:dlpack::)?\w+)[,;]", (repository / "src/tenon.cppm").read_text(encoding="utf-8")))
    found = set()
    include = repository / "include/tenon"
    for header in include.rglob("*.h"):
        path = str(header.relative_to(include))
        if path in without or path.startswith("aten/"):
            continue
        text = re.sub(r"//[^\n]*", "", header.read_text(encoding="utf-8"))
        for before, name in re.findall(r"^(.*\n)(?:class|struct) (?:TENON_\w+ |alignas\(\w+\) )*(\w+)(?: final)?\s*(?::[^;{]*)?\{",
                                       text, re.MULTILINE):
            if not before.startswith("template"):
                found.update({name, "dlpack::" + name} & exported)
    return sorted(found)


def program(headers, names):
    text = "".join(f"#include <tenon/{header}>\n" for header in headers)
    text += "#if !TENON_HAS_EXCEPTIONS\nnamespace tenon { using Exception = int; }\n#endif\nusing namespace tenon;\n"
    text += "template <class T> void use(T* t) {\n  static_assert(sizeof(T) > 0);\n"
    text += "  if constexpr (std::is_polymorphic_v<T> && std::has_virtual_destructor_v<T>) t->T::~T();\n}\n"
    return text + "void all() {\n" + "".join(f"  use(static_cast<tenon::{name}*>(nullptr));\n" for name in names) + "}\n"


def short(text):
    text = re.sub(r"\b(?:tenon|std|detail_values)::(?:v\d\w*::)?|\b(?:class|struct|enum) ", "", text)
    text = re.sub(r"(InlineArray<[\w ]+, \d+), 64>", r"\1>", text)  # the default, which newer compilers leave out
    return text.replace("_Bool", "bool").replace("unsigned long", "size_t").replace("(anonymous namespace)::", "")


def kind_of(what):
    """A class or a member as its line has it, without what the compiler adds."""
    return re.sub(r"(?: \((?:primary base|base|empty)\))+$", "", short(what))


def layouts(clang, include, flags, headers, names):
    """Maps a class to its lines."""
    command = [clang, "-std=c++17", *flags, "-w", f"-I{include}", "-x", "c++", "-S", "-emit-llvm", "-o", os.devnull, "-",
               "-Xclang", "-fdump-record-layouts", "-Xclang", "-fdump-vtable-layouts"]
    result = subprocess.run(command, input=program(headers, names), text=True, capture_output=True, check=False)
    if result.returncode != 0:
        sys.exit(result.stderr)
    blocks = {}
    for block in re.split(r"^\*\*\* Dumping AST Record Layout\n", result.stdout, flags=re.MULTILINE)[1:]:
        sizes = re.search(r"\[sizeof=(\d+),.*?\balign=(\d+)", block, re.DOTALL)
        rows = re.findall(r"^ *(\d+(?::\d+-\d+)?) \|( +)(.*)$", block[:sizes.start()], re.MULTILINE)
        blocks.setdefault(kind_of(rows[0][2]), (sizes, rows[1:]))
    found, wanted = {}, list(names)
    for name in wanted:  # which grows
        if name in found or name not in blocks:
            continue
        sizes, rows = blocks[name]
        lines, skipped = [f"{sizes[1]} bytes, aligned to {sizes[2]}"], None
        for offset, indent, what in rows:
            if skipped is not None and len(indent) > skipped:
                continue
            skipped = None
            kind = kind_of(what)
            if "vtable pointer" in what:
                lines.append(f"{offset} functions")
            elif "(anonymous" not in what:
                skipped = len(indent)
                is_base = kind != short(what).replace(" (empty)", "")
                if re.match(r"(?:class|struct) tenon::", what):
                    wanted.append(kind if is_base else kind.rsplit(" ", 1)[0])
                lines.append(f"{offset} {kind if is_base else kind.rsplit(' ', 1)[-1]}")
        found[name] = lines
    functions = {}
    for name, block in re.findall(r"^Vtable for '([^']*)' \(\d+ entries\)\.\n((?: .*\n)+)", result.stdout, re.MULTILINE):
        rows = [short(row) for row in re.findall(r"^ *\d+ \| (.*\(.*)$", block, re.MULTILINE) if "offset_to_top" not in row]
        rows = [re.sub(r"\w+(?:<[^>]*>)?::", "", row) for row in rows]  # compilers write more or less of the scopes
        functions[short(name)] = [re.sub(r"^.*?(~?\w+)\(", r"\1(", row) for row in rows]
    for name in found:
        base = next((line.split(" ", 1)[1] for line in found[name][1:2] if line.startswith("0 ")), "")
        inherited = len(functions.get(base, ()))
        found[name] += [f"function {i}: {row}" for i, row in enumerate(functions.get(name, ())) if i >= inherited]
    return found


def epoch(clang, include):
    command = [clang, "-std=c++17", f"-I{include}", "-x", "c++", "-E", "-P", "-include", "tenon/config.h", "-"]
    text = subprocess.run(command, input="epoch TENON_ABI_NAMESPACE\n", text=True, capture_output=True, check=True).stdout
    return re.search(r"epoch (\w+?)_plain", text)[1]


def measure(repository, clang):
    include = repository / "include"
    names = declared_classes(repository) + OTHERS
    sections = {"": layouts(clang, include, [], HEADERS + HOSTED, names)}
    missing = [name for name in names if name not in sections[""]]
    if missing:
        sys.exit(f"no layout of {', '.join(missing)} in the compiler's output")
    names = declared_classes(repository, HOSTED) + OTHERS
    for mode, flags in list(MODES.items())[1:]:
        found = layouts(clang, include, flags, HEADERS, names)
        sections[mode] = {name: lines for name, lines in found.items() if lines != sections[""].get(name)}
    return epoch(clang, include), sections


def write(number, sections):
    text = f"# Written by layouts.py update: see its first lines.\nepoch {number}\n"
    for mode, classes in sections.items():
        text += f"\n== {mode or 'default'}\n"
        for name in sorted(classes):
            text += f"{name}\n" + "".join(f"  {line}\n" for line in classes[name])
    return text


def read(text):
    number, sections, name = "", {}, ""
    for line in text.splitlines():
        if line.startswith("epoch "):
            number = line[6:]
        elif line.startswith("== "):
            classes = sections.setdefault("" if line == "== default" else line[3:], {})
        elif line.startswith("  "):
            classes[name].append(line[2:])
        elif line and not line.startswith("#"):
            name = line
            classes[name] = []
    return number, sections


def is_grown(before, after):
    """Whether the only difference is a reserved function that became another, or the other way round."""
    return len(before) == len(after) and all(a == b or (a.startswith("function") and RESERVED.search(a))
                                             for a, b in zip(before, after))


def faults(stored, found):
    """What differs, and whether that needs another epoch."""
    (old, before), (new, after) = stored, found
    needs_epoch, lines = False, []
    for mode in {**before, **after}:
        was, now = before.get(mode, {}), after.get(mode, {})
        where = f" with {mode}" if mode else ""
        for name in sorted(was.keys() | now.keys()):
            if was.get(name) == now.get(name):
                continue
            if name not in was and (mode == "" or name not in before.get("", {})):
                lines.append(f"{name}{where} is new")
                continue
            one, two = was.get(name, before[""].get(name, [])), now.get(name, after[""].get(name, []))
            if one == two:  # as without the switch, or no longer
                continue
            if is_grown(one, two):
                lines.append(f"{name}{where}: a reserved function is in use")
                continue
            needs_epoch = True
            lines.append(f"layout of {name}{where} changed")
            lines += [f"    was {line}" for line in one if line not in two] + [f"    is  {line}" for line in two if line not in one]
    if needs_epoch and old == new:
        lines.append(f"bump the epoch in include/tenon/config.h, if {new} was released, and run tests/builds/odr/layouts.py update")
    elif lines or old != new:
        lines.append(f"the epoch was {old} and is {new}: run tests/builds/odr/layouts.py update")
    return lines


def main():
    mode, repository, clang = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    path = repository / "tests/builds/odr/layouts.txt"
    found = measure(repository, clang)
    if mode == "update":
        path.write_text(write(*found), encoding="utf-8")
        return
    lines = faults(read(path.read_text(encoding="utf-8")), found)
    print(*lines, f"{len(found[1][''])} classes, {len(lines)} faults", sep="\n")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
