#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what tends to grow, and compares it with the limits of budgets.txt.

usage: budgets.py COMMAND [-v] [OPTION...] [NAME...]
  check       fails where a figure is above its limit, has none, or is so far below that the limit is to be lowered
  report      prints measured beside limit; -v also the calls of each way as a tree, with their places
  update      lowers limits, adds those of new figures and removes those of figures that are gone; raises none
  NAME        the figures of that name or below it, such as ways, ways/clone, lines/tensor
  --compiler  g++ by default: the limits but for lines/ and headers/ are for GCC 12 on x86-64, skipped with another one
  --include   the folder of the headers
  --partners  where ExecuTorch was fetched to
  --stages    build/stages.txt, which scripts/test.sh writes: lines "stage seconds". With it the figures of stages/ are
              measured; after a run of CI, `update stages --stages build/stages.txt` adds those that have no limit

lines/    lines of code: what has more than white space once comments are taken away. Of a folder of include/tenon with
          all folders below it, except APART; "." are the files beside the folders. In lines/tests the code of tests/:
          of C++, Python, CMake and sh.
headers/  files of C++ in that folder
ways/     the way of one call through functions of tenon, at -O0: how many are entered, how deep they are nested, in how
          many files they are, and how often the next one is in another file
weight/   what tests/builds/weight/weigh.py measures
include/  processor time of <tenon/tenon.h> in that of std_headers.cpp, and in that of ExecuTorch's header of its tensors:
          the median of pairs of runs, since the best of each moves by a tenth on a busy machine. In include/tensor_ptr/
          of <tenon/tensor_ptr.h>
stages/   processor seconds of a stage of CI. Those above their limit are said, and are no failure: the seconds depend on
          the machine, and on what ccache has.
"""

import argparse
import collections
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import typing

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TABLE = HERE / "budgets.txt"
sys.path[:0] = [str(ROOT / "tests" / "builds" / "weight")]

import weigh  # noqa: E402

APART = ["backend/cuda", "compat/executorch_headers"]
TOGETHER = ["core", "tensor", "kernels", "backend", "exchange"]

# The room that `update` leaves above a figure, as a part of it. Below LEAST of it a limit is to be lowered. Times move with
# what else a machine does.
ROOM, INCLUDE_ROOM, TIME_ROOM = 0.01, 0.12, 0.1
LEAST, TIME_LEAST = 0.97, 0.8


class Figure(typing.NamedTuple):
    """A measured value; None where this machine lacks what it takes."""
    name: str
    value: typing.Union[int, float, None]
    what: str
    details: tuple = ()  # lines that -v prints


class Limit(typing.NamedTuple):
    """A row of budgets.txt."""
    value: typing.Union[int, float]
    what: str


# --- Lines ----------------------------------------------------------------------------------------

# Literals come first, since what looks like a comment in them is none.
LITERAL_OR_COMMENT = re.compile(r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"' r"|(?<!\w)'(?:\\.|[^'\\\n])+'"
                                r"|(?P<comment>//[^\n]*|/\*(?:.|\n)*?\*/)")
CPP = (".h", ".cuh", ".cpp", ".cu", ".in")
HASH = (".py", ".txt", ".cmake", ".sh")


def code_lines(text, suffix):
    """The lines of code of a file with that suffix."""
    if suffix in CPP:
        text = LITERAL_OR_COMMENT.sub(
            lambda match: "\n" * match.group().count("\n") if match.group("comment") else match.group(), text)
        return sum(bool(line.strip()) for line in text.splitlines())
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines())


def folder_of(path):
    """The row in which a header, given by its path in include/tenon, is counted."""
    apart = [folder for folder in APART if path.startswith(folder)]
    return apart[0] if apart else path.split("/")[0] if "/" in path else "."


def is_code_of_tests(path):
    return path.suffix in CPP + HASH and (path.suffix != ".txt" or path.name == "CMakeLists.txt")


def headers_of(include):
    """Yields (the folder in which it is counted, the file) of each header."""
    top = include / "tenon"
    for path in top.rglob("*"):
        if path.suffix in CPP and "executorch_headers" not in path.parts:  # whose files include one other each
            yield folder_of(path.relative_to(top).as_posix()), path


def measure_lines(options):
    lines = collections.Counter()
    for folder, path in headers_of(options.include):
        lines[folder] += code_lines(path.read_text(encoding="utf-8"), path.suffix)
    for folder in lines:
        yield Figure(f"lines/{folder}", lines[folder], f"lines of code in include/tenon/{folder}")
    yield Figure("lines/together", sum(lines[folder] for folder in TOGETHER), " + ".join(TOGETHER))
    yield Figure("lines/all", sum(lines.values()), "lines of code in include/tenon")
    tests = [path for path in (options.include.parent / "tests").rglob("*") if is_code_of_tests(path)]
    yield Figure("lines/tests", sum(code_lines(path.read_text(encoding="utf-8"), path.suffix) for path in tests),
                 "lines of code in tests")


def measure_headers(options):
    headers = collections.Counter(folder for folder, _ in headers_of(options.include))
    for folder in headers:
        yield Figure(f"headers/{folder}", headers[folder], f"headers in include/tenon/{folder}")
    yield Figure("headers/all", sum(headers.values()), "headers in include/tenon")


# --- Ways -----------------------------------------------------------------------------------------

class Call(typing.NamedTuple):
    """A function that a way enters: how many of tenon's are around it, its name, its file in include/tenon, the line."""
    depth: int
    function: str
    file: str
    line: int


def read_ways(output, places):
    """{name of a way: its calls} of what ways.cpp printed; `places` has function, file and line of addresses. Functions
    that are not in it are not tenon's: what they call counts as called by their caller."""
    ways, around = {}, []
    for line in output.splitlines():
        if line.startswith("0x"):
            is_ours = line in places
            if is_ours:
                calls.append(Call(sum(around), *places[line]))
            around.append(is_ours)
        elif line == "-":
            around.pop()
        elif line == "too long":
            raise ValueError("ways.cpp: kMost is too small")
        else:
            calls, around = ways.setdefault(line, []), []
    return ways


OPERATOR = re.compile(r"\boperator(?:\(\)|\[\]|<=>|<<=?|>>=?|->\*?|[<>]=?| (?:new|delete)(?:\[\])?| [^(]+(?=\())")
NOISE = re.compile(r"\btenon::|\b(?:v\d\w*|detail|detail_values)::|\(anonymous namespace\)::")


def short_name(function):
    """A demangled function with its class, without namespaces, template arguments, parameters and return type."""
    operators = []

    def hide(match):
        operators.append(match.group())
        return f"operator{len(operators) - 1}"

    function = OPERATOR.sub(hide, NOISE.sub("", function))
    name, depth = "", 0
    for letter in function:
        depth -= letter in ")>]}"
        if depth == 0 and letter not in "()<>[]{}":
            name += letter
        depth += letter in "([{<"
    words = [word for word in name.split() if word not in ("const", "&", "&&")]
    name = words[-1].replace("::::", "::lambda::") if words else function
    return re.sub(r"\boperator(\d+)", lambda match: operators[int(match.group(1))], name)


def find_places(program, addresses, include):
    """{address: (function, file, line)} of the functions of include/tenon."""
    top = include / "tenon"
    places = subprocess.run(["addr2line", "-C", "-f", "-e", program], input="\n".join(addresses), check=True,
                            capture_output=True, text=True).stdout.splitlines()
    found = {}
    for address, function, place in zip(addresses, places[::2], places[1::2]):
        file, line = re.match(r"(.*):(\d+|\?)", place).groups()
        if pathlib.Path(file).is_relative_to(top):
            found[address] = short_name(function), pathlib.Path(file).relative_to(top).as_posix(), int(line)
    return found


def find_ways(options):
    """{name: calls} of the calls in ways.cpp."""
    with tempfile.TemporaryDirectory() as folder:
        program = str(pathlib.Path(folder, "ways"))
        subprocess.run([options.compiler, "-std=c++17", "-O0", "-g", "-finstrument-functions", "-no-pie",
                        f"-I{options.include}", str(HERE / "ways.cpp"), "-o", program], check=True)
        output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        addresses = sorted({line for line in output.splitlines() if line.startswith("0x")})
        return read_ways(output, find_places(program, addresses, options.include))


def measure_ways(options):
    for name, calls in find_ways(options).items():
        files = [call.file for call in calls]
        yield Figure(f"ways/{name}/calls", len(calls), "functions that are entered", tuple(draw_way(calls)))
        yield Figure(f"ways/{name}/depth", 1 + max(call.depth for call in calls), "functions that are nested")
        yield Figure(f"ways/{name}/files", len(set(files)), "files that have them")
        yield Figure(f"ways/{name}/crossings", sum(a != b for a, b in zip(files, files[1:])),
                     "calls whose file is not that of the call before")


def draw_way(calls):
    """A line for each call, indented by its depth; ">" where the file is not that of the call before."""
    for before, call in zip([calls[0], *calls], calls):
        mark = ">" if call.file != before.file else " "
        yield f"{mark} {'  ' * call.depth}{call.function}  {call.file}:{call.line}"


# --- Weight, time, stages -------------------------------------------------------------------------

def is_within(name, value, limits):
    """Whether a time need not be measured again."""
    return name in limits and value <= limits[name].value


def measure_weight(options):
    def is_enough(name, value):
        return is_within(f"weight/{name}", value, options.limits)

    for name, value, what in weigh.measure(options.compiler, options.include, is_enough):
        yield Figure(f"weight/{name}", value, what)


def measure_include(options):
    flags = [options.compiler, "-std=c++17", "-fsyntax-only"]
    headers = {"": "tenon/tenon.h", "tensor_ptr/": "tenon/tensor_ptr.h"}
    ours = {name: [*flags, f"-I{options.include}", "-x", "c++", "-include", header, "/dev/null"]
            for name, header in headers.items()}
    times = {"std": [*flags, str(HERE / "std_headers.cpp")]}
    executorch = options.partners / "executorch" / "executorch" / "include"
    header = "executorch/extension/tensor/tensor.h"
    if (executorch / header).exists():
        times["executorch"] = [
            *flags, "-DC10_USING_CUSTOM_GENERATED_MACROS", "-isystem", str(executorch), "-isystem",
            str(executorch / "executorch/runtime/core/portable_type/c10"), "-x", "c++", "-include", header, "/dev/null"]
    rounds = []
    for number in range(1, 22):  # side by side, and the middle one, since other programs may run meanwhile
        rounds.append({name: weigh.compile_seconds(command) for name, command in {**ours, **times}.items()})
        ratios = {our + name: round(statistics.median(seconds[our] / seconds[name] for seconds in rounds), 2)
                  for our in ours for name in times}
        if number >= 9 and all(is_within(f"include/{name}", value, options.limits) for name, value in ratios.items()):
            break
    for our, included in headers.items():
        yield Figure(f"include/{our}std", ratios[our + "std"], f"time of <{included}> in that of std_headers.cpp")
        yield Figure(f"include/{our}executorch", ratios.get(our + "executorch"),
                     f"time of <{included}> in that of <{header}>")


def measure_stages(options):
    for line in options.stages.read_text(encoding="utf-8").splitlines():
        stage, seconds = line.split()
        yield Figure(f"stages/{stage}", int(seconds), "processor seconds in scripts/test.sh --all")


MEASURES = {"lines": measure_lines, "headers": measure_headers, "ways": measure_ways, "weight": measure_weight,
            "include": measure_include, "stages": measure_stages}
FOR_ONE_COMPILER = ["ways", "weight", "include"]


# --- The table ------------------------------------------------------------------------------------

def group_of(name):
    return name.split("/")[0]


def read_table(text):
    """({name: Limit}, the comment at its head)."""
    limits, head = {}, []
    for line in text.splitlines():
        if line.startswith("#"):
            head.append(line)
        elif line.strip():
            name, value, what = line.split(maxsplit=2)
            if name in limits:
                raise ValueError(f"budgets.txt has {name} twice")
            limits[name] = Limit(float(value) if "." in value else int(value), what)
    return limits, head


def write_table(limits, head):
    """The rows sorted, so that the table does not depend on who updates it."""
    lines, before = list(head), None
    for name in sorted(limits):
        if group_of(name) != before:
            lines.append("")
        before = group_of(name)
        lines.append(f"{name:34} {limits[name].value:>7}  {limits[name].what}")
    return "\n".join(lines) + "\n"


def is_time(name):
    return name.startswith(("include/", "stages/")) or name.endswith("/compile")


def with_room(name, value):
    """The limit that a figure gets."""
    if not is_time(name):
        return value + int(value * ROOM)
    return round(value * (1 + (INCLUDE_ROOM if name.startswith("include/") else TIME_ROOM)), 2)


def is_loose(name, value, limit):
    """Whether the limit is to be lowered."""
    return value < limit * (TIME_LEAST if is_time(name) else LEAST)


def is_wanted(name, wanted):
    return not wanted or any(name == prefix or name.startswith(prefix.rstrip("/") + "/") for prefix in wanted)


def gone(figures, limits, wanted):
    """The wanted rows whose group was measured, and they were not."""
    measured, groups = {figure.name for figure in figures}, {group_of(figure.name) for figure in figures}
    return [name for name in limits if is_wanted(name, wanted) and group_of(name) in groups and name not in measured]


def judge(figures, limits, wanted):
    """Yields (whether it is a failure, the sentence) where figures and limits do not fit."""
    for name, value, *_ in figures:
        if value is None:
            continue
        if name not in limits:
            yield True, f"{name} is {value} and has no limit: budgets.py update adds it"
            continue
        limit = limits[name].value
        if value > limit:
            yield not name.startswith("stages/"), (
                f"{name} is {value}, above its limit of {limit}: lessen it, or raise the limit in {TABLE.name} in a commit "
                "that says why")
        elif is_loose(name, value, limit):
            yield not is_time(name), f"{name} is {value}, well below its limit of {limit}: budgets.py update lowers it"
    for name in gone(figures, limits, wanted):
        yield True, f"{name} has a limit and is not measured anymore: budgets.py update removes it"


def update(figures, limits, wanted):
    """The limits after an update. Those that were not measured stay."""
    updated = dict(limits)
    for name in gone(figures, limits, wanted):
        del updated[name]
    for name, value, what, *_ in figures:
        if value is not None and (name not in limits or is_loose(name, value, limits[name].value)):
            updated[name] = Limit(with_room(name, value), what)
    return updated


# --- The program ----------------------------------------------------------------------------------

def print_report(figures, limits, with_details):
    for name, value, what, details in figures:
        limit = limits[name].value if name in limits else "-"
        print(f"{name:34} {'-' if value is None else value:>7}  limit {limit:>7}  {what}")
        if with_details:
            print(*details, sep="\n", end="\n" if details else "")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["check", "report", "update"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--include", type=pathlib.Path, default=ROOT / "include")
    parser.add_argument("--partners", type=pathlib.Path, default=ROOT / "build" / "partners")
    parser.add_argument("--stages", type=pathlib.Path)
    options = parser.parse_intermixed_args(arguments)
    options.include = options.include.resolve()
    options.limits, head = read_table(TABLE.read_text(encoding="utf-8"))

    groups = {group_of(name) for name in options.names} or {*MEASURES} - ({"stages"} if not options.stages else set())
    if "stages" in groups and not options.stages:
        parser.error("stages needs --stages build/stages.txt, which scripts/test.sh writes")
    if any(group in FOR_ONE_COMPILER for group in groups) and not weigh.is_the_compiler(options.compiler):
        print("tenon: skipped: the limits of ways, weight and times are for GCC 12 on x86-64")
        groups -= {*FOR_ONE_COMPILER}
    if not groups:
        return 77
    figures = [figure for group in MEASURES if group in groups for figure in MEASURES[group](options)
               if is_wanted(figure.name, options.names)]

    if options.command == "update":
        updated = update(figures, options.limits, options.names)
        TABLE.write_text(write_table(updated, head), encoding="utf-8")
        options.limits = updated
    print_report(figures, options.limits, options.verbose)
    faults = list(judge(figures, options.limits, options.names))
    for is_failure, sentence in faults:
        print(sentence if is_failure else f"warning: {sentence}")
    return 1 if options.command == "check" and any(is_failure for is_failure, _ in faults) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
