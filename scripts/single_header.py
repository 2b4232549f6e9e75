#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tenon as a single file: what include/tenon/tenon.h includes, and the headers named beside it, in
one header, for plain mode: libtorch's users have a build system.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE_DIRS = (ROOT / "include", ROOT / "testing/include")
SPDX = "// SPDX-License-Identifier: MIT"
# Those of aten/ are ATen mode's, or are included by others; those of executorch_headers/ include one of compat/ each.
NAMES = sorted(path.relative_to(folder / "tenon").with_suffix("").as_posix() for folder in INCLUDE_DIRS
               for path in (folder / "tenon").rglob("*.h")
               if path.parent.name != "aten" and "executorch_headers" not in path.parts)
DIRECTIVE = re.compile(r"\s*#\s*(if|else|endif)")
MODE = re.compile(r"#if (!?)TENON_ATEN_MODE\b(?!\s*&&)")
OWN = re.compile(r'\s*#\s*include\s+"(tenon/[^"]+)"')
OTHER = re.compile(r"\s*#\s*include\s+(<[^>]+>)")

BEGIN = """\
#pragma once
#if defined(USE_ATEN_LIB)
#error "tenon.hpp has no ATen mode: use the folder include/tenon"
#elif defined(TENON_VERSION_MAJOR)
#error "tenon.hpp and headers of the folder include/tenon are both included: use one of them"
#else
"""
END = """
#define TENON_IS_SINGLE_HEADER 1
#endif
"""


def read(name):
    return next(folder / name for folder in INCLUDE_DIRS if (folder / name).exists()).read_text(encoding="utf-8")


def version():
    text = read("tenon/config.h")
    return ".".join(re.search(rf"^#define TENON_VERSION_{part} (\d+)$", text, re.MULTILINE).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))


class Writer:
    def __init__(self):
        self.lines = []
        self.headers = set()   # tenon's, already inserted
        self.included = set()  # others', already included whatever the conditions

    def insert(self, header):
        """Appends the header's text with each of tenon's own includes replaced by its text."""
        if header in self.headers:
            return
        self.headers.add(header)
        self.lines += ["", f"// ---- {header} ----", ""]
        # For each #if around the line: whether plain mode has it, or None if that is not its question.
        conditions = []
        for number, line in enumerate(read(header).splitlines(), 1):
            directive, own, other = DIRECTIVE.match(line), OWN.match(line), OTHER.match(line)
            word = directive.group(1) if directive else None
            if word == "if":
                mode = MODE.match(line)
                conditions.append(mode.group(1) == "!" if mode else None)
            asks_for_mode = word and conditions[-1] is not None
            if asks_for_mode and word == "else":
                conditions[-1] = not conditions[-1]
            is_left_out = asks_for_mode or False in conditions
            if word == "endif":
                conditions.pop()
            if is_left_out or line in ("#pragma once", SPDX):
                continue
            if own:
                if conditions.count(None):
                    # Its text would be under this condition for everybody else too.
                    sys.exit(f"{header}:{number}: a conditional include cannot be inlined")
                self.insert(own.group(1))
                continue
            if other and not conditions.count(None):
                if other.group(1) in self.included:
                    continue
                self.included.add(other.group(1))
            self.lines.append(line)


def find(name):
    """The header of that name; ValueError says which there are."""
    found = [name] if name in NAMES else [full for full in NAMES if full.endswith(f"/{name}")]
    if not found:
        raise ValueError(f"there is no header {name}, but these: {' '.join(NAMES)}")
    if len(found) > 1:
        raise ValueError(f"{name} may be any of these: {' '.join(found)}")
    return f"tenon/{found[0]}.h"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", nargs="?", default="tenon.hpp",
                        help="the file to write, tenon.hpp by default; - for standard output")
    parser.add_argument("--with", dest="names", metavar="NAME,...", action="append", default=[],
                        help="further headers: ostream for <tenon/ostream.h>, interop/npy or just npy for "
                             "<tenon/interop/npy.h>")
    arguments = parser.parse_args()
    writer = Writer()
    writer.insert("tenon/tenon.h")
    try:
        for name in filter(None, ",".join(arguments.names).replace(" ", "").split(",")):
            writer.insert(find(name))
    except ValueError as error:
        parser.error(str(error))
    licence = read("tenon/LICENSE")
    text = "\n".join([SPDX,
                      f"// tenon {version()} in one file, made by scripts/single_header.py from",
                      "// include/tenon: change that.",
                      "/*", licence + "*/", BEGIN, *writer.lines, END])
    text = re.sub(r"\n{3,}", "\n\n", text)
    if arguments.output == "-":
        sys.stdout.write(text)
    else:
        try:
            pathlib.Path(arguments.output).write_text(text, encoding="utf-8")
        except OSError as error:
            parser.error(str(error))


if __name__ == "__main__":
    main()
