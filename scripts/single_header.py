#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tenon as a single file: what include/tenon/tenon.h includes, in one header, for plain mode:
libtorch's users have a build system.

usage: single_header.py [OUTPUT]
  OUTPUT  the file to write, tenon.hpp by default; - for standard output
"""

import pathlib
import re
import sys

INCLUDE_DIR = pathlib.Path(__file__).resolve().parent.parent / "include"
LICENCE = "// SPDX-License-Identifier: MIT"
OWN = re.compile(r'\s*#\s*include\s+"(tenon/[^"]+)"')
OTHER = re.compile(r"\s*#\s*include\s+(<[^>]+>)")
IF = re.compile(r"\s*#\s*if")
ELSE = re.compile(r"\s*#\s*else")
ENDIF = re.compile(r"\s*#\s*endif")
MODE = re.compile(r"#if (!?)TENON_ATEN_MODE\b(?!\s*&&)")
NO_ATEN_MODE = ["#if defined(USE_ATEN_LIB)",
                '#error "tenon.hpp has no ATen mode: use the folder include/tenon"', "#endif"]


def version():
    text = (INCLUDE_DIR / "tenon/config.h").read_text(encoding="utf-8")
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
        depth = 0
        # Within `#if TENON_ATEN_MODE`: the depth there, and whether the lines are plain mode's.
        mode_depth, is_plain = None, True
        for number, line in enumerate(
                (INCLUDE_DIR / header).read_text(encoding="utf-8").splitlines(), 1):
            if line.strip() == "#pragma once" or line == LICENCE:
                continue
            mode = MODE.match(line)
            if mode:
                mode_depth, is_plain = depth, bool(mode.group(1))
                continue
            if mode_depth == depth and ELSE.match(line):
                is_plain = not is_plain
                continue
            if mode_depth == depth and ENDIF.match(line):
                mode_depth, is_plain = None, True
                continue
            if not is_plain:
                depth += bool(IF.match(line)) - bool(ENDIF.match(line))
                continue
            own, other = OWN.match(line), OTHER.match(line)
            if own:
                if depth:
                    # Its text would be under this condition for everybody else too.
                    sys.exit(f"{header}:{number}: a conditional include cannot be inlined")
                self.insert(own.group(1))
                continue
            if other and depth == 0:
                if other.group(1) in self.included:
                    continue
                self.included.add(other.group(1))
            depth += bool(IF.match(line)) - bool(ENDIF.match(line))
            self.lines.append(line)


def main(arguments):
    if len(arguments) > 1 or "--help" in arguments or "-h" in arguments:
        print(__doc__)
        return 0 if len(arguments) == 1 else 2
    writer = Writer()
    writer.insert("tenon/tenon.h")
    text = "\n".join([LICENCE,
                      f"// tenon {version()} in one file, made by scripts/single_header.py from",
                      "// include/tenon: change that.",
                      "#pragma once", *NO_ATEN_MODE, *writer.lines, ""])
    text = re.sub(r"\n{3,}", "\n\n", text)
    output = arguments[0] if arguments else "tenon.hpp"
    if output == "-":
        sys.stdout.write(text)
    else:
        pathlib.Path(output).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
