#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what holds for tenon's headers as a whole.

usage: check_headers.py CHECK REPOSITORY
  layers  includes point one way, from the right to the left of fwd.h, core, kernels, backend, tensor,
          exchange, module, compiled.h, tensor_ptr.h, tenon.h, ostream.h, interop, testing, compat; there are no cycles; all are
          "tenon/..."; a header of aten/ is in the layer that it is ATen mode's part of; nothing below
          interop declares a type that interop defines; the folders of interop in ALONE include nothing else of interop
  tests   every header but tenon.h has a test file at the same path, in C++ or in Python; those of
          backend/cuda are tested in tests/unit/cuda, by what they do together
          compat/executorch_headers/ is left out: its headers only include one of compat/ each
  form    every header begins with the licence line and has #pragma once before any code; no line is
          longer than 100 characters; no two headers have one name, but for aten/'s, whose files
          replace those of the same name, and executorch.h, and compat/executorch_headers/, whose headers are three lines; from core to module only
          MODE_HEADERS ask for ATen mode
  statics every variable of static storage that may change is in a TENON_EXPORT function, or else in
          DUPLICATES, because it may be there once for each shared library
  forward fwd.h declares each public class, struct and enumeration of core to module, and nothing that is not there
  macro_names  a macro that a header leaves defined is in docs/versions.md, begins with TENON_DETAIL_, or is in INTERNAL
Prints one line for each fault and exits with 1 if there is one.
"""

import pathlib
import re
import sys

from parse_headers import declarator, end_of, tokens_of

INCLUDE_FOLDERS = ("include", "testing/include")
ALONE = ("files", "libraries", "processes")

# Lowest first. A header may include its own layer and those below it.
LAYERS = ["config.h", "fwd.h", "core", "kernels", "backend", "tensor", "exchange", "module",
          "compiled.h", "tensor_ptr.h", "tenon.h", "ostream.h", "interop", "testing", "compat"]

ATEN_LAYERS = {"tensor.h": "tensor", "handle.h": "tensor", "random.h": "tensor"}  # the others: core

# Those of core to module that choose between ATen's types and tenon's; named in docs/architecture.md.
MODE_HEADERS = {"tenon/core/mode.h", "tenon/tensor/tensor.h", "tenon/tensor/handle.h"}

MODELESS = tuple(f"tenon/{layer}/" for layer in ("core", "kernels", "backend", "tensor", "exchange", "module"))

# Not in fwd.h: traits, a base, and a constant's type.
NOT_FORWARD = {"CppTypeToScalarType", "ScalarTypeToCppType", "TensorMetadata", "None"}

# By the header and the variable's name, with what makes several of them right; see config.h.
DUPLICATES = {
    ("tenon/aten/handle.h", "cpu"): "a constant",
    ("tenon/compat/executorch_platform.h", "start"): "ticks of each library have their start",
    ("tenon/core/generator.h", "calls"): "one of several sources of a seed",
    ("tenon/core/memory.h", "are_off"): "the environment is the same for all",
    ("tenon/exchange/dlpack_export.h", "releases"): "each library counts its own calls",
    ("tenon/interop/python/interpreter.h", "after_fork"): "Python is told of each library's gate",
    ("tenon/interop/python/interpreter.h", "at_exit"): "Python is told of each library's gate",
    ("tenon/interop/python/interpreter.h", "depth"): "each library counts its own calls",
    ("tenon/interop/python/interpreter.h", "gate"): "each library waits for its own threads",
    ("tenon/interop/python/interpreter.h", "state"): "each library has its own Python type",
    ("tenon/interop/python/tensor_object.h", "releases"): "each library has its own Python type",
    ("tenon/interop/python/tensor_type.h", "api"): "a table of that type",
    ("tenon/interop/python/tensor_type.h", "attributes"): "a table of that type",
    ("tenon/interop/python/tensor_type.h", "doc"): "a text of that type",
    ("tenon/interop/python/tensor_type.h", "members"): "a table of that type",
    ("tenon/interop/python/tensor_type.h", "methods"): "a table of that type",
    ("tenon/kernels/dispatch.h", "level"): "the processor has the same in all",
}

# The library's own macros that are not called TENON_DETAIL_: most begin or end many declarations.
INTERNAL = set("""
TENON_ABI_NAMESPACE TENON_ALWAYS_INLINE TENON_BEGIN_NAMESPACE TENON_BEGIN_OWN TENON_BEGIN_VALUES TENON_C10_HAS_FLOAT8
TENON_CALLER_FILE TENON_CALLER_LINE TENON_CALLS_ALIKE TENON_COLD TENON_COMPILED_ONCE TENON_CONSTEXPR_BITS TENON_CPLUSPLUS
TENON_END_NAMESPACE TENON_END_OWN TENON_EXACT_MATH TENON_EXPORT TENON_HAS_AVX2 TENON_HAS_BACKTRACE TENON_HAS_FLOAT16
TENON_HAS_OPENMP TENON_HAS_POSIX_FILES TENON_HAS_SHUFFLEVECTOR TENON_HAS_SINGLE_THREADED TENON_HAS_VARIANTS
TENON_HAS_WIDE_PRODUCTS TENON_HOST_DEVICE TENON_INLINE_IN_TARGET TENON_LIFETIMEBOUND TENON_MDSPAN_NAMESPACE TENON_MISTAKE
TENON_NOINLINE TENON_NO_CONTRACTION TENON_OUT_OF_MEMORY TENON_RESTRICT TENON_TARGET_AVX2 TENON_TARGET_AVX512
TENON_TEMPLATE_INLINE TENON_THREAD_LOCAL TENON_UNLIKELY TENON_UNROLL TENON_USES_FREE_MEMORY TENON_VALUE_NAMESPACE
TENON_VECTORIZE TENON_VECTORIZE_EXACT TENON_VECTORIZE_WHOLE
""".split())

# What other libraries' headers ask for, and Arrow's own, which its specification says to define.
OF_OTHERS = re.compile(r"ARROW_|ET_|MPICH_|OMPI_|PY_|(?:ASSERT|EXPECT)_TENSOR_")

# Headers by ExecuTorch's paths: the licence, #pragma once, and one header of compat/.
FORWARDING = "tenon/compat/executorch_headers/"
FORWARDS = re.compile(r'// SPDX-License-Identifier: MIT\n#pragma once\n#include "tenon/compat/\w+\.h"\n')

LICENCE = "// SPDX-License-Identifier: MIT"
INCLUDE = re.compile(r"^\s*#\s*include\b\s*(.*)$")
# What "static" or "inline" and a type without a parenthesis lead up to: a variable's name.
VARIABLE = re.compile(r"(?:\bstatic|^\s*(?:TENON_EXPORT )?inline)\s+(?!constexpr\b|namespace\b)"
                      r"(?:[\w:<>,*&]+\s+)+[*&]*(\w+)\s*[=;{\[]")
DEFINED = re.compile(r"^\s*(?:struct|class)\s+(?:TENON_EXPORT\s+)?(\w+)(?:\s+final)?\s*(?::[^:]|\{)")
DECLARED = re.compile(r"^\s*(?:struct|class)\s+(\w+);")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def header_path(repository, header):
    """The file that "tenon/core/dims.h" names."""
    paths = [pathlib.Path(repository, folder, header) for folder in INCLUDE_FOLDERS]
    return next((path for path in paths if path.exists()), paths[0])


def read_headers(repository):
    """Maps the name in an include directive, "tenon/core/dims.h", to the file's text."""
    roots = [pathlib.Path(repository, folder) for folder in INCLUDE_FOLDERS]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
            for root in roots for path in sorted((root / "tenon").rglob("*"))
            if path.is_file() and path.name != "LICENSE" and path.suffix != ".pyi"}


def without_comments(text):
    """The text with comments blanked, line numbers kept."""
    return COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)


def includes(text):
    """Yields (line number, what follows #include)."""
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1).strip()


def layer(header):
    """The index in LAYERS, or None."""
    name = header.split("/")[1]
    if name == "aten":
        name = ATEN_LAYERS.get(header.split("/")[2], "core")
    return LAYERS.index(name) if name in LAYERS else None


def check_layers(headers):
    """Yields faults in the direction and the form of includes."""
    graph = {header: [] for header in headers}
    for header, text in headers.items():
        own = layer(header)
        if own is None:
            yield f"{header}: is in no known layer"
            continue
        for line, target in includes(text):
            where = f"{header}:{line}"
            if re.match(r"<(?!tenon/)[^>]+>$", target):
                continue  # somebody else's
            match = re.match(r'"(tenon/[^"]+)"$', target)
            if not match:
                yield f'{where}: #include {target} is not of the form "tenon/..." or <...>'
                continue
            included = match.group(1)
            if included not in headers:
                yield f"{where}: there is no {included}"
                continue
            graph[header].append(included)
            folder = header.rpartition("/")[0]
            if folder in [f"tenon/interop/{name}" for name in ALONE] and (
                    included.startswith("tenon/interop/") and not included.startswith(folder)):
                yield f"{where}: {folder} must not include {included}"
            other = layer(included)
            if other is not None and other > own:
                yield (f"{where}: {LAYERS[own]} must not include {included}, "
                       f"{LAYERS[other]} is above it")
    yield from find_cycles(graph)
    yield from declarations_of_interop(headers)


def declarations_of_interop(headers):
    """Yields types of interop that a header below it names, so that it knows of them without an include."""
    interop = LAYERS.index("interop")
    defined = {match.group(1): header for header, text in headers.items() if layer(header) == interop
               for match in map(DEFINED.match, without_comments(text).splitlines()) if match}
    for header, text in headers.items():
        if layer(header) is None or layer(header) >= interop:
            continue
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            match = DECLARED.match(line)
            if match and match.group(1) in defined:
                yield f"{header}:{number}: {match.group(1)} is defined in {defined[match.group(1)]}, above it"


def find_cycles(graph):
    """Yields one fault for each include that closes a cycle."""
    done, path = set(), []

    def visit(header):
        if header in path:
            cycle = path[path.index(header):] + [header]
            yield "cyclic include: " + " -> ".join(cycle)
            return
        if header in done:
            return
        path.append(header)
        for included in graph[header]:
            yield from visit(included)
        path.pop()
        done.add(header)

    for header in graph:
        yield from visit(header)


def test_path(header):
    """The test file of a header, without .cpp or .py: at the same path, but config.h is tested with
    the core."""
    parts = pathlib.PurePosixPath(header).parts[1:]
    folder = ("core",) if parts == ("config.h",) else parts[:-1]
    return pathlib.PurePosixPath("tests/unit", *folder, parts[-1][:-len(".h")] + "_test")


def check_tests(headers, repository):
    """Yields headers without a test file. tenon.h is only a list of the others."""
    for header in headers:
        if header.startswith(("tenon/backend/cuda", FORWARDING)):
            continue
        path = test_path(header)
        files = (pathlib.Path(repository, f"{path}{suffix}") for suffix in (".cpp", ".py"))
        if header != "tenon/tenon.h" and not any(file.exists() for file in files):
            yield f"{header}: there is no {path}.cpp or .py"


def check_form(headers):
    """Yields faults in a header's name, first lines and line lengths."""
    seen = {"executorch.h": None, "tensor_ptr.h": None}  # of interop/ and of compat/; of tensor/, and with what goes with it
    for header, text in headers.items():
        if header.startswith(FORWARDING):
            if not FORWARDS.fullmatch(text):
                yield f"{header}: is not three lines, the last of which includes a header of compat/"
            continue
        name = header.rsplit("/", 1)[1]
        if not header.startswith("tenon/aten/") and seen.setdefault(name, header) not in (None, header):
            yield f"{header}: has the name of {seen[name]}"
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > 100:
                yield f"{header}:{number}: is longer than 100 characters"
        if not header.endswith((".h", ".cuh")):
            yield f"{header}: is not named *.h or *.cuh"
        if text.split("\n", 1)[0] != LICENCE:
            yield f"{header}:1: the first line is not {LICENCE}"
        code = [line.strip() for line in without_comments(text).splitlines() if line.strip()]
        if not code or code[0] != "#pragma once":
            yield f"{header}: #pragma once does not come before the code"
        if header.startswith(MODELESS) and header not in MODE_HEADERS and "TENON_ATEN_MODE" in text:
            yield f"{header}: asks for ATen mode, which {', '.join(sorted(MODE_HEADERS))} do"


def check_statics(headers):
    """Yields variables that each shared library may have its own of, and duplicates that are gone."""
    left = {key for key in DUPLICATES if key[0] in headers}
    for header, text in headers.items():
        function = ""
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            if re.match(r"\w", line):
                function = line
            match = VARIABLE.search(line)
            key = (header, match.group(1)) if match else None
            if match and key not in DUPLICATES and not function.startswith("TENON_EXPORT"):
                yield (f"{header}:{number}: each shared library has its own {match.group(1)}: have it "
                       "in a TENON_EXPORT function, or list it in DUPLICATES and say why it may be")
            left.discard(key)
    for header, name in sorted(left):
        yield f"{header}: there is no {name}, which DUPLICATES lists"


def public_types(text):
    """Yields (keyword, name, whether it is defined) of the classes and enumerations outside of inner namespaces."""
    tokens = tokens_of(text)
    depth, head, i = 0, [], 0
    while i < len(tokens):
        token = tokens[i]
        if token == "{" and "namespace" in head[:2]:
            depth, head, i = depth + 1, [], i + 1
            continue
        if token in "{;" and head:
            name = declarator(head)
            if name[:2] == ["enum", "class"]:
                name = ["enum", *name[2:]]
            if not depth and name[:1] and name[0] in ("class", "struct", "enum") and (
                    len(name) == 2 or name[2] in (":", "final")):
                yield name[0], name[1], token == "{"
        if token in "([{":
            if token == "(":
                head = [*head, "(", ")"]  # a macro's may stand before the name
            elif token == "{" and "=" not in declarator(head):  # an initialiser's is not the end
                head = []
            i = end_of(tokens, i)
        elif token in ";}":
            depth, head, i = depth - (token == "}"), [], i + 1
        else:
            head, i = [*head, token], i + 1


def check_forward(headers):
    """Yields what fwd.h lacks, and what it declares that is not there."""
    declared = {pair[:2] for pair in public_types(headers.get("tenon/fwd.h", ""))}
    defined = {(kind, name): header for header, text in headers.items()
               if header.startswith(MODELESS) and not header.startswith("tenon/backend/cuda")
               for kind, name, is_defined in public_types(text) if is_defined and name not in NOT_FORWARD}
    for kind, name in sorted(defined.keys() - declared):
        yield f"{defined[kind, name]}: fwd.h does not declare {kind} {name}"
    here = {pair[:2] for header, text in headers.items() if header.startswith("tenon/aten/")
            for pair in public_types(text)}
    for kind, name in sorted(declared - defined.keys() - here):
        yield f"tenon/fwd.h: there is no {kind} {name}"


def check_macro_names(headers, document):
    """Yields macros that are neither documented nor named as the library's own."""
    documented = set(re.findall(r"`(TENON_\w+)`", document))
    left = set(INTERNAL)
    for header, text in headers.items():
        undefined = set(re.findall(r"^\s*#\s*undef (\w+)", text, re.MULTILINE))
        for name in sorted(set(re.findall(r"^\s*#\s*define (\w+)", text, re.MULTILINE)) - undefined):
            left.discard(name)
            if not OF_OTHERS.match(name) and not name.startswith("TENON_DETAIL_") and name not in documented | INTERNAL:
                yield f"{header}: {name} is a user's macro, in docs/versions.md, or is called TENON_DETAIL_…"
    for name in sorted(left):
        yield f"no header defines {name}, which INTERNAL lists"


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in ("layers", "tests", "form", "statics", "forward", "macro_names"):
        print(__doc__, file=sys.stderr)
        return 2
    check, repository = arguments
    headers = read_headers(repository)
    if not headers:
        print(f"{repository} has no headers", file=sys.stderr)
        return 1
    faults = list({"layers": lambda: check_layers(headers),
                   "tests": lambda: check_tests(headers, repository),
                   "form": lambda: check_form(headers),
                   "statics": lambda: check_statics(headers),
                   "forward": lambda: check_forward(headers),
                   "macro_names": lambda: check_macro_names(
                       headers, (pathlib.Path(repository) / "docs/versions.md").read_text(encoding="utf-8"))}[check]())
    for fault in faults:
        print(fault)
    print(f"{len(headers)} headers, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
