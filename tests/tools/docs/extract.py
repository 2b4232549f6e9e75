#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns the ```cpp blocks of Markdown files into C++ sources.

usage: extract.py OUTPUT_FOLDER REPOSITORY FILE...
Writes for each FILE (relative to REPOSITORY) a <name>_blocks.cpp with one function for each block
and a main() that calls them in order, and a <name>_program_<line>.cpp for each block that has a
main() itself; a ```cuda block becomes a <name>_cuda_<line>.cu as it is. An ```output block is what the
program above it prints: <name>_program_<line>.txt beside the source. Prints the sources' paths, one a
line. #line makes errors point to the Markdown.

An HTML comment on the line before a block (blank lines between are fine) says otherwise:
  <!-- not compiled: reason -->          the block is left out
  <!-- continues -->                     the block goes on in the function of the one above
  <!-- namespace scope -->               the block is declarations, visible to the blocks below it
  <!-- plain mode -->                   the block is left out in ATen mode, in which the others of
                                         <name>_blocks.cpp are compiled too
  <!-- libtorch -->, <!-- executorch -->, <!-- onnxruntime -->, <!-- aoti -->, <!-- opencv -->,
  <!-- eigen -->, <!-- xtensor -->, <!-- safetensors -->, <!-- npz -->, <!-- ggml -->, <!-- qt -->,
  <!-- gstreamer -->, <!-- ffmpeg -->, <!-- libyuv -->
                                         the program, which has a main(), needs that: it is
                                         <name>_libtorch_<line>.cpp
  <!-- ncnn -->, <!-- mnn -->, <!-- tflite -->, <!-- litert -->
                                         the program is compiled with the headers of documented/
  <!-- compat -->, <!-- compat, executorch -->, <!-- compat, onnxruntime -->
                                         the program is written for ExecuTorch, and links
                                         tenon::executorch_compat; the second links
                                         tenon::executorch_runtime too, the third ONNX Runtime:
                                         <name>_compat_<line>.cpp, <name>_compat_executorch_<line>.cpp, …
  <!-- MPI -->                           the same; it runs as three processes, <name>_mpi_<line>.cpp
  <!-- simulated CUDA -->                it runs on tests/unit/cuda/simulated, <name>_simulated_<line>.cpp
  <!-- ATen mode -->                     it is one of ATen mode, <name>_aten_<line>.cpp
  <!-- Python module: NAME -->           the block is a whole source, of a module for Python:
                                         <name>_module_NAME.cpp
"""

import pathlib
import re
import sys

FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*([^\s`]*)")
COMMENT = re.compile(r"^\s*<!--\s*(.*?)\s*-->\s*$")
INCLUDE = re.compile(r"\s*#\s*include\b")
MAIN = re.compile(r"^\s*(?:int|auto)\s+main\s*\(", re.MULTILINE)
KINDS = {"compat": "compat", "compat, executorch": "compat_executorch", "compat, onnxruntime": "compat_onnxruntime",
         "libtorch": "libtorch", "executorch": "executorch", "onnxruntime": "onnxruntime", "aoti": "aoti",
         "opencv": "opencv", "eigen": "eigen", "xtensor": "xtensor",
         "safetensors": "safetensors", "npz": "npz", "ggml": "ggml", "qt": "qt", "gstreamer": "gstreamer",
         "ffmpeg": "ffmpeg", "libyuv": "libyuv", "ncnn": "ncnn", "mnn": "mnn", "tflite": "tflite",
         "litert": "litert",
         "MPI": "mpi", "simulated CUDA": "simulated", "ATen mode": "aten"}
LICENCE = "// SPDX-License-Identifier: MIT"
# assert() is how the documents state results, so it must work in release builds too.
PRELUDE = [LICENCE, "// Generated from the Markdown file that the lines below name.",
           "#undef NDEBUG", "#include <cassert>", "#include <cstdio>", "#include <exception>",
           "#include <memory>", "#include <string>", "#include <utility>", "#include <vector>"]
USING = ["", "#include <tenon/tenon.h>", "", "using namespace tenon;"]


class Fault(Exception):
    pass


def blocks(text, name):
    """Yields (line number of the first line of code, code lines, directive, language)."""
    directive, fence, start, indent, code = "", None, 0, 0, []
    language = ""
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if fence is None:
            if match:
                indent, fence, language = len(match.group(1)), match.group(2), match.group(3)
                start, code = number + 1, []
                continue
            comment = COMMENT.match(line)
            if comment:
                directive = comment.group(1)
            elif line.strip():
                directive = ""
        elif match and match.group(2).startswith(fence) and not match.group(3):
            if language in ("cpp", "c++", "C++", "cuda", "output"):
                yield start, code, directive, language
            fence, directive = None, ""
        else:
            code.append(line[min(indent, len(line) - len(line.lstrip(" "))):])
    if fence is not None:
        raise Fault(f"{name}:{start - 1}: the block is not closed")


def line_directive(number, path):
    return f'#line {number} "{path}"'


def translate(text, name, path):
    """Returns {suffix of the file's name: its text} for the Markdown `text`."""
    sources, hoisted, scope, functions = {}, [], [], []
    program = None
    for start, code, directive, language in blocks(text, name):
        if language == "output":
            if program is None:
                raise Fault(f"{name}:{start}: there is no program above this output")
            sources[f"{program}.txt"] = "\n".join([*code, ""])
            program = None
            continue
        program = None
        if directive.startswith("not compiled"):
            if not re.match(r"not compiled: \S", directive):
                raise Fault(f"{name}:{start}: say why it is not compiled")
            continue
        if language == "cuda":
            sources[f"cuda_{start}.cu"] = "\n".join([LICENCE, line_directive(start, path), *code, ""])
            continue
        module = re.fullmatch(r"Python module: (\w+)", directive)
        if module:
            sources[f"module_{module.group(1)}.cpp"] = "\n".join(
                [LICENCE, line_directive(start, path), *code, ""])
            continue
        kind = KINDS.get(directive)
        if MAIN.search("\n".join(code)):
            program = f"{kind or 'program'}_{start}"
            sources[f"{program}.cpp"] = "\n".join(
                [LICENCE, "#undef NDEBUG", line_directive(start, path), *code, ""])
            continue
        if kind:
            raise Fault(f"{name}:{start}: only a program can be one of {directive}")
        # Includes cannot stay in a function.
        body = [line_directive(start, path)]
        for offset, line in enumerate(code):
            if INCLUDE.match(line):
                hoisted += [line_directive(start + offset, path), line]
                line = ""
            body.append(line)
        if directive == "plain mode":
            body = ["#if !TENON_ATEN_MODE", *body, "#endif"]
        if directive == "namespace scope":
            scope += body
        elif directive == "continues":
            if not functions:
                raise Fault(f"{name}:{start}: there is no block to continue")
            functions[-1][1].extend(body)
        else:
            # Declarations so far, then this function: a block sees those above it only.
            functions.append((start, body, len(scope)))
    if not functions and not scope:
        return sources

    text_lines = [*PRELUDE, *hoisted, *USING]
    used = 0
    for start, body, scope_end in functions:
        text_lines += scope[used:scope_end]
        used = scope_end
        text_lines += [f"static void block_{start}() {{", *body, "}"]
    text_lines += scope[used:]
    text_lines += ['#line 1 "generated main"', "int main() {", "  const char* where = nullptr;",
                   "  try {"]
    for start, _, _ in functions:
        text_lines += [f'    std::puts(where = "{name}:{start}");', f"    block_{start}();"]
    text_lines += ["  } catch (const std::exception& e) {",
                   '    std::printf("%s: threw: %s\\n", where, e.what());', "    return 1;", "  }",
                   "}", ""]
    sources["blocks.cpp"] = "\n".join(text_lines)
    return sources


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder, repository = pathlib.Path(arguments[0]), pathlib.Path(arguments[1])
    folder.mkdir(parents=True, exist_ok=True)
    written = set()
    for name in arguments[2:]:
        path = repository / name
        stem = re.sub(r"\W", "_", path.stem)
        try:
            sources = translate(path.read_text(encoding="utf-8"), name, path.as_posix())
        except Fault as fault:
            print(fault, file=sys.stderr)
            return 1
        for suffix, text in sources.items():
            source = folder / f"{stem}_{suffix}"
            if source in written:
                print(f"{name}: another document is called {path.stem} too", file=sys.stderr)
                return 1
            # Left alone when it is the same, so that nothing is rebuilt.
            if not source.exists() or source.read_text(encoding="utf-8") != text:
                source.write_text(text, encoding="utf-8")
            written.add(source)
            if source.suffix != ".txt":
                print(source.as_posix())
    for old in {*folder.glob("*.cpp"), *folder.glob("*.txt")} - written:
        old.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
