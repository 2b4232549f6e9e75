#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests debug/tenon_memory.py: on the trace of a program, and on made-up ones.

usage: check_memory.py TRACED
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "debug" / "tenon_memory.py"
sys.path.insert(0, str(SCRIPT.parent))

import tenon_memory  # noqa: E402

TRACED = sys.argv.pop()
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, encoding="utf-8")


def made_up(*blocks, end=None, tags=("",)):
    """A document of blocks (born, died, nbytes, tag = ""), times in nanoseconds; died = None for
    one in use. With `end`, 5 events were dropped from then on."""
    counts = {"live_bytes": 0, "peak_bytes": 9, "total_bytes": 0, "live_count": 0, "total_count": 1}
    events, live = [], 0
    for number, (born, died, nbytes, *tag) in enumerate(blocks):
        args = {"bytes": nbytes, "function": "zeros", "tag": tag[0] if tag else ""}
        events.append({"ph": "b", "ts": born / 1000, "id": number, "name": "Float {1}", "args": args})
        if died is not None:
            events.append({"ph": "e", "ts": died / 1000, "id": number, "args": {}})
    events.sort(key=lambda event: event["ts"])
    line = []
    for event in events:
        live += blocks[event["id"]][2] * (1 if event["ph"] == "b" else -1)
        if end is None or event["ts"] * 1000 < end:
            line.append({"ph": "C", "ts": event["ts"], "args": {"bytes": live}})
    if end is not None:
        line.append({"ph": "i", "ts": end / 1000})
    about = {"backend": "cpu", "dropped_events": 0 if end is None else 5, "counts": counts,
             "tags": [dict(counts, tag=tag) for tag in tags]}
    return {"otherData": about, "traceEvents": [{"ph": "M"}] + events + line}


def picture_of(document):
    """The texts, tooltips and paths of a picture, which is well-formed XML, below 1 MB."""
    text = tenon_memory.Picture(tenon_memory.Trace(document)).draw()
    assert len(text.encode()) < 1_000_000
    svg = xml.etree.ElementTree.fromstring(text)
    return ([each.text or "" for each in svg.iter(SVG + "text")],
            [each.text for each in svg.iter(SVG + "title")],
            [each.get("d") for each in svg.iter(SVG + "path") if each.get("class") == "live"])


class Program(unittest.TestCase):
    """What a program allocated is in the report and in the picture."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.trace = str(pathlib.Path(cls.folder.name, "memory.json"))
        subprocess.run([TRACED, cls.trace], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_report(self):
        printed = run(self.trace)
        self.assertEqual(printed.stderr, "")
        # 16384 bytes are kept, and three times two blocks of 4096 come and go.
        self.assertIn("Memory of backend cpu: 8 allocations, 40.04 KiB in all; "
                      "at most 24 KiB at once; 16.04 KiB still in use\n", printed.stdout)
        rows = [" ".join(line.split()) for line in printed.stdout.splitlines()]
        self.assertIn("(no tag) 1 40 bytes 40 bytes 40 bytes", rows)
        self.assertIn("weights 1 16 KiB 16 KiB 16 KiB", rows)
        self.assertIn('höhe <"&\N{REPLACEMENT CHARACTER} 6 24 KiB 8 KiB 0 bytes', rows)
        peak, left = printed.stdout.split("\n\n")[2:]
        self.assertRegex(peak, r"^At the peak, 24 KiB at \d")
        self.assertRegex(peak, r"\n  4096 bytes, Float \{32, 32\} by ones in \"höhe <\"&\ufffd\" "
                               r"\(scope at traced\.cpp:\d+\)\n  4096 bytes, Float \{32, 32\} by clone")
        self.assertEqual(left, "Still in use:\n  16384 bytes, Float {64, 64} by zeros in "
                               '"weights" (scope at model.cpp:57)\n  40 bytes, Float {10} by full\n')

    def test_picture(self):
        picture = pathlib.Path(self.folder.name, "memory.svg")
        printed = run(self.trace, "--svg", str(picture))
        self.assertEqual(printed.stdout, run(self.trace).stdout)
        svg = xml.etree.ElementTree.parse(picture)
        texts = [each.text for each in svg.iter(SVG + "text")]
        for text in ["Memory of backend cpu", "Float {64, 64}, 16 KiB",
                     "8 allocations, 40.04 KiB in all; at most 24 KiB at once; 16.04 KiB still in use",
                     "(no tag): 1 allocation, peak 40 bytes", "weights: 1 allocation, peak 16 KiB",
                     'höhe <"&\N{REPLACEMENT CHARACTER}: 6 allocations, peak 8 KiB']:
            self.assertIn(text, texts)
        self.assertEqual(len(list(svg.iter(SVG + "title"))), 8)
        self.assertIn("prefers-color-scheme: dark", picture.read_text(encoding="utf-8"))

    def test_what_a_pool_took_is_beside_what_tensors_asked_for(self):
        trace, below = (str(pathlib.Path(self.folder.name, name)) for name in ("a.json", "b.json"))
        picture = pathlib.Path(self.folder.name, "pool.svg")
        subprocess.run([TRACED, trace, below], check=True)
        printed = run(trace, "--below", below, "--svg", str(picture))
        self.assertEqual(printed.stderr, "")
        # The last of five tensors is still in use beside the fourth, in a second block.
        lines = ["Memory of backend pool: 5 allocations, 4.88 KiB in all; at most 1.95 KiB at once; "
                 "1.95 KiB still in use",
                 "Below it, taken from backend cpu: 2 blocks, at most 2 KiB at once; 2 KiB still taken"]
        self.assertEqual(printed.stdout.splitlines()[:2], lines)
        svg = xml.etree.ElementTree.parse(picture)
        texts = [each.text for each in svg.iter(SVG + "text")]
        self.assertIn("line: bytes taken from backend cpu", texts)
        self.assertIn(lines[0].split(": ", 1)[1] + "; " + lines[1].split(", ", 1)[1], texts)
        self.assertEqual(len([each for each in svg.iter(SVG + "path") if each.get("class") == "took"]),
                         1)
        # Without it, that there is something to see.
        self.assertIn("The pool may have taken more than that", run(trace).stdout)
        self.assertEqual(run(trace, "--below", __file__).stderr,
                         f"tenon_memory.py: {__file__} is not a trace of a TrackingBackend\n")


class Files(unittest.TestCase):
    def test_what_is_no_trace_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.json")
            for text in ["", "{", "[]", "7", "{}", '{"otherData": {}, "traceEvents": []}', "\xff",
                         json.dumps(dict(made_up(), traceEvents=[{"ph": "e", "id": 1, "args": {}}]))]:
                path.write_text(text, encoding="latin-1")
                printed = run(str(path))
                self.assertEqual((printed.returncode, printed.stdout), (1, ""))
                self.assertEqual(printed.stderr,
                                 f"tenon_memory.py: {path} is not a trace of a TrackingBackend\n")
            path.write_text(json.dumps(made_up()), encoding="utf-8")
            self.assertEqual(run(str(path)).returncode, 0)
            for arguments in [[str(path) + "x"], [str(path), "--svg", folder]]:
                printed = run(*arguments)
                self.assertEqual((printed.returncode, printed.stdout), (1, ""))
                self.assertRegex(printed.stderr, r"^tenon_memory\.py: \[Errno \d+\] .*\n$")


class Words(unittest.TestCase):
    def test_lists_count_equal_blocks_and_end(self):
        document = made_up(*[(i, None, 1000 - i // 2) for i in range(30)])
        lines = tenon_memory.report(tenon_memory.Trace(document)).split("Still in use:\n")[1].split("\n")
        self.assertEqual(lines[0], "  1000 bytes, Float {1} by zeros, 2 times")
        self.assertEqual(lines[9:], ["  991 bytes, Float {1} by zeros, 2 times", "  and 5 more"])


class Pictures(unittest.TestCase):
    def placed(self, document):
        trace = tenon_memory.Trace(document)
        picture = tenon_memory.Picture(trace)
        return picture, {trace.blocks.index(block): offset for block, _, offset in picture.blocks}

    def test_blocks_that_live_together_do_not_overlap_and_none_is_higher_than_needed(self):
        document = made_up((0, 1000, 10), (10, 20, 5), (15, 400, 7), (30, 60, 100), (500, 600, 3))
        picture, offsets = self.placed(document)
        # The fourth takes the most for the longest after the first; the third lies above both.
        self.assertEqual(offsets, {0: 0, 1: 10, 2: 110, 3: 10, 4: 10})
        self.assertEqual(picture.trace.peak, 117)
        self.assertEqual(picture.trace.peak_time, 30)
        self.assertAlmostEqual(picture.top, 1.03 * 117)

    def test_nothing_is_after_the_end_of_a_timeline_that_became_full(self):
        document = made_up((0, 30, 10), (10, 90, 20), end=50)
        trace = tenon_memory.Trace(document)
        self.assertEqual([block.died for block in trace.blocks], [30, float("inf")])
        self.assertIn("After 50 ns there was no room for 5 events.", picture_of(document)[0])
        report = tenon_memory.report(trace)
        self.assertIn("\nAfter 50 ns there was no room for 5 events.\n", report)
        self.assertTrue(report.endswith("In use when the timeline ended:\n"
                                        "  20 bytes, Float {1} by zeros"))

    def test_two_traces_have_one_clock(self):
        above, under = made_up((1000, None, 64)), made_up((200, None, 100), (700, None, 28))
        above["otherData"]["clock_ns"], under["otherData"]["clock_ns"] = 5000, 5600
        trace = tenon_memory.Trace(above)
        below = tenon_memory.Trace(under, trace)
        self.assertEqual(below.line, [(800, 100), (1300, 128)])
        self.assertEqual([block.born for block in below.blocks], [800, 1300])
        picture = tenon_memory.Picture(trace, below)
        self.assertAlmostEqual(picture.top, 1.03 * 128)
        # What came before the first tensor is at the left edge.
        self.assertTrue(picture.steps(below.line).startswith(f"M96 584.00H96.0V{picture.y(100):.2f}H"))

    def test_of_very_many_the_largest_are_drawn(self):
        tags = [""] + [f"layer {i}" for i in range(12)]
        document = made_up(*[(100 * i, 100 * i + 50, 1000 if i % 6 == 0 else 1, f"layer {i % 12}")
                             for i in range(6000)], tags=tags)
        texts, titles, _ = picture_of(document)
        self.assertEqual(len(titles), 1000)
        self.assertTrue(all(title.startswith("1000 bytes") for title in titles))
        self.assertIn("The largest 1,000 blocks are drawn, the line counts all. ", texts)
        self.assertIn("layer 8: 1 allocation, peak 9 bytes", texts)
        self.assertIn("3 later tags", texts)
        self.assertNotIn("layer 9: 1 allocation, peak 9 bytes", texts)

    def test_tags_may_be_any_text(self):
        tag = '<a href="x">&\n tag that is much longer than it'
        texts, titles, _ = picture_of(made_up((1, 2, 3, tag), tags=["", tag]))
        self.assertIn('<a href="x">&  tag that is much…: 1 allocation, peak 9 bytes', texts)
        self.assertIn('in "<a href="x">&  tag that is much longer than it"', titles[0])


if __name__ == "__main__":
    unittest.main()
