#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how much of include/tenon the tests run, and writes docs/reports/coverage.md and its pictures.

usage: coverage.py [--build FOLDER] [--jobs N] [--report-only]
  --build        where the instrumented tests are built (build/coverage)
  --jobs         compilers and tests at once (all processors)
  --report-only  takes the programs and profiles that the folder has

It needs clang++ with its llvm-profdata and llvm-cov. Partners that scripts/partners.sh has not
fetched are left out, and with them what only their tests run. Why what is missing is missing is in
coverage_missing.txt: it says its form.

What counts. A line: one that has code of a function, a template's once it is instantiated; functions
that no test calls count as not run. A branch: one outcome, true or false, of one condition at one
place in a header; a || b has two conditions, a macro's conditions count where it is used. All
instantiations of a template are one. What the compiler decides, such as if constexpr, has no
branches, and ways out by an exception are none.
"""

import argparse
import collections
import fnmatch
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

from mutate import check_headers, mask

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "docs" / "pictures"))

import dark  # noqa: E402

INCLUDES = [ROOT / folder / "tenon" for folder in check_headers.INCLUDE_FOLDERS]
REVIEWED = ROOT / "scripts" / "coverage_missing.txt"
FOLDERS = (". core kernels tensor backend exchange module interop interop/files interop/libraries "
           "interop/processes compat testing allocation aten cuda environment fuzz no_error_text no_exceptions "
           "no_heap opencl openmp threads interop/libraries/aten interop/libraries/arrow interop/libraries/eigen "
           "interop/runtimes/executorch interop/libraries/mdspan interop/processes/mpi interop/files/npz "
           "interop/runtimes/onnxruntime interop/libraries/opencv interop/python interop/files/safetensors "
           "interop/runtimes/torchscript interop/libraries/xtensor")
GOALS = {"lines": 95, "branches": 90}
LEVELS = [(98, "#2f7d4f"), (95, "#7fb77e"), (90, "#e3c75f"), (80, "#dd8a3e"), (0, "#b8322a")]
# Kinds of regions in LLVM's export.
CODE, EXPANSION, SKIPPED, GAP = range(4)


# --- Build and run --------------------------------------------------------------------------------

def run(*command, **keywords):
    return subprocess.run([str(word) for word in command], check=True, **keywords)


def llvm_tool(name):
    """The tool of the clang++ that compiles: others may not read its files."""
    version = run("clang++", "-dumpversion", capture_output=True, text=True).stdout.split(".")[0]
    return f"{name}-{version}"


def build_tests(build, jobs):
    # Clang makes no coverage map of what is in a precompiled header. Without ThreadSanitizer: it reports threads that
    # still count while the counts are written.
    run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++",
        "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG",
        "-DCMAKE_CXX_FLAGS=-fprofile-instr-generate -fcoverage-mapping",
        "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", "-DTENON_HAS_TSAN=OFF", f"-DTENON_TESTS={';'.join(FOLDERS.split())}")
    run("cmake", "--build", build, "--parallel", jobs)


def run_tests(build, jobs):
    profiles = build / "profiles"
    for old in profiles.glob("*.profraw"):
        old.unlink()
    # %8m: processes of one program add up in up to eight files.
    run("ctest", "--test-dir", build, "-j", jobs, "--output-on-failure",
        env={**os.environ, "LLVM_PROFILE_FILE": f"{profiles}/%8m.profraw"})


def programs(build):
    """The programs and modules of the tests: what is executable and has a coverage map."""
    for path in sorted(build.rglob("*")):
        if (path.is_file() and os.access(path, os.X_OK) and "CMakeFiles" not in path.parts
                and b"__llvm_covmap" in path.read_bytes()):
            yield path


# --- What LLVM exports, by place ------------------------------------------------------------------

def text_of(header):
    return next(folder / header for folder in INCLUDES if (folder / header).exists()).read_text(encoding="utf-8")


@functools.lru_cache(maxsize=None)
def code_of(header):
    """A header's lines, without what is no code."""
    return mask(text_of(header)).splitlines()


def add_lines(functions, function):
    """Adds the counts of a function's lines to {header: {(begin, end): {is unused: {line: count}}}}.

    Instantiations are put together by line, not by region as LLVM does: their regions differ.
    """
    regions = [region for region in function["regions"] if region[5] == 0]
    header = header_name(function["filenames"][0])
    if not header:
        return
    begin, end = tuple(regions[0][:2]), tuple(regions[0][2:4])
    is_unused = len(regions) == 1 and regions[0][4] == 0  # by this file: its lines are not told apart
    lines = functions[header].setdefault((begin, end), {}).setdefault(is_unused, {})
    for number in range(begin[0], end[0] + 1):
        code = code_of(header)[number - 1]
        first = (number, len(code) - len(code.lstrip()) + 1)
        points = {max(first, begin)} | {tuple(region[:2]) for region in regions if region[0] == number}
        # Each has the count of the smallest region around it.
        around = [max((region for region in regions if region[7] != GAP and tuple(region[:2]) <= point < tuple(region[2:4])),
                      key=lambda region: (region[:2], [-x for x in region[2:4]]), default=None) for point in points]
        counts = [region[4] for region in around if region and region[7] != SKIPPED]
        if code.strip() and counts:
            lines[number] = max(*counts, lines.get(number, 0))


def lines_of(functions):
    """{line: count} of a header's functions. A lambda's lines are in its own function and in the one around it."""
    lines = {}
    for (begin, end), counts in sorted(functions.items(), key=lambda item: (item[0][0], [-x for x in item[0][1]])):
        for line, count in counts.get(False, counts.get(True)).items():
            inside = begin[0] < line < end[0]
            lines[line] = count if inside else max(count, lines.get(line, 0))
    return lines


def header_name(filename):
    """tensor/make.h for that header's path, None for other files."""
    path = pathlib.Path(filename)
    return next((path.relative_to(folder).as_posix() for folder in INCLUDES if path.is_relative_to(folder)), None)


def add_branches(branches, function):
    """Adds the conditions of an exported function to {header: {place: [true, false, reached]}}.

    A place is (line, column, ...), with those inside of the macros after those of the macro's use.
    """
    expansions = {region[6]: region for region in function["regions"] if region[7] == EXPANSION}
    for branch in function["branches"]:
        place, file = (branch[0], branch[1]), branch[6]
        while file in expansions:
            use = expansions[file]
            place, file = (use[0], use[1], *place), use[5]
        header = header_name(function["filenames"][file])
        if header:
            counts = branches[header].setdefault(place, [0, 0, False])
            counts[0] += branch[4]
            counts[1] += branch[5]
            counts[2] = counts[2] or is_reached(function["regions"], branch)


def is_reached(regions, branch):
    """Whether the smallest region around a condition was run."""
    begin = (branch[0], branch[1])
    around = [region for region in regions
              if region[7] == CODE and region[5] == branch[6]
              and (region[0], region[1]) <= begin < (region[2], region[3])]
    return bool(around) and max(around, key=lambda region: region[:2])[4] > 0


def measure(build):
    """{header: {line: [its count, {(place, outcome): count}]}} from the profiles of the tests that ran."""
    profile = build / "tests.profdata"
    run(llvm_tool("llvm-profdata"), "merge", "-sparse", *(build / "profiles").glob("*.profraw"), "-o", profile)
    functions, branches = collections.defaultdict(dict), collections.defaultdict(dict)
    # Program by program: what is compiled differently in two of them is added up here, not by LLVM.
    for program in programs(build):
        exported = run(llvm_tool("llvm-cov"), "export", program, f"-instr-profile={profile}",
                       capture_output=True, text=True).stdout
        for function in json.loads(exported)["data"][0]["functions"]:
            add_lines(functions, function)
            add_branches(branches, function)
    return {header: by_line(header, lines_of(functions[header]), branches[header]) for header in sorted(functions)}


def by_line(header, lines, branches):
    """The lines that have code, with their branches: those that the compiler decides are left out."""
    text = text_of(header).splitlines()
    found = {line: [count, {}] for line, count in sorted(lines.items())}
    for place, (true, false, reached) in sorted(branches.items()):
        is_constant = (reached and true + false == 0) or "if constexpr" in text[place[0] - 1]
        if not is_constant and place[0] in found:
            found[place[0]][1].update({(place, True): true, (place, False): false})
    return found


# --- What is missing, and why ---------------------------------------------------------------------

def read_reviewed(text):
    """[(why, header, pattern)] of the list of what need not be run."""
    why, rules = "", []
    for line in text.splitlines():
        if line.startswith("  "):
            header, pattern = line.split(maxsplit=1)
            rules.append((why, header, re.compile(pattern)))
        elif line.strip() and not line.startswith("#"):
            why = line.strip()
    return rules


def judge(measured, rules):
    """Yields (header, line number, its text, what is missing, why or None, the rule) of each line with a gap."""
    for header, lines in measured.items():
        text = text_of(header).splitlines()
        for number, (count, branches) in lines.items():
            outcomes = {outcome for (_, outcome), taken in branches.items() if not taken}
            if count and not outcomes:
                continue
            missing = "the line" if not count else " and ".join(str(o).lower() for o in sorted(outcomes, reverse=True))
            code = text[number - 1].strip()
            rule = next((rule for rule in rules
                         if fnmatch.fnmatch(header, rule[1]) and rule[2].search(code)), None)
            yield header, number, code, missing, rule


# --- The report -----------------------------------------------------------------------------------

def totals(lines_of_headers):
    """(lines run, lines, branches run, branches) of some headers."""
    lines = [line for lines in lines_of_headers for line in lines.values()]
    branches = [taken for _, branches in lines for taken in branches.values()]
    return (sum(count > 0 for count, _ in lines), len(lines), sum(taken > 0 for taken in branches), len(branches))


def percent(part, whole):
    return 100 if whole == 0 else 100 * part / whole


def folder_of(header):
    return header.rpartition("/")[0] or "."


def table(rows):
    text = "| | lines | run | | branches | taken | |\n|---|---:|---:|---:|---:|---:|---:|\n"
    for name, (run_lines, lines, taken, branches) in rows:
        text += (f"| {name} | {lines} | {run_lines} | {percent(run_lines, lines):.1f} % "
                 f"| {branches} | {taken} | {percent(taken, branches):.1f} % |\n")
    return text


def picture(figures):
    """A row of headers for each folder, as wide as their lines; above lines, below branches. `figures` are the
    totals() of each header. Narrow, for phones."""
    folders = collections.defaultdict(list)
    for header in figures:
        folders[folder_of(header)].append(header)
    widest = max(sum(figures[h][1] for h in headers) for headers in folders.values())
    width, left, top, row = 420, 10, 98, 58
    height, scale = top + row * len(folders), (width - 2 * left) / widest
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" fill="#222222" font-family="sans-serif" font-size="12">',
           "<title>Coverage of include/tenon by its tests</title>",
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           f'<text x="{left}" y="20" fill="#555555">A box is a header, as wide as its lines are many.</text>',
           f'<text x="{left}" y="36" fill="#555555">Above: lines that the tests run; below: branches.</text>']
    for i, (least, colour) in enumerate(LEVELS):
        x, y = left + 110 * (i % 3), 48 + 20 * (i // 3)
        out.append(f'<rect x="{x}" y="{y}" width="14" height="14" fill="{colour}"/>'
                   f'<text x="{x + 20}" y="{y + 12}">{"below 80 %" if least == 0 else f"from {least} %"}</text>')
    for number, (folder, headers) in enumerate(sorted(folders.items())):
        x, y = left, top + row * number
        name = "config.h, ostream.h" if folder == "." else f"{folder}/"
        run_lines, lines, taken, branches = (sum(column) for column in zip(*(figures[h] for h in headers)))
        out += [f'<text x="{left}" y="{y + 10}">{name}</text>',
                f'<text x="{width - left}" y="{y + 10}" text-anchor="end" fill="#555555">'
                f"lines {percent(run_lines, lines):.1f} %, branches {percent(taken, branches):.1f} %</text>"]
        for header in headers:
            run_lines, lines, taken, branches = figures[header]
            title = (f"<title>{header}: {percent(run_lines, lines):.1f} % of {lines} lines, "
                     f"{percent(taken, branches):.1f} % of {branches} branches</title>")
            for value, dy in ((percent(run_lines, lines), 15), (percent(taken, branches), 31)):
                colour = next(colour for least, colour in LEVELS if value >= least)
                out.append(f'<rect x="{x:.1f}" y="{y + dy}" width="{max(scale * lines - 1, 0.5):.1f}" '
                           f'height="15" fill="{colour}">{title}</rect>')
            x += scale * lines
    return dark.add_dark_form("\n".join([*out, "</svg>", ""]))


def report(measured, rules):
    folders = collections.defaultdict(list)
    for header, lines in measured.items():
        folders[folder_of(header)].append(lines)
    rows = [(f"`{folder}`", totals(lines)) for folder, lines in sorted(folders.items())]
    whole = totals(measured.values())
    version = run("clang++", "--version", capture_output=True, text=True).stdout.splitlines()[0]
    text = f"""# Coverage

`scripts/coverage.py` builds the tests with Clang's instrumentation, runs them and writes this page
and its picture; last with {version}.

**{percent(whole[0], whole[1]):.1f} % of the lines and {percent(whole[2], whole[3]):.1f} % of the branches** of
include/tenon are run. The goals are {GOALS["lines"]} % and {GOALS["branches"]} %; the script fails below them.

![Lines and branches of each header](coverage.svg)

## What is counted

- A line counts if it has code of a function. Functions that no test calls count as not run;
  templates count once something instantiates them. Code that only the compiler evaluates, such as
  the body of a `constexpr` function in a `static_assert`, does not run.
- A branch is one outcome, true or false, of one condition at one place of a header. `a || b` has
  two conditions, and a macro's conditions count where it is used: each `TENON_TRY` has a branch for
  the error. All instantiations of a template are one. Conditions that the compiler decides
  (`if constexpr`, constants) have none, and an exception is not a branch.
- The programs are those of the folders of tests/ that the script lists, in their plain build, with
  every partner that was fetched. CUDA runs on the simulated runtime, kernels included.
- A program that ends by a signal or `_Exit()` leaves no profile: code that runs only right
  before that counts as not run.

## By folder

{table([*rows, ("all", whole)])}
## By header

{table((f"`{header}`", totals([lines])) for header, lines in measured.items())}
## What is missing, and why

"""
    groups = collections.defaultdict(list)
    for header, number, code, missing, rule in judge(measured, rules):
        groups[rule[0] if rule else ""].append((header, number, code, missing))
    for why, gaps in sorted(groups.items(), key=lambda item: (item[0] == "", -len(item[1]))):
        text += f"{why or 'No test has these cases.'} ({len(gaps)})\n\n"
        for header, number, code, missing in gaps:
            code = code.replace("`", "'")
            text += f"- {header}:{number}, {missing}: `{code}`\n"
        text += "\n"
    return text


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "coverage")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--report-only", action="store_true")
    arguments = parser.parse_args(arguments)
    build = arguments.build.resolve()
    if not arguments.report_only:
        build_tests(build, arguments.jobs)
        run_tests(build, arguments.jobs)
    measured = measure(build)
    rules = read_reviewed(REVIEWED.read_text(encoding="utf-8"))
    (ROOT / "docs" / "reports" / "coverage.md").write_text(report(measured, rules), encoding="utf-8")
    (ROOT / "docs" / "reports" / "coverage.svg").write_text(
        picture({header: totals([lines]) for header, lines in measured.items()}), encoding="utf-8")
    run_lines, lines, taken, branches = totals(measured.values())
    print(f"lines: {run_lines} of {lines}, {percent(run_lines, lines):.1f} %; "
          f"branches: {taken} of {branches}, {percent(taken, branches):.1f} %")
    used = {rule for *_, rule in judge(measured, rules)}
    faults = [f"nothing is missing anymore: {rule[1]} {rule[2].pattern}" for rule in rules if rule not in used]
    if percent(run_lines, lines) < GOALS["lines"] or percent(taken, branches) < GOALS["branches"]:
        faults.append(f"the goals are {GOALS['lines']} % of the lines and {GOALS['branches']} % of the branches")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
