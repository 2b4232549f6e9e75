#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what TENON_PORTABLE=1 makes of the headers that need no other library.

  check_portable.py words COMPILER FOLDERS HEADER...   no extension of a compiler is left in them, by its name or by what
                                                       -pedantic-errors says
  check_portable.py msvc CLANG FOLDERS HEADER...       they compile by MSVC's rules: for its target, with the
                                                       standard library and the Windows headers of MinGW-w64, and
                                                       without the macros of GCC and Clang

FOLDERS, with : between them, are those of the include path. Exits with 77 where MinGW-w64 is missing.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# What macros and functions of the standard library expand to, and glibc's own variable.
ALLOWED = {"__builtin_offsetof", "__builtin_va_arg", "__builtin_va_end", "__builtin_va_start", "__errno_location",
           "__libc_single_threaded", "__func__"}
# Pragmas about warnings and about the symbols of other libraries' functions change no code of the headers.
EXTENSION = re.compile(r"\b__[A-Za-z_]\w*|\b(?:asm|typeof)\b|\[\[\s*(?:using\b|\w+::\w+)|"
                       r"#\s*pragma\s+(?!once|STDC|GCC diagnostic|GCC visibility)\w+.*")
MINGW = "x86_64-w64-mingw32-g++-posix"
# A header that asks for Linux, by an #error.
LINUX = ("tenon/interop/shm.h", "tenon/interop/files/temporary_file.h", "tenon/interop/runtimes/torch_stable_library.h")
MACROS = ("__GNUC__ __clang__ __x86_64__ __SSE2__ __BYTE_ORDER__ __FLT16_MANT_DIG__ __has_builtin "
          "__has_feature __cplusplus").split()


def includes(headers):
    return "".join(f"#include <{header}>\n" for header in headers)


def include_options(folders):
    return [f"-I{folder}" for folder in folders]


def extensions(text, folders):
    """The extensions in preprocessed text, on lines that come from the folders: name and place."""
    found = {}
    place = ""
    line = 0
    for read in text.splitlines():
        marker = re.match(r'# (\d+) "([^"]*)"', read)
        if marker:
            place, line = marker[2], int(marker[1]) - 1
            continue
        line += 1
        if place.startswith(tuple(folders)):
            for name in EXTENSION.findall(read):
                if name not in ALLOWED:
                    found.setdefault(name, f"{place}:{line}")
    return found


def check_words(compiler, folders, headers):
    """Returns faults."""

    def left(portable):
        command = [compiler, "-std=c++17", f"-DTENON_PORTABLE={portable}", *include_options(folders), "-E", "-x", "c++",
                   "-"]
        text = subprocess.run(command, input=includes(headers), text=True, check=True, stdout=subprocess.PIPE).stdout
        return extensions(text, folders)

    faults = [f"{place}: {name}" for name, place in sorted(left(1).items())]
    command = [compiler, "-std=c++17", "-DTENON_PORTABLE=1", *include_options(folders), "-pedantic-errors", "-fsyntax-only",
               "-x", "c++", "-"]
    said = subprocess.run(command, input=includes(headers), text=True, capture_output=True).stderr
    faults += [line for line in said.splitlines() if ": error: " in line]
    unseen = {"__attribute__", "__builtin_expect"} - left(0).keys()
    if unseen:
        faults.append(f"without TENON_PORTABLE there should be {', '.join(sorted(unseen))}: the check sees nothing")
    return faults


def mingw_folders(clang):
    """The folders of MinGW-w64's headers, with Clang's own in place of GCC's."""
    own = subprocess.run([clang, "-print-resource-dir"], text=True, check=True, capture_output=True).stdout.strip()
    command = [MINGW, "-x", "c++", "-E", "-v", "-"]
    said = subprocess.run(command, input="", text=True, check=True, capture_output=True).stderr
    folders = re.search(r"<\.\.\.> search starts here:\n(.*?)\nEnd of search list", said, re.S)[1].split()
    return [own + "/include" if re.search(r"/gcc/[^/]+/[^/]+/include$", folder) else folder for folder in folders
            if not folder.endswith("/include-fixed")]


def check_msvc(clang, folders, headers):
    """Returns faults; None without MinGW-w64."""
    try:
        system_folders = mingw_folders(clang)
    except FileNotFoundError:
        return None
    headers = [header for header in headers if header not in LINUX]
    standard = set()
    for path in (path for folder in folders for path in pathlib.Path(folder).glob("tenon/**/*.h")):
        standard |= set(re.findall(r"^#include <([a-z_]+(?:\.h)?)>", path.read_text(), re.M))
    # What the standard library needs of the macros is behind it.
    source = "".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in sorted(standard))
    source += "".join(f"#undef {name}\n" for name in MACROS) + "#define __cplusplus 199711L\n"
    source += includes(headers) + 'static_assert(TENON_PORTABLE == 1, "the default without GCC and Clang");\n'
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
        file.write(source)
        file.flush()
        # MinGW-w64's headers are written for GCC, and take __declspec for a macro.
        command = [clang, "--target=x86_64-pc-windows-msvc", "-fms-compatibility", "-fms-extensions",
                   "-fms-compatibility-version=19.38", "-fdelayed-template-parsing", "-fgnuc-version=12.2",
                   "-D__declspec=__declspec", "-fexceptions", "-fcxx-exceptions", "-fsyntax-only", "-nostdinc",
                   "-std=c++17", *include_options(folders), "-Wall", "-Wextra", "-Wno-#warnings", "-Wno-builtin-macro-redefined"]
        for folder in system_folders:
            command += ["-isystem", folder]
        done = subprocess.run([*command, file.name], text=True, capture_output=True)
    faults = [line for line in done.stderr.splitlines() if re.search(r": (fatal )?(error|warning): ", line)]
    return faults or ([done.stderr] if done.returncode != 0 else [])


def main():
    kind, compiler, folders, *headers = sys.argv[1:]
    faults = {"words": check_words, "msvc": check_msvc}[kind](compiler, folders.split(":"), headers)
    if faults is None:
        print(f"tenon: skipped: MinGW-w64's compiler, {MINGW}, was not found")
        return 77
    for fault in faults:
        print(fault)
    print(f"{len(headers)} headers, {len(faults)} faults")
    return 1 if faults or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
