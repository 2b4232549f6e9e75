#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutation testing: makes small faults in tenon's headers and counts how many the matching tests find.

usage: mutate.py [--count N] [--seed TEXT] [--jobs N] [--only TEXT] [--build FOLDER] [--fresh]
  --count   how many mutants that compile (215), spread over the headers by their lines of code
  --seed    which (1)
  --jobs    how many at once (1)
  --only    of headers whose path contains TEXT; without it, docs/reports/mutation.md and its picture are written
  --build   where the tests are configured (build/mutants); results.json there keeps the results, and
            a mutant whose header and tests are as they were is not run again
  --fresh   forgets them

A mutant is one header with one change, in a folder that the compiler looks in first. The tests that
match the header (matching_tests) are compiled with it, alone and without optimisation, and run.
  invalid     does not compile: another one is drawn instead
  caught      a test fails, crashes or does not end
  equivalent  no test fails, and mutants_judged.txt says why none can
  survived    no test fails
"""

import argparse
import collections
import concurrent.futures
import functools
import hashlib
import json
import operator
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
UNIT = TESTS / "unit"
JUDGED = ROOT / "scripts" / "mutants_judged.txt"
sys.path.insert(0, str(TESTS / "tools" / "structure"))
sys.path.append(str(ROOT / "docs" / "pictures"))

import dark  # noqa: E402
import check_headers  # noqa: E402  (which test file belongs to a header)

FOLDERS = (". core kernels tensor backend exchange module interop interop/files interop/libraries "
           "interop/processes compat testing allocation cuda interop/libraries/arrow interop/libraries/eigen "
           "interop/runtimes/executorch interop/libraries/mdspan interop/files/npz interop/runtimes/onnxruntime "
           "interop/libraries/opencv interop/python interop/files/safetensors interop/libraries/xtensor")
# What needs libtorch's headers, which take 20 s for each mutant, and what mpirun has to start.
LEFT_OUT = re.compile(r"^tenon/(aten/|interop/(aten\.h|([a-z]+/)?(torchscript|mpi)))")
GOAL = 90  # % caught
TIMEOUT = 120  # of a test, in seconds; the slowest takes 20
# What a mutant may take, in bytes. Simulated GPUs reserve addresses of 16 GiB.
MEMORY, CUDA_MEMORY, FILE_SIZE = 4 << 30, 20 << 30, 64 << 20

# Tests of unit/ besides those at the header's path, by the header: where its behaviour is tested.
MORE_TESTS = {
    "backend/interface.h": ["backend/calls_test.cpp", "testing/backend_conformance_test.cpp", "tensor/backend_creators_test.cpp"],
    "backend/state.h": ["backend/calls_test.cpp", "testing/backend_conformance_test.cpp", "tensor/backend_lifetime_test.cpp"],
    "backend/calls.h": ["testing/backend_conformance_test.cpp", "tensor/backend_lifetime_test.cpp"],
    "backend/metadata.h": ["backend/arena_test.cpp", "tensor/backend_lifetime_test.cpp"],
    "backend/copy_between.h": ["tensor/backend_copy_test.cpp"],
    "backend/tracking.h": ["backend/tracking_report_test.cpp"],
    "backend/tracking_report.h": ["backend/tracking_test.cpp"],
    "backend/registry.h": ["tensor/backend_dispatch_test.cpp"],
    "core/error.h": ["core/keep_errno_test.cpp"],
    "core/float_bits.h": ["core/rounded_test.cpp"],
    "core/memory.h": ["core/atomic_test.cpp"],
    "core/numbers.h": ["core/complex_test.cpp"],
    "core/result.h": ["core/optional_test.cpp"],
    "core/strides.h": ["tensor/view_dims_test.cpp"],
    "exchange/assign.h": ["tensor/kept_test.cpp"],
    "exchange/dlpack_export.h": ["exchange/dlpack_test.cpp", "exchange/dlpack_foreign_test.cpp"],
    "exchange/dlpack_import.h": ["exchange/dlpack_test.cpp", "exchange/dlpack_foreign_test.cpp"],
    "exchange/dlpack_types.h": ["exchange/dlpack_check_test.cpp", "exchange/dlpack_hostile_test.cpp",
                                "exchange/dlpack_import_test.cpp"],
    "interop/files/npy_header.h": ["interop/npy_test.cpp"],
    "interop/files/npy_dtype.h": ["interop/files/npy_header_test.cpp", "interop/npy_test.cpp"],
    "interop/files/file.h": ["interop/files/file_kind_test.cpp", "interop/npy_test.cpp"],
    "interop/files/npz_reader.h": ["interop/files/npz_source_test.cpp"],
    "interop/files/safetensors_header.h": ["interop/files/safetensors_json_test.cpp"],
    "interop/libraries/arrow_types.h": ["interop/libraries/arrow_tensor_type_test.cpp"],
    "interop/runtimes/aoti_specs.h": ["interop/runtimes/aoti_inputs_test.cpp"],
    "interop/npy.h": ["tensor/kept_test.cpp"],
    "interop/processes/shm_header.h": ["interop/shm_test.cpp"],
    "interop/pybind11.h": ["interop/python/test_pybind11.py"],
    "interop/nanobind.h": ["interop/python/test_nanobind.py"],
    "interop/python/import.h": ["interop/python_test.py", "interop/python/test_numpy.py",
                                "interop/python/test_pybind11.py"],
    "interop/python/capsule.h": ["interop/python/streams_test.py"],
    "interop/python/tensor_array.h": ["interop/python/tensor_dtype_test.py"],
    "interop/python/tensor_values.h": ["interop/python/tensor_index_test.py"],
    "interop/python/tensor_memory.h": ["interop/python_test.py", "interop/python/capsule_test.py",
                                       "interop/python/test_numpy.py"],
    "interop/python/tensor_object.h": ["interop/python/tensor_type_test.py", "interop/python_test.py"],
    "interop/python/tensor_type.h": ["interop/python_test.py", "interop/python/capsule_test.py",
                                     "interop/python/test_numpy.py"],
    "kernels/cast_steps.h": ["kernels/convert_block_test.cpp"],
    "kernels/copy_elements.h": ["kernels/convert_block_test.cpp", "kernels/read_elements_test.cpp", "tensor/copy_test.cpp",
                                "kernels/normalize_test.cpp"],
    "kernels/dispatch.h": ["kernels/vector_test.cpp", "kernels/parallel_test.cpp", "kernels/copy_elements_test.cpp",
                           "kernels/transpose_test.cpp"],
    "module/outputs.h": ["tensor/kept_test.cpp"],
    "module/evalue.h": ["module/outputs_test.cpp", "module/module_test.cpp", "module/function_module_test.cpp"],
    "module/value_kind.h": ["module/evalue_test.cpp"],
    "module/module.h": ["module/method_test.cpp"],
    "interop/runtimes/onnxruntime_values.h": ["interop/onnxruntime_test.cpp"],
    "kernels/element_plan.h": ["tensor/copy_test.cpp", "tensor/copy_overlap_test.cpp"],
    "kernels/random_plan.h": ["kernels/random_bounds_test.cpp", "tensor/random_test.cpp"],
    "kernels/random_numbers.h": ["kernels/box_muller_test.cpp", "kernels/random_elements_test.cpp"],
    "tensor/contiguous.h": ["tensor/reshape_test.cpp"],
    "tensor/copy.h": ["tensor/backend_copy_test.cpp"],
    "tensor/data.h": ["tensor/tensor_ptr_values_test.cpp"],
    "tensor/deleter.h": ["tensor/tensor_ptr_test.cpp"],
    "tensor/new_tensor.h": ["exchange/dlpack_test.cpp", "tensor/tensor_ptr_test.cpp", "tensor/creators_test.cpp"],
    "tensor/handle.h": ["exchange/dlpack_test.cpp", "tensor/backend_deallocate_test.cpp", "tensor/resize_test.cpp"],
    "tensor/make.h": ["tensor/tensor_ptr_test.cpp", "tensor/tensor_ptr_values_test.cpp", "tensor/creators_test.cpp",
                      "tensor/backend_creators_test.cpp", "tensor/borrow_test.cpp",
                      "tensor/tensor_ptr_maker_test.cpp", "tensor/tensor_ptr_view_test.cpp", "tensor/view_test.cpp"],
    "tensor/location.h": ["tensor/creators_test.cpp", "tensor/backend_lifetime_test.cpp"],
    "tensor/resize.h": ["tensor/backend_lifetime_test.cpp", "tensor/kept_test.cpp"],
    "tensor/sequence.h": ["tensor/tensor_ptr_values_test.cpp"],
    "tensor/clone.h": ["tensor/transfer_test.cpp", "tensor/backend_copy_test.cpp"],
    "tensor/view.h": ["tensor/split_test.cpp", "tensor/view_parts_test.cpp"],
    "tensor/view_shape.h": ["tensor/view_test.cpp", "tensor/view_dims_test.cpp", "tensor/view_strided_test.cpp"],
}


PYTHON_MODULES = {"test_pybind11.py": UNIT / "interop/pybind11_test.cpp",
                  "test_nanobind.py": UNIT / "interop/nanobind_test.cpp"}
# Those of all headers of these folders: they make every allocation of every function fail, and count them.
ALLOCATION_TESTS = sorted((TESTS / "stress" / "allocation").glob("*_test.cpp"))
ALLOCATING = ("core", "kernels", "backend", "tensor", "exchange", "module")

# --- Mutants --------------------------------------------------------------------------------------

SWAPS = {old: (new, kind) for kind, pairs in {
    "a comparison": "< <=  <= <  > >=  >= >  == !=  != ==",
    "arithmetic": "+ -  - +  * /  / *  % *  += -=  -= +=  << >>  >> <<  & |  | &",
    "and or or": "&& ||  || &&"}.items() for old, new in map(str.split, pairs.split("  "))}
# As clang-format spaces them: template arguments, pointers and references have no space on one side.
BINARY = re.compile(r"(?<= )(" + "|".join(sorted(map(re.escape, SWAPS), key=len, reverse=True)) + r")(?=[ \n])")
STEP = re.compile(r"\+\+|--")
INTEGER = re.compile(r"(?<![\w.'])(\d+)(?![\w.'>])")  # not std::enable_if_t<..., int> = 0>
BOOLEAN = re.compile(r"\b(true|false)\b")
ERROR = re.compile(r"\bError::(\w+)\b(?=[;,)])")
CONDITION = re.compile(r"\bif \(")
CALL = re.compile(r"^ +(?!return\b|if\b|while\b|for\b|switch\b)[\w:.]+(?:->[\w:.]+)*\(", re.MULTILINE)
ASSIGNMENT = re.compile(r"^ +\*?[\w.:>\[\]-]+ (?:[+|&-]|<<|>>)?= ", re.MULTILINE)
# In this order: a string may have a comment's beginning in it.
HIDDEN = re.compile(r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"' r"|(?<![\w])'(?:\\.|[^'\\\n])+'"
                    r"|//[^\n]*|/\*(?:.|\n)*?\*/|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)

ELSEWHERE = re.compile(r"^#if (?:defined\(__CUDA_ARCH__\)|TENON_ATEN_MODE)\n(?:(?!#).*\n)*", re.MULTILINE)


def mask(text):
    """The text with comments, literals, preprocessor lines, static_asserts and what only nvcc or ATen mode
    compiles blanked, as long as before."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match if isinstance(match, str) else match.group())
    code = HIDDEN.sub(blank, text)
    for match in list(ELSEWHERE.finditer(text)):
        code = code[:match.start()] + blank(match) + code[match.end():]
    for match in list(re.finditer(r"\bstatic_assert\(", code)):
        end = closing(code, match.end() - 1) + 1
        code = code[:match.start()] + blank(code[match.start():end]) + code[end:]
    return code


def closing(code, begin):
    """Where the bracket at `begin` is closed."""
    depth = 0
    for at in range(begin, len(code)):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth == 0:
            return at
    raise ValueError(f"no closing bracket: {code[begin:begin + 60]}")


class Mutant(typing.NamedTuple):
    """A change of a header's text from `begin` to `end`."""
    begin: int
    end: int
    replacement: str
    kind: str


def mutants_of(text):
    """All mutants of a header."""
    code = mask(text)
    for match in BINARY.finditer(code):
        yield Mutant(*match.span(), *SWAPS[match.group()])
    for match in STEP.finditer(code):
        yield Mutant(*match.span(), "--" if match.group() == "++" else "++", "arithmetic")
    for match in INTEGER.finditer(code):
        yield Mutant(*match.span(), str(int(match.group()) + 1), "a number plus 1")
    for match in BOOLEAN.finditer(code):
        yield Mutant(*match.span(), "false" if match.group() == "true" else "true", "true or false")
    for match in ERROR.finditer(code):
        yield Mutant(*match.span(), "Error::InvalidState" if match.group(1) == "Internal" else "Error::Internal",
                     "another error")
    for match in CONDITION.finditer(code):
        end = closing(code, match.end() - 1)
        begin = code.rfind(";", match.end(), end) + 1 or match.end()  # behind an initialiser
        begin += text[begin] == " "
        yield Mutant(begin, end, f"!({text[begin:end]})", "a condition negated")
    for match in CALL.finditer(code):
        yield from deletion(code, match, closing(code, match.end() - 1) + 1)
    for match in ASSIGNMENT.finditer(code):
        yield from deletion(code, match, code.find(";", match.end()))


def deletion(code, match, end):
    """The mutant without the statement up to the semicolon at `end`, if it is one."""
    before = code[:match.start()].rstrip()[-1:]
    if before in (";", "{", "}", ")") and code[end:end + 1] == ";":
        begin = match.start() + len(match.group()) - len(match.group().lstrip())
        yield Mutant(begin, end, "", "a statement deleted")


def lines_of(text, mutant):
    """The number of the first line that a mutant changes, these lines before and after, each as one."""
    begin, end, replacement, _ = mutant
    first = text.rfind("\n", 0, begin) + 1
    last = text.find("\n", end)
    old = " ".join(text[first:last].split())
    new = " ".join((text[first:begin] + replacement + text[end:last]).split())
    return text.count("\n", 0, begin) + 1, old, new


def draw_order(header, text, seed):
    """A header's mutants by a hash of what they change, so that a change elsewhere moves none."""
    seen, keyed = collections.Counter(), []
    for mutant in mutants_of(text):
        _, old, new = lines_of(text, mutant)
        seen[old, new] += 1
        key = f"{seed}\n{header}\n{old}\n{new}\n{seen[old, new]}"
        keyed.append((hashlib.sha256(key.encode()).hexdigest(), mutant))
    return [mutant for _, mutant in sorted(keyed)]


def code_lines(text):
    return sum(1 for line in mask(text).splitlines() if line.strip())


def quotas(weights, count):
    """`count` in proportion to the weights, by largest remainders."""
    total = sum(weights.values())
    shares = {name: count * weight / total for name, weight in weights.items()}
    result = {name: int(share) for name, share in shares.items()}
    largest = sorted(shares, key=lambda name: (result[name] - shares[name], name))
    for name in largest[:count - sum(result.values())]:
        result[name] += 1
    return result


def read_judged(text):
    """The judged mutants {(header, old, new): why}: paragraphs of header, "- old", "+ new" and why."""
    judged = {}
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.strip().splitlines() if not line.startswith("#")]
        if not lines:
            continue
        header, old, new, *why = lines
        if not old.startswith("- ") or not new.startswith("+ ") or not why:
            raise ValueError(f"not header, - old, + new, why: {paragraph}")
        judged[header, old[2:], new[2:]] = " ".join(why)
    return judged


# --- Tests ----------------------------------------------------------------------------------------

def matching_tests(header):
    """A header's tests: at its path, those named after it (copy_overlap_test for copy.h), and more."""
    path = ROOT / check_headers.test_path(header)
    if header.startswith("tenon/backend/cuda"):
        path = UNIT / "cuda" / path.name
        more = sorted(file for file in (UNIT / "cuda").glob("*_test.cpp") if not file.name.startswith("simulated"))
    else:
        folder, stem = check_headers.header_path(ROOT, header).parent, path.name.removesuffix("_test")
        longer = [other.stem for other in folder.glob(f"{stem}_*.h")]  # tensor_ptr_values is tensor_ptr.h's
        more = [file for file in sorted(path.parent.glob(f"{stem}_*_test.cpp"))
                if not any(f"{file.stem}_".startswith(f"{other}_") for other in longer)]
    files = [path.with_name(path.name + suffix) for suffix in (".cpp", ".py")] + more
    name = header.removeprefix("tenon/")
    files += [UNIT / test for test in MORE_TESTS.get(name, [])]
    if name.startswith(ALLOCATING) and not name.startswith("backend/cuda"):
        files += ALLOCATION_TESTS
    return list(dict.fromkeys(file for file in files if file.exists()))


class Builder:
    """Builds and runs one test file with a changed header, as CMake and Ninja would."""

    def __init__(self, build):
        self.build = build
        # No precompiled headers: the changed one would be in them as it was. And one test file at a time.
        subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                        "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", "-DCMAKE_UNITY_BUILD=OFF",
                        "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG",
                        f"-DTENON_TESTS={';'.join(FOLDERS.split())}"],
                       check=True, stdout=subprocess.DEVNULL)
        commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
        self.commands = {}
        for command in commands:
            self.commands.setdefault(pathlib.Path(command["file"]), command)
        ctest = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True,
                               capture_output=True, text=True).stdout
        self.python = {}  # by a test file in Python: command and environment
        for test in json.loads(ctest)["tests"]:
            for word in test.get("command", []):
                if word.endswith(".py") and TESTS in pathlib.Path(word).parents:
                    properties = {item["name"]: item["value"] for item in test["properties"]}
                    environment = dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", []))
                    self.python[pathlib.Path(word)] = test["command"], environment

    def can(self, test):
        is_module = test in PYTHON_MODULES.values()  # which a test in Python imports
        return not is_module and test in (self.python if test.suffix == ".py" else self.commands)

    @staticmethod
    def sources(test):
        """What a test is compiled of, with the changed header."""
        if test.suffix == ".py":
            return [PYTHON_MODULES.get(test.name, UNIT / "interop/python/module.cpp")]
        kernels = UNIT / "cuda" / "kernels_test.cpp"  # which has the kernels that the others call
        return [test, kernels] if test.parent == kernels.parent and test != kernels else [test]

    def output(self, source):
        words = shlex.split(self.commands[source]["command"])
        return words[words.index("-o") + 1]

    @functools.lru_cache(maxsize=None)
    def link_command(self, source):
        """The command that links the program of a source file, without its object and those of other tests."""
        output = self.output(source)
        program = re.search(r"/(\w+)\.dir/", output).group(1)
        listed = subprocess.run(["ninja", "-C", self.build, "-t", "commands", program], check=True,
                                capture_output=True, text=True).stdout
        link = listed.strip().splitlines()[-1].removeprefix(": && ").removesuffix(" && :")
        words = [word for word in shlex.split(link)
                 if word != output and not re.search(r"(_test|/tenon)\.cpp\.o$", word)]
        needs = [word for word in words if re.match(r"tests/.*\.(o|a)$", word)]
        if source in PYTHON_MODULES.values():
            needs.append("tenon_test_module")  # which their tests import too
        if needs:  # else Ninja would build all
            subprocess.run(["ninja", "-C", self.build, *needs], check=True, stdout=subprocess.DEVNULL)
        return words

    def run(self, test, overlay, folder):
        """"passed", "invalid", or how the test failed, with the headers in `overlay` first."""
        objects = []
        for source in self.sources(test):
            compiler, *flags = shlex.split(self.commands[source]["command"])
            flags = [flag for flag in flags if flag not in ("-DTENON_COMPILED", "-MD")]
            for option in ("-o", "-c", "-MT", "-MF"):
                if option in flags:
                    at = flags.index(option)
                    del flags[at:at + 2]
            objects.append(folder / f"{source.stem}.o")
            compile_it = [compiler, f"-I{overlay}", *flags, "-O0", "-w", "-c", source, "-o", objects[-1]]
            if self.call(compile_it, self.build)[0] != 0:
                return "invalid"
        linker, *words = self.link_command(self.sources(test)[0])
        at = words.index("-o") + 1
        program = folder / pathlib.Path(words[at]).name
        words[at] = program
        if self.call([linker, *objects, *words], self.build)[0] != 0:
            return "invalid"
        command, environment = [program, "--abort"], {}
        if test.suffix == ".py":
            command, environment = self.python[test]
            environment = {**environment, "PYTHONPATH": f"{folder}:{environment['PYTHONPATH']}"}
        memory = CUDA_MEMORY if test.parent.name == "cuda" else MEMORY
        code, _ = self.call(command, folder, TIMEOUT, environment, memory)
        if code == 0:
            return "passed"
        return "does not end" if code is None else signal.strsignal(-code) if code < 0 else "fails"

    @staticmethod
    def call(command, folder, timeout=None, environment=(), memory=None):
        """Runs a command; its exit code, None after the timeout, and its output."""
        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
            resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error for tests that ask for too much, not their end
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        process = subprocess.Popen([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   env={**os.environ, **dict(environment)}, start_new_session=True,
                                   preexec_fn=limit if memory else None)
        try:
            text, _ = process.communicate(timeout=timeout)
            return process.returncode, text
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""


# --- The run --------------------------------------------------------------------------------------

class Results:
    """What was found, by a fingerprint of what it is about; kept in a file."""

    def __init__(self, path, fresh):
        self.path = path
        self.known = {} if fresh or not path.exists() else json.loads(path.read_text(encoding="utf-8"))
        self.used = {}

    def get(self, key, is_valid, find):
        """What is known and valid, or else found."""
        if key not in self.known or not is_valid(self.known[key]):
            self.known[key] = find()
            self.path.write_text(json.dumps(self.known, indent=1), encoding="utf-8")
        self.used[key] = self.known[key]
        return self.used[key]


def fingerprint(*parts):
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:20]


def check_unchanged(builder, test, headers, results):
    """Ends the program if a test does not pass without a change: what it found would be no finding."""
    def find():
        with tempfile.TemporaryDirectory() as folder:
            return builder.run(test, ROOT / "include", pathlib.Path(folder))
    found = results.get(fingerprint(test, test.read_text(encoding="utf-8"), *headers.values()),
                        lambda found: True, find)
    if found != "passed":
        sys.exit(f"{test.relative_to(ROOT)} without a change: {found}")


def try_mutant(builder, header, text, mutant, tests):
    """Runs the tests in turn, until one finds the mutant."""
    begin, end, replacement, _ = mutant
    line, old, new = lines_of(text, mutant)
    result = {"header": header, "line": line, "old": old, "new": new, "state": "survived", "by": "", "how": ""}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        overlay = pathlib.Path(temporary, "include")
        changed = overlay / header
        changed.parent.mkdir(parents=True)
        changed.write_text(text[:begin] + replacement + text[end:], encoding="utf-8")
        for test in tests:
            folder = pathlib.Path(temporary, "run")
            folder.mkdir(exist_ok=True)
            found = builder.run(test, overlay, folder)
            if found != "passed":
                state = "invalid" if found == "invalid" else "caught"
                result.update(state=state, by=test.relative_to(TESTS).as_posix(), how=found)
                break
    result["seconds"] = round(time.monotonic() - began, 1)
    result["tests"] = text_of_tests(result, tests)
    return result


def text_of_tests(result, tests):
    """A fingerprint of the tests that a result depends on."""
    used = [TESTS / result["by"]] if result["by"] else tests
    return fingerprint(*(test.read_text(encoding="utf-8") for test in used))


def test_header(builder, header, headers, wanted, arguments, results):
    """`wanted` mutants of one header that compile; fewer if it has no more."""
    text = headers[header]
    tests = [test for test in matching_tests(header) if builder.can(test)]

    def is_valid(result):  # while the tests are as they were: the one that found it, or all
        is_among = not result["by"] or TESTS / result["by"] in tests
        return is_among and result["tests"] == text_of_tests(result, tests)

    counted = []
    for mutant in draw_order(header, text, arguments.seed):
        if len(counted) == wanted:
            break
        result = results.get(fingerprint(header, *mutant[:3], text), is_valid,
                             functools.partial(try_mutant, builder, header, text, mutant, tests))
        result = {**result, "kind": mutant.kind}
        if result["by"]:
            check_unchanged(builder, TESTS / result["by"], headers, results)
        if result["state"] != "invalid":
            counted.append(result)
            print(f"{result['state']:9} {header}:{result['line']}: {result['old']}  ->  {result['new']}"
                  f"  [{result['by']} {result['how']}, {result['seconds']} s]", flush=True)
    return counted


def judge(result, judged):
    """A mutant's result, with what was judged of one that survived: "Equivalent: " and why, or what it means."""
    why = judged.get((result["header"].removeprefix("tenon/"), result["old"], result["new"]), "")
    if result["state"] == "survived" and why.startswith("Equivalent: "):
        return {**result, "state": "equivalent", "why": why}
    return {**result, "why": why}


# --- The report -----------------------------------------------------------------------------------

STATES = {"caught": "#2f7d4f", "equivalent": "#b9b9b9", "survived": "#b8322a"}


def counts_by(found, key):
    counts = collections.defaultdict(collections.Counter)
    for result in found:
        counts[key(result)][result["state"]] += 1
    return dict(sorted(counts.items()))


def score(counts):
    return 100 * counts["caught"] / max(counts["caught"] + counts["survived"], 1)


def picture(panels):
    """Bars of the mutants by folder and by kind: `panels` are their counts by name. Narrow, for phones."""
    width, left, row, top = 420, 138, 22, 44
    widest = max(sum(counts.values()) for panel in panels for counts in panel.values())
    scale, height = (width - left - 50) / widest, top + row * sum(len(panel) + 1 for panel in panels)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" fill="#222222" font-family="sans-serif" font-size="12">',
           "<title>Mutants of include/tenon</title>", f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    x = 10
    for state, colour in STATES.items():
        out.append(f'<rect x="{x}" y="14" width="14" height="14" fill="{colour}"/>'
                   f'<text x="{x + 20}" y="26">{state}</text>')
        x += 110
    y = top
    for panel in panels:
        for name, counts in panel.items():
            out.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{name}</text>')
            x = left
            for state, colour in STATES.items():
                if counts[state]:
                    out.append(f'<rect x="{x:.1f}" y="{y}" width="{scale * counts[state]:.1f}" height="17" '
                               f'fill="{colour}"/>')
                x += scale * counts[state]
            out.append(f'<text x="{x + 6:.1f}" y="{y + 13}" fill="#555555">{score(counts):.0f} %</text>')
            y += row
        y += row
    return dark.add_dark_form("\n".join([*out, "</svg>", ""]))


def folder_of(result):
    return result["header"].removeprefix("tenon/").rpartition("/")[0] or "."


def report(found, seed):
    totals = collections.Counter(result["state"] for result in found)
    how = collections.Counter("fails" if result["how"] == "fails" else "does not end" if result["how"] == "does not end"
                              else "crashes" for result in found if result["state"] == "caught")
    text = f"""# Mutation testing

`scripts/mutate.py` makes small faults in the headers, compiles the tests that match the header with
each of them, and counts how many the tests find. It writes this page and its picture. The figure
is that of a sample: it says nothing of other kinds of faults, nor of the headers that are left out.

**{score(totals):.1f} % caught**: {sum(totals.values())} mutants, {totals["caught"]} caught, {totals["survived"]} survived,
{totals["equivalent"]} that behave as before, which do not count. The goal is 90 %; the script fails below it.

![Mutants by folder and by kind](mutation.svg)

- The mutants are drawn by a hash of the changed line and a seed ({seed}), from each header in
  proportion to its lines of code. Kinds: a comparison, an arithmetic, bit or logical operator is
  another one; a condition is negated; a number is one more; true is false; an error is another one; a
  call or an assignment is deleted. Comments, texts, preprocessor lines and `static_assert`s are
  not changed. A fault that does not compile is not counted.
- The matching tests are the file at the header's path, those named after it, a short list in the
  script, and last those of tests/stress/allocation that call every function. They are compiled without
  optimisation and stop at the first failure. A mutant is caught when one of them fails ({how["fails"]}), crashes ({how["crashes"]}) or does not end ({how["does not end"]}).
- Left out are the headers that need libtorch, which takes 20 seconds to compile for each mutant:
  `aten/`, `interop/aten.h` and `interop/torchscript.h`; and those of MPI, whose tests `mpirun` starts.

| | mutants | caught | survived | equivalent | caught |
|---|---:|---:|---:|---:|---:|
"""
    for panel in (counts_by(found, folder_of), counts_by(found, operator.itemgetter("kind")), {"all": totals}):
        for name, counts in panel.items():
            text += (f"| {name} | {sum(counts.values())} | {counts['caught']} | {counts['survived']} "
                     f"| {counts['equivalent']} | {score(counts):.0f} % |\n")
    for state, title in (("survived", "Survivors"), ("equivalent", "Equivalent: nothing that a test can see changes")):
        listed = [result for result in found if result["state"] == state]
        text += f"\n## {title}\n\n" if listed else ""
        for result in listed:
            text += f"- {result['header'].removeprefix('tenon/')}:{result['line']}\n\n"
            text += f"      - {result['old']}\n      + {result['new']}\n\n"
            text += f"  {result['why'].removeprefix('Equivalent: ') or 'Not judged yet.'}\n"
    return text


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=215)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--fresh", action="store_true")
    arguments = parser.parse_args(arguments)
    build = arguments.build.resolve()
    builder = Builder(build)
    results = Results(build / "results.json", arguments.fresh)
    headers = check_headers.read_headers(ROOT)
    weights = {header: code_lines(text) for header, text in headers.items()
               if not LEFT_OUT.match(header) and any(map(builder.can, matching_tests(header)))}
    wanted = {header: number for header, number in quotas(weights, arguments.count).items()
              if number > 0 and arguments.only in header}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        found = pool.map(lambda header: test_header(builder, header, headers, wanted[header], arguments, results),
                         sorted(wanted))
        found = [result for counted in found for result in counted]
    judged = read_judged(JUDGED.read_text(encoding="utf-8"))
    found = [judge(result, judged) for result in found]
    totals = collections.Counter(result["state"] for result in found)
    tried = [result for result in results.used.values() if isinstance(result, dict)]
    print(f"{len(tried)} mutants, of which {len(tried) - len(found)} do not compile; {dict(totals)}: "
          f"{score(totals):.1f} % caught; {sum(result['seconds'] for result in tried) / 60:.0f} minutes")
    if not arguments.only:
        (ROOT / "docs" / "reports" / "mutation.md").write_text(report(found, arguments.seed), encoding="utf-8")
        (ROOT / "docs" / "reports" / "mutation.svg").write_text(
            picture([counts_by(found, folder_of), counts_by(found, operator.itemgetter("kind"))]), encoding="utf-8")
    return 0 if score(totals) >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
