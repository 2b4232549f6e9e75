#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lists of docs/aoti_details.md that say which of torch's C functions the headers have, and why they lack the others.

usage: aoti_operators.py check|update REPOSITORY TORCH_INCLUDE

Reads torch's declarations, aoti_torch/generated/c_shim_cpu.h and aoti_torch/c/shim*.h, and the headers' definitions. A function
that is neither defined nor in the list of reasons below is a fault, as is a page with other lists. Prints one line for each
fault and exits with 1 if there is one.
"""

import re
import sys
import textwrap
from pathlib import Path

PAGE = "docs/aoti_details.md"
BEGIN, END = "<!-- functions: written by aoti_operators.py -->\n", "<!-- end of functions -->\n"
DECLARED = re.compile(r"\b((?:aoti_torch|aoti_record|torch)_\w+)\(")
DEFINED = re.compile(r"^(?:TENON_EXPORT )?(?:[\w:]+\*? )+\*?((?:aoti|torch)_\w+)\(", re.MULTILINE)

# The first that fits a name is its reason.
REASONS = [
    (r"_backward\b|_backward_", "training"),
    (r"fused_moving_avg_obs_fq_helper", "training of quantised models"),
    (r"to_sparse", "sparse tensors"),
    (r"mkldnn|_linear_pointwise|_mkl_linear|_q(linear|conv)|wrapped_(linear|quantized|fbgemm)|int4pack|dyn_quant",
     "weights packed for one library's kernels"),
    (r"fused_attention_overrideable|_scaled_dot_product_(efficient|flash)_attention(_v2)?$|cuda|sycl|stream|guard|_xpu|_mps",
     "other devices"),
    (r"c10d", "several processes"),
    (r"ivalue|c10_value", "profiling of kernel launches"),
    (r"print_tensor|save_tensor|record_function", "printing, saving and profiling of intermediate tensors"),
    (r"pyobject|current_device_index", "Python and other devices"),
    (r"^aoti_torch_(addmm_out|bmm_out|mm_out|convolution|_scaled_mm(_v2)?)$", "an older name, which torch 2.13 and later do not call"),
]


def declared(include):
    """Names by the file that declares them."""
    folder = include / "torch/csrc/inductor/aoti_torch"
    found = {}
    for kind, files in (("generated/c_shim_cpu.h", ["generated/c_shim_cpu.h"]), ("c/shim.h", ["c/shim.h", "c/shim_cpu.h"])):
        text = "\n".join((folder / file).read_text() for file in files)
        text = re.sub(r"//.*|/\*.*?\*/|^#.*(?:\\\n.*)*", "", text, flags=re.MULTILINE)
        found[kind] = sorted(set(DECLARED.findall(text)) - {"aoti_torch_dtype"})  # a macro's
    return found


def defined(root):
    """The header of interop/ that a program includes for it, by name."""
    interop = root / "include/tenon/interop"
    found = {}
    for header in sorted(interop.glob("aoti_*.h")) + [interop / "torch_stable_shim.h"]:
        texts = [header.read_text()]
        for name in re.findall(r'#include "tenon/interop/(runtimes/\w+\.h)"', texts[0]):
            texts.append((interop / name).read_text())
        for text in texts:
            text = re.sub(r"^\s*//.*", "", text, flags=re.MULTILINE)
            for name in DEFINED.findall(text) + re.findall(r"\b(aoti_torch_(?:item|scalar_to_tensor)_)##", text):
                found.setdefault(name, header.name)
    return found


def entry(name, functions):
    """The lines of a list's entry."""
    return textwrap.wrap(f"- {name}: {', '.join(functions)}.", 100, subsequent_indent="  ", break_long_words=False)


def lists(declared_names, defined_names):
    """The text between the page's marks, and the names that have neither a definition nor a reason."""
    lines, unknown = [], []
    for kind, names in declared_names.items():
        by_header, by_reason = {}, {}
        for name in names:
            short = f"`{name.removeprefix('aoti_torch_').removeprefix('cpu_')}`"
            # A macro defines one for each type.
            header = defined_names.get(name) or defined_names.get(re.sub(r"[a-z0-9]+$", "", name))
            if header:
                by_header.setdefault(header, []).append(short)
                continue
            reason = next((reason for pattern, reason in REASONS if re.search(pattern, name)), None)
            if reason is None:
                unknown.append(name)
            else:
                by_reason.setdefault(reason, []).append(short)
        total, there = len(names), sum(map(len, by_header.values()))
        lines += [f"Of the {total} functions of `{kind}` tenon has {there}:", ""]
        for header, functions in sorted(by_header.items()):
            one = kind.startswith("c/") and header == "aoti_shim.h"
            lines += entry(f"`{header}`", [f"{len(functions)}, all that models call without a kernel"] if one else functions)
        lines += ["", "The functions for the following are not provided:", ""]
        for reason, functions in sorted(by_reason.items()):
            lines += entry(reason, functions)
        lines.append("")
    return "\n".join(lines), unknown


def main():
    command, root, include = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    made, unknown = lists(declared(include), defined(root))
    for name in unknown:
        print(f"{PAGE}: nothing defines {name}, and aoti_operators.py has no reason for that")
    page = (root / PAGE).read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    old, after = rest.split(END)
    if command == "update":
        (root / PAGE).write_text(before + BEGIN + made + END + after, encoding="utf-8")
    elif old != made:
        print(f"{PAGE}: the lists of functions are out of date: aoti_operators.py update")
    sys.exit(bool(unknown) or (command == "check" and old != made))


if __name__ == "__main__":
    main()
