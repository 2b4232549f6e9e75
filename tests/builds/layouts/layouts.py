#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the layout of each public class, its virtual functions and the numbers of enumerators against layouts.txt.

    python3 layouts.py check  [REPOSITORY [CLANG++]]
    python3 layouts.py update [REPOSITORY [CLANG++]]    # writes layouts.txt

Objects of one ABI epoch may meet in a program (docs/versions.md): a class that changes needs another
epoch. The classes are those that src/tenon.cppm exports, and internal ones that libraries share by
pointer. Of a class the file has size, alignment and each member's offset and type, private ones too,
since inline functions use them; of its virtual functions results and parameters. tenon's classes and
enumerations that members are of or point to are there too. An enumeration may get further enumerators.
The first section is of a 64-bit system with the usual switches; the others have what differs with a
switch. Headers that need other projects (aten/, interop/, backend/cuda/) are not looked at.
"""

import os
import pathlib
import re
import shlex
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
# Instances of templates, and internal classes that one library makes and another uses.
OTHERS = ["Result<Blob>", "TensorAccessor<float, 2>", "complex<float>", "detail::BackendRegistry", "detail::BackendState",
          "detail::BlockHeader", "detail::LastError", "detail::Method", "detail::Seat"]
HOSTED_OTHERS = ["detail::Runtimes", "detail::TrackingLink"]
HEADERS = ["tenon.h", "ostream.h", "backend/strided_copy.h", "exchange/dlpack_packed.h", "module/function_module.h",
           "tensor/values.h"]
HOSTED = ["backend/pmr.h", "backend/pool.h", "backend/tracking.h", "backend/tracking_report.h", "module/runtimes.h",
          "tensor/expr.h"]  # need a heap
RESERVED = re.compile(r"function \d+: Error reserved\w*\(")
OTHER_PROJECTS = ("aten/", "compat/", "interop/", "backend/cuda")


def texts(repository, without=()):
    """The headers' texts without comments."""
    include = repository / "include/tenon"
    for header in sorted(include.rglob("*.h")):
        path = header.relative_to(include).as_posix()
        if path not in without and not path.startswith(OTHER_PROJECTS):
            yield re.sub(r"//[^\n]*", "", header.read_text(encoding="utf-8"))


def exported_names(repository):
    return set(re.findall(r"\btenon::((?:dlpack::)?\w+)[,;]", (repository / "src/tenon.cppm").read_text(encoding="utf-8")))


def declared_classes(repository, without=()):
    """The exported classes that are not templates."""
    exported, found = exported_names(repository), set()
    for text in texts(repository, without):
        for before, name in re.findall(r"^(.*\n)(?:class|struct) (?:TENON_\w+ |alignas\(\w+\) )*(\w+)(?: final)?\s*(?::[^;{]*)?\{",
                                       text, re.MULTILINE):
            if not before.startswith("template"):
                found.update({name, "dlpack::" + name} & exported)
    return sorted(found)


def unlisted(header_texts, listed):
    """Classes of the objects that all libraries share (TENON_EXPORT functions return them) that are not in the list."""
    joined = "\n".join(header_texts)
    shared = set(re.findall(r"TENON_EXPORT inline (?:const )?(\w+) ?[*&]+ ?\w+\(", joined))
    classes = {name for name in shared if re.search(rf"\b(?:class|struct) (?:\w+(?:\(\w+\))? )*{name}\b[^;{{}}()]*\{{", joined)}
    return sorted(classes - {name.rsplit("::", 1)[-1] for name in listed})


def enumerations(text, wanted):
    """Maps "enum Name" to its lines, for those in the preprocessed text that are wanted."""
    found = {}
    for name, base, body in re.findall(r"\benum (?:class |struct )?(?:\[\[\w+\]\] )?(\w+)(?: : (\w+))? \{([^}]*)\}", text):
        if name not in wanted:
            continue
        numbers, following = {}, 0
        for enumerator in filter(None, map(str.strip, body.split(","))):
            word, _, value = enumerator.partition(" = ")
            numbers[word] = numbers[value] if value in numbers else int(value, 0) if value else following
            following = numbers[word] + 1
        found[f"enum {name}"] = [f"of {base or 'int'}", *(f"{word} = {number}" for word, number in numbers.items())]
    return found


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


def without_scopes(text):
    """Compilers write more or less of the scopes, and of the defaults."""
    return re.sub(r"\w+(?:<[^<>]*>)?::", "", text).replace("less<void>", "less<>")


def layouts(clang, include, flags, headers, names):
    command = [clang, "-std=c++17", *flags, "-w", f"-I{include}", "-x", "c++", "-S", "-emit-llvm", "-o", os.devnull, "-",
               "-Xclang", "-fdump-record-layouts", "-Xclang", "-fdump-vtable-layouts"]
    result = subprocess.run(command, input=program(headers, names), text=True, capture_output=True, check=False)
    if result.returncode != 0:
        sys.exit(result.stderr)
    return parsed(result.stdout, names)


def parsed(dump, names):
    """Maps a class, each of the names and what its members need, to its lines."""
    blocks, ours = {}, {}  # the second: tenon's by their names without scopes
    for block in re.split(r"^\*\*\* Dumping AST Record Layout\n", dump, flags=re.MULTILINE)[1:]:
        sizes = re.search(r"\[sizeof=(\d+),.*?\balign=(\d+)", block, re.DOTALL)
        rows = re.findall(r"^ *(\d+(?::\d+-\d+)?) \|( +)(.*)$", block[:sizes.start()], re.MULTILINE)
        name = kind_of(rows[0][2])
        blocks.setdefault(name, (sizes, rows[1:]))
        if re.match(r"(?:class|struct) tenon::[\w:]+$", rows[0][2]):
            ours.setdefault(name.rsplit("::", 1)[-1], set()).add(name)
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
                member = kind if is_base else without_scopes(kind)
                for word in re.findall(r"\w+", member):
                    wanted += ours.get(word, [])
                lines.append(f"{offset} {member}")
        found[name] = lines
    functions = {}
    for name, block in re.findall(r"^Vtable for '([^']*)' \(\d+ entries\)\.\n((?: .*\n)+)", dump, re.MULTILINE):
        rows = [short(row) for row in re.findall(r"^ *\d+ \| (.*\(.*)$", block, re.MULTILINE) if "offset_to_top" not in row]
        functions[short(name)] = list(map(without_scopes, rows))
    for name in found:
        base = next((line.split(" ", 1)[1] for line in found[name][1:2] if line.startswith("0 ")), "")
        inherited = len(functions.get(base, ()))
        found[name] += [f"function {i}: {row}" for i, row in enumerate(functions.get(name, ())) if i >= inherited]
    return found


def preprocessed(clang, include):
    command = [clang, "-std=c++17", "-w", f"-I{include}", "-x", "c++", "-E", "-P", "-"]
    text = "".join(f"#include <tenon/{header}>\n" for header in HEADERS + HOSTED) + "epoch TENON_ABI_NAMESPACE\n"
    text = subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout
    return re.sub(r"\s+", " ", text)


def measure(repository, clang):
    include = repository / "include"
    names = declared_classes(repository) + OTHERS + HOSTED_OTHERS
    sections = {"": layouts(clang, include, [], HEADERS + HOSTED, names)}
    missing = [name for name in names if name not in sections[""]]
    if missing:
        sys.exit(f"no layout of {', '.join(missing)} in the compiler's output")
    missing = unlisted(texts(repository), sections[""])
    if missing:
        sys.exit(f"all libraries share {', '.join(missing)}: name it in OTHERS of layouts.py")
    names = declared_classes(repository, HOSTED) + OTHERS
    for mode, flags in list(MODES.items())[1:]:
        found = layouts(clang, include, flags, HEADERS, names)
        sections[mode] = {name: lines for name, lines in found.items() if lines != sections[""].get(name)}
    text = preprocessed(clang, include)
    members = [line for lines in sections[""].values() for line in lines]
    words = set(re.findall(r"\w+", " ".join([*members, *exported_names(repository)])))
    sections[""].update(enumerations(text[text.index("namespace tenon"):], words))
    return re.search(r"epoch (\w+?)_plain", text)[1], sections


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
    """Whether the only difference is that reserved functions became others, which return an Error too."""
    return len(before) == len(after) and all(a == b or (RESERVED.match(a) and re.match(r"function \d+: Error \w+\(", b))
                                             for a, b in zip(before, after))


def faults(stored, found, command="python3 layouts.py update"):
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
            if name.startswith("enum ") and one and two[:len(one)] == one:
                lines.append(f"{name}{where} has further enumerators")
                continue
            needs_epoch = True
            lines.append(f"layout of {name}{where} changed")
            lines += [f"    was {line}" for line in one if line not in two] + [f"    is  {line}" for line in two if line not in one]
    if needs_epoch and old == new:
        lines.append(f"bump the epoch in include/tenon/config.h, if {new} was released, and run {command}")
    elif old != new:
        lines.append(f"the epoch was {old} and is {new}: run {command}")
    elif lines:
        lines.append(f"run {command}")
    return lines


def main():
    mode, *others = sys.argv[1:] or [""]
    if mode not in ("check", "update"):
        sys.exit(__doc__)
    repository = pathlib.Path(others[0]) if others else pathlib.Path(__file__).resolve().parents[3]
    clang = others[1] if len(others) > 1 else "clang++"
    path = repository / "tests/builds/layouts/layouts.txt"
    found = measure(repository, clang)
    if mode == "update":
        path.write_text(write(*found), encoding="utf-8")
        return
    command = shlex.join(["python3", __file__, "update", str(repository), clang])
    lines = faults(read(path.read_text(encoding="utf-8")), found, command)
    print(*lines, f"{len(found[1][''])} classes and enumerations, {len(lines)} faults", sep="\n")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
