#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that what threads may do is written down for each public class, and tested.

usage: check_threads.py REPOSITORY
A public class is one in a header outside of namespace detail, but for those of aten/ (the other
mode's), compat/ (ExecuTorch's names) and testing/. In docs/threads.md an entry of a list begins with
bold names in backticks, or bold words where there is no name. Its entry OTHERS is for PLAIN_VALUES.
  - each public class is in one entry or in PLAIN_VALUES, and each of these names is in a header
  - the doc comment of each has a line "Threads: ..." (or "..., threads: ..."), but for those of the
    entries in TOGETHER, which one sentence in the document is for. One of PLAIN_VALUES has no such line,
    or it says "as a plain value"
  - each entry has a test, each name with a line one of its own. Tests say what they are of:
        TEST_CASE("handles: ...", "[threads][Tensor][TensorPtr]")
    or, in programs and in Python, by such tags in a comment; all other tags are names of entries
Prints one line for each fault and exits with 1 if there is one.
"""

import pathlib
import re
import sys

import check_headers

# Entries of classes without a line of their own, by how what they say begins.
TOGETHER = ("a plain value", "constants")

# The classes of this entry. A class belongs here if reading it changes nothing, not even a cache or a count, and it has
# no lock: as with an int, whoever changes it keeps out the others.
OTHERS = "every other type"
PLAIN_VALUES = set("""
    AotiConstant AotiOptions ArrowArray ArrowArrayStream ArrowSchema BackendOption BackendOptions
    CppTypeToScalarType CudaKernels CudaOptions DLDataType DLDevice DLManagedTensor DLManagedTensorVersioned
    DLPackExchangeAPI DLPackExchangeAPIHeader DLPackVersion DLPackViolation DLTensor Device DimOrder Dims
    ExecuTorchOptions Expression FormatOptions GgufEntry GgufInfo IndicesArg MadeTensor MeanStd MemoryLeak
    MethodMeta MinMax ModelFile NamedTensor None Normalize NpyInfo NpzInfo OffsetRange PackedTensor Part
    PoolStatistics SafeTensorInfo Scalar Span StridedCopy Strides Summary TagCounts TensorAccessor TensorArg
    TensorArgs TensorSpec TensorView TorchTensorInfo ValueSpec ViewWithLists complex
""".split())

OMITTED = ("tenon/aten/", "tenon/compat/", "tenon/testing/")
NAMESPACE = re.compile(r"namespace detail(_values)? \{")
FORWARD = re.compile(r"^namespace detail \{\n[^{}]*\}\n", re.MULTILINE)  # only declares
NAMESPACE_END = re.compile(r"\}\s*// namespace detail")
CLASS = re.compile(r"(?:template <.*> )?(?:class|struct)\s+(?:(?:TENON_\w+|alignas)(?:\(.*?\))?\s+|"
                   r"\[\[\w+\]\]\s+)*(\w+)(?= final| :| \{|$)")
UNSEEN = re.compile(r"^[ \t]*#[ \t]*if 0\b.*?^[ \t]*#[ \t]*(?:else|elif|endif)\b|^[ \t]*/\*.*?\*/|"
                    r"^[ \t]*//[ \t]*\w*TEST_CASE.*?$", re.MULTILINE | re.DOTALL)
TAGS = re.compile(r"\[threads\]((?:\[[^\]]+\])+)")


def public_classes(headers):
    """Maps a public class to (where it is, what its doc comment says of threads, or "")."""
    classes = {}
    for header, text in headers.items():
        if header.startswith(OMITTED):
            continue
        lines = FORWARD.sub(lambda match: "\n" * match.group().count("\n"), text).splitlines()
        is_public = True
        for i, line in enumerate(lines):
            if NAMESPACE.match(line):
                is_public = False
            elif NAMESPACE_END.match(line):
                is_public = True
            match = CLASS.match(line)
            if not match or not is_public:
                continue
            first = i
            while first > 0 and lines[first - 1].startswith(("///", "template")):
                first -= 1
            said = re.search(r"///.*\b[Tt]hreads: (\S.*)", "\n".join(lines[first:i]))
            # Where there are two of that name, one without a line is what counts.
            if classes.get(match.group(1), ("", "none"))[1]:
                classes[match.group(1)] = (f"{header}:{i + 1}", said.group(1) if said else "")
    return classes


def list_entries(document):
    """The entries of the lists: (names, what is said of them)."""
    entries = []
    for bold, text in re.findall(r"^- \*\*(.+?)\*\*(.*?)(?=^- |^$|\Z)", document, re.MULTILINE | re.DOTALL):
        words = " ".join(bold.split())
        entries.append((re.findall(r"`(\w+)`", words) or [words], " ".join(text.split()).lstrip(": ")))
    return entries


def tags(text):
    """What the tests of a file are of. A literal may go on in the next line."""
    text = re.sub(r'"\n\s*"', "", UNSEEN.sub("", text))
    return {tag for found in TAGS.findall(text) for tag in re.findall(r"\[([^\]]+)\]", found)}


def check(headers, document, tested, plain_values=frozenset(PLAIN_VALUES)):
    """Yields faults; `tested` are the tags of all tests."""
    classes = public_classes(headers)
    entries = [(sorted(plain_values) if names == [OTHERS] else names, text) for names, text in list_entries(document)]
    known = set(re.findall(r"\w+", "\n".join(headers.values())))
    listed = {}
    for names, text in entries:
        is_together = text.startswith(TOGETHER)
        for name in names:
            listed[name] = listed.get(name, 0) + 1
            if (f"`{name}`" in document or name in plain_values) and name not in known:
                yield f"docs/threads.md: there is no {name}"
            if is_together:
                continue
            if name in classes and not classes[name][1]:
                yield f'{classes[name][0]}: the comment of {name} has no line "Threads: ..."'
            if name not in tested:
                yield f"docs/threads.md: no test is tagged [threads][{name}]"
        if is_together and not tested.intersection(names):
            yield f"docs/threads.md: no test is tagged [threads][{names[0]}] or another of its entry"
    for name, (where, said) in classes.items():
        if listed.get(name, 0) != 1:
            yield f"{where}: {name} is in {listed.get(name, 0)} entries of docs/threads.md, not in one"
        if name in plain_values and said and not said.startswith("as a plain value"):
            yield f"{where}: {name} says \"Threads: {said}\": it needs an entry of docs/threads.md"
    for tag in sorted(tested - set(listed)):
        yield f"tests: [threads][{tag}] is no entry of docs/threads.md"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    repository = pathlib.Path(arguments[0])
    tested = set()
    for path in sorted((repository / "tests").rglob("*")):
        if path.suffix in (".cpp", ".py") and "structure" not in path.parts:
            tested |= tags(path.read_text(encoding="utf-8"))
    document = (repository / "docs" / "threads.md").read_text(encoding="utf-8")
    headers = check_headers.read_headers(repository)
    faults = list(check(headers, document, tested))
    for fault in faults:
        print(fault)
    print(f"{len(public_classes(headers))} classes, {len(list_entries(document))} entries, "
          f"{len(tested)} tags, {len(faults)} faults")
    return 1 if faults or not tested else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
