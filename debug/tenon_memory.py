#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reports what a TrackingBackend recorded, and draws it.

usage: tenon_memory.py TRACE [--below TRACE] [--svg PICTURE]

TRACE is a file of write_chrome_trace(). Prints the counts of each tag, the blocks that were in use
at the peak, and those that still are. PICTURE shows blocks by their time and bytes, in the colours
of their tags, live bytes as a line, and the peak; in a browser each block has a tooltip.

With a pool the bytes are those that tensors asked for. What the pool took from the system is in the
trace of a second TrackingBackend, which the pool wraps: --below adds it to both.
"""

import argparse
import collections
import html
import json
import math
import sys

LISTED = 10  # blocks in a list of the report


class Block:
    """A block of memory. Times are in nanoseconds; `died` is infinite while it is in use."""

    def __init__(self, event, shift):
        args = event["args"]
        self.nbytes = int(args["bytes"])
        self.tensor = event["name"] if args["function"] else ""  # "Float {32, 32}"
        self.function = args["function"]
        self.tag = restored(args["tag"])
        self.scope = restored(args.get("scope", "")).replace("\\", "/").split("/")[-1]
        self.born, self.died = time_of(event) + shift, math.inf

    def text(self):
        """As in TrackingBackend::leak_report()."""
        return (f"{self.nbytes} bytes"
                + (f", {self.tensor} by {self.function}" if self.tensor else "")
                + (f' in "{self.tag}"' if self.tag else "")
                + (f" (scope at {self.scope})" if self.scope else ""))


class Trace:
    """What write_chrome_trace() wrote. With another trace, times are by its tracker's clock.

    Raises LookupError, TypeError, ValueError or AttributeError for other JSON.
    """

    def __init__(self, document, other=None):
        about = document["otherData"]
        self.backend = restored(about["backend"])
        self.counts = about["counts"]
        self.tags = [dict(tag, tag=restored(tag["tag"])) for tag in about["tags"]]
        self.clock = about.get("clock_ns")
        shift = 0 if other is None else int(self.clock) - int(other.clock)
        self.dropped = int(about["dropped_events"])  # events for which there was no room
        self.line = []  # live bytes, as (time, bytes from then on)
        self.end = math.inf  # of what is complete, if events were dropped
        blocks = {}
        for event in document["traceEvents"]:
            if event["ph"] == "b":
                blocks[event["id"]] = Block(event, shift)
            elif event["ph"] == "e" and not event["args"]:  # else it is still alive
                blocks[event["id"]].died = time_of(event) + shift
            elif event["ph"] == "C":
                self.line.append((time_of(event) + shift, int(event["args"]["bytes"])))
            elif event["ph"] == "i":
                self.end = time_of(event) + shift
        self.blocks = list(blocks.values())  # in the order of allocation
        for block in self.blocks:
            block.died = block.died if block.died < self.end else math.inf
        self.begin = self.line[0][0] if self.line else 0
        self.peak_time, self.peak = max(self.line, key=lambda point: point[1],
                                        default=(self.begin, 0))

    def in_use(self, time):
        """The blocks that were in use then, the largest first."""
        return sorted((block for block in self.blocks if block.born <= time < block.died),
                      key=lambda block: -block.nbytes)


def time_of(event):
    return round(float(event["ts"]) * 1000)


def restored(text):
    """A text of which the trace has the bytes, one by one; without control characters."""
    try:
        text = text.encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:
        pass  # another program wrote the trace anew
    return "".join(c if c.isprintable() else " " for c in text)


def in_unit(value, step, *units):
    """In the largest unit of which there is one, 1.5 MiB."""
    unit = 0
    while value >= step and unit + 1 < len(units):
        value, unit = value / step, unit + 1
    return f"{value:.2f}".rstrip("0").rstrip(".") + " " + units[unit]


def bytes_text(nbytes):
    return in_unit(nbytes, 1024, "bytes", "KiB", "MiB", "GiB", "TiB")


def time_text(nanoseconds):
    return in_unit(nanoseconds, 1000, "ns", "us", "ms", "s")


def count_text(count, noun):
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def summary(trace):
    return (f"{count_text(trace.counts['total_count'], 'allocation')}, "
            f"{bytes_text(trace.counts['total_bytes'])} in all; "
            f"at most {bytes_text(trace.counts['peak_bytes'])} at once; "
            f"{bytes_text(trace.counts['live_bytes'])} still in use")


def taken(below):
    """What a pool took, of the trace below it."""
    return (f"taken from backend {below.backend}: {count_text(below.counts['total_count'], 'block')}, "
            f"at most {bytes_text(below.counts['peak_bytes'])} at once; "
            f"{bytes_text(below.counts['live_bytes'])} still taken")


def note(trace):
    if not trace.dropped:
        return ""
    return (f"After {time_text(trace.end - trace.begin)} there was no room for "
            f"{count_text(trace.dropped, 'event')}.")


# ---------------------------------------------------------------------------------------- report

def listed(blocks):
    """Equal blocks are one line."""
    counts = collections.Counter(block.text() for block in blocks)
    lines = [f"  {text}" + (f", {count} times" if count > 1 else "")
             for text, count in list(counts.items())[:LISTED]]
    return lines + ([f"  and {len(counts) - LISTED} more"] if len(counts) > LISTED else [])


def report(trace, below=None):
    """The text that is printed."""
    rows = [("tag", "allocations", "bytes in all", "peak", "in use")]
    rows += [(tag["tag"] or "(no tag)", f"{tag['total_count']:,}", bytes_text(tag["total_bytes"]),
              bytes_text(tag["peak_bytes"]), bytes_text(tag["live_bytes"]))
             for tag in trace.tags if tag["total_count"]]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [f"Memory of backend {trace.backend}: {summary(trace)}"]
    lines += [note(trace)] if trace.dropped else []
    if below is not None:
        lines += [f"Below it, {taken(below)}"]
    elif trace.backend == "pool":
        lines += ["The pool may have taken more than that: docs/debugging.md says how to see it, "
                  "with --below"]
    lines += [""] + ["  ".join([row[0].ljust(widths[0])] +
                               [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])])
                     for row in rows]
    if trace.line:
        lines += ["", f"At the peak, {bytes_text(trace.peak)} at "
                      f"{time_text(trace.peak_time - trace.begin)}:"]
        lines += listed(trace.in_use(trace.peak_time))
    left = trace.in_use(min(trace.end, max((time for time, _ in trace.line), default=0)))
    if left:
        lines += ["", "Still in use:" if not trace.dropped else "In use when the timeline ended:"]
        lines += listed(left)
    return "\n".join(lines)


# --------------------------------------------------------------------------------------- picture

MAX_DRAWN = 1000  # blocks
# The first is for no tag. Later tags share OTHER.
LIGHT = ["#c3cad1", "#8fbbe3", "#f5bd80", "#a2d39a", "#ee9f9c",
         "#c5acdf", "#84d0c8", "#f2b3d3", "#d0b495", "#d9d884"]
DARK = ["#59636e", "#2f679b", "#99631f", "#3d7a37", "#994240",
        "#6b4d94", "#23786f", "#974f76", "#765936", "#75741f"]
STYLES = {"back": ("#ffffff", "#14181d"), "ink": ("#1f2933", "#e6e9ee"),
          "muted": ("#52606d", "#9aa5b1"), "note": ("#b4540a", "#f0a35e"),
          "taken": ("#0b7285", "#66d9e8"),
         "peak": ("#b91c1c", "#ff8078"), "other": ("#e4e7eb", "#39424c")}
STYLES.update({f"tag{i}": pair for i, pair in enumerate(zip(LIGHT, DARK))})
LINES = {"took": ("#0b7285", "#66d9e8"), "tick": ("#52606d", "#9aa5b1"),
         "grid": ("#e4e7eb", "#2a323b"), "live": ("#1f2933", "#e6e9ee"),
         "edge": ("#ffffff", "#14181d"), "mark": ("#b91c1c", "#ff8078")}
WIDTH, LEFT, RIGHT, TOP, BOTTOM = 1200, 96, 1172, 144, 584
COLUMN = 0.5  # the line is drawn in steps that wide, however many events there are


def style(scheme):
    return (" ".join(f".{name}{{fill:{pair[scheme]}}}" for name, pair in STYLES.items()) + " " +
            " ".join(f".{name}{{stroke:{pair[scheme]}}}" for name, pair in LINES.items()))


def offsets(blocks, last):
    """Where the blocks are drawn, as (block, end, offset).

    Each has the lowest place that is free as long as it lives. Those that take the most bytes for
    the longest come first: they lie at the bottom, and of very many they alone are drawn.
    """
    ends = [(block, min(block.died, last)) for block in blocks]
    ends.sort(key=lambda pair: -(pair[1] - pair[0].born) * pair[0].nbytes)
    placed = []
    for block, end in ends[:MAX_DRAWN]:
        offset = 0
        for low, high in sorted((at, at + other.nbytes) for other, other_end, at in placed
                                if other.born < end and block.born < other_end):
            if low >= offset + block.nbytes:
                break
            offset = max(offset, high)
        placed.append((block, end, offset))
    return placed


def round_step(span):
    """The smallest of 1, 2 and 5 times a power of ten of which `span` has 8 at most."""
    unit = 1
    while True:
        for factor in (1, 2, 5):
            if span // (unit * factor) <= 8:
                return unit * factor
        unit *= 10


def clipped(text, limit=32):
    return html.escape(text if len(text) <= limit else text[:limit - 1] + "…", quote=False)


class Picture:
    """A trace as SVG, in light or dark as the viewer prefers."""

    def __init__(self, trace, below=None):
        self.trace, self.below = trace, below
        self.first = trace.begin
        last = max([self.first] + [line[-1][0] for line in self.lines() if line])
        # Some room to the right, for the blocks that were allocated last.
        self.last = last + (last - self.first) / 40 + 1
        self.blocks = offsets(trace.blocks, self.last)
        tops = [offset + block.nbytes for block, _, offset in self.blocks]
        self.top = 1.03 * max(tops + [trace.peak, 1 if below is None else below.peak, 1])
        self.elements = []

    def lines(self):
        return [self.trace.line] + ([] if self.below is None else [self.below.line])

    def draw(self):
        self.draw_heading()
        self.draw_grid()
        self.draw_blocks()
        self.draw_line()
        height = self.draw_legend()
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                f'viewBox="0 0 {WIDTH} {height}" class="ink" font-size="12" '
                'font-family="DejaVu Sans, Verdana, Arial, sans-serif">\n'
                f'<style>{style(0)} @media (prefers-color-scheme: dark) {{{style(1)}}}</style>\n'
                f'<rect width="{WIDTH}" height="{height}" class="back"/>\n'
                + "\n".join(self.elements) + "\n</svg>\n")

    def x(self, time):
        return LEFT + (RIGHT - LEFT) * (time - self.first) / (self.last - self.first)

    def y(self, nbytes):
        return BOTTOM - (BOTTOM - TOP) * nbytes / self.top

    def put(self, name, content=None, **attributes):
        words = " ".join(f'{key.rstrip("_").replace("_", "-")}="'
                         f'{round(value, 2) if isinstance(value, float) else value}"'
                         for key, value in attributes.items())
        self.elements.append(f"<{name} {words}/>" if content is None else
                             f"<{name} {words}>{content}</{name}>")

    def draw_heading(self):
        self.put("text", f"Memory of backend {clipped(self.trace.backend)}", x=24, y=38,
                 font_size=20, font_weight="bold")
        self.put("text", summary(self.trace) + ("" if self.below is None else
                                                f"; {taken(self.below)}"), x=24, y=62, font_size=13)
        # The offsets of blocks mean nothing, which an axis of bytes would hide.
        self.put("text", "A block is as high as its bytes and lies at the lowest place that is free "
                 "in the picture, which is not its address. Totals are the line"
                 + ("s." if self.below else "."), x=24, y=82, class_="muted")
        drawn = ("" if len(self.trace.blocks) <= MAX_DRAWN else
                 f"The largest {count_text(MAX_DRAWN, 'block')} are drawn, the line counts all. ")
        self.put("text", drawn + note(self.trace), x=24, y=102, class_="note")

    def draw_grid(self):
        step = 1
        while step * 8 < self.top:
            step *= 2
        for value in range(0, int(self.top) + 1, step):
            y = self.y(value)
            self.put("path", d=f"M{LEFT} {y:.2f}H{RIGHT}", class_="grid")
            self.put("text", bytes_text(value), x=LEFT - 8, y=y + 4, text_anchor="end")
        step = round_step(self.last - self.first)
        count = int((self.last - self.first) // step)
        unit, name = next((unit, name) for unit, name in
                          ((10 ** 9, "s"), (10 ** 6, "ms"), (1000, "us"), (1, "ns"))
                          if unit <= max(count, 1) * step)
        for i in range(count + 1):
            x = self.x(self.first + i * step)
            self.put("path", d=f"M{x:.2f} {BOTTOM}v5", class_="tick")
            self.put("text", f"{i * step / unit:g} {name}", x=x, y=BOTTOM + 20,
                     text_anchor="middle")
        self.put("text", "time since the first allocation", x=(LEFT + RIGHT) / 2, y=BOTTOM + 42,
                 text_anchor="middle", class_="muted")

    def draw_blocks(self):
        places = {tag["tag"]: i for i, tag in enumerate(self.trace.tags)}
        for block, end, offset in self.blocks:
            place = places.get(block.tag, len(LIGHT))
            x, y = self.x(block.born), self.y(offset + block.nbytes)
            width, height = max(self.x(end) - x, 0.5), max(self.y(offset) - y, 0.3)
            lived = f"from {time_text(block.born - self.first)}" + (
                ", still in use" if block.died == math.inf else
                f" to {time_text(block.died - self.first)}")
            self.put("rect", f"<title>{clipped(block.text(), 160)}\n{lived}</title>", x=x, y=y,
                     width=width, height=height,
                     class_=(f"tag{place}" if place < len(LIGHT) else "other") +
                     (" edge" if width > 3 and height > 3 else ""))
            label = (block.tensor + ", " if block.tensor else "") + bytes_text(block.nbytes)
            if height >= 16 and len(label) * 7 + 10 <= width:
                self.put("text", html.escape(label), x=x + width / 2, y=y + height / 2 + 4,
                         text_anchor="middle", font_size=11, pointer_events="none")

    def draw_line(self):
        if not self.trace.line:
            return
        if self.below is not None:
            self.put("path", d=self.steps(self.below.line), fill="none", class_="took",
                     stroke_width=1.5)
        self.put("path", d=self.steps(self.trace.line), fill="none", class_="live",
                 stroke_width=1.5)
        x, y = self.x(self.trace.peak_time), self.y(self.trace.peak)
        self.put("path", d=f"M{x:.2f} {y:.2f}V{TOP - 12}", class_="mark", stroke_dasharray="3 3")
        self.put("circle", cx=x, cy=y, r=4, class_="peak")
        self.put("text", f"peak {bytes_text(self.trace.peak)} at "
                         f"{time_text(self.trace.peak_time - self.first)}", x=x, y=TOP - 17,
                 text_anchor="start" if x < (LEFT + RIGHT) / 2 else "end", font_weight="bold",
                 class_="peak")

    def steps(self, line):
        """The path of a line of bytes."""
        columns = {}  # x: the most bytes in the column, and the last
        for time, nbytes in line:
            x = round(self.x(max(time, self.first)) / COLUMN) * COLUMN
            columns[x] = max(nbytes, columns.get(x, (0,))[0]), nbytes
        path = f"M{LEFT} {self.y(0):.2f}"
        for x, (most, last) in columns.items():
            path += f"H{x}V{self.y(most):.2f}" + (f"V{self.y(last):.2f}" if last != most else "")
        return path + f"H{RIGHT}"

    def draw_legend(self):
        """Returns the height of the picture."""
        items = [("ink", "line: bytes in use, as tensors asked for them")]
        if self.below is not None:
            items.append(("taken", f"line: bytes taken from backend {clipped(self.below.backend)}"))
        for i, tag in enumerate(self.trace.tags[:len(LIGHT)]):
            if tag["total_count"]:
                items.append((f"tag{i}", f"{clipped(tag['tag'] or '(no tag)')}: "
                                         f"{count_text(tag['total_count'], 'allocation')}, "
                                         f"peak {bytes_text(tag['peak_bytes'])}"))
        later = len(self.trace.tags) - len(LIGHT)
        if later > 0:
            items.append(("other", count_text(later, "later tag")))
        for i, (name, text) in enumerate(items):
            y = BOTTOM + 76 + 22 * i
            self.put("rect", x=LEFT, y=y - 11, width=14, height=14, rx=2, class_=name)
            self.put("text", text, x=LEFT + 22, y=y)
        return BOTTOM + 76 + 22 * len(items)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("trace", metavar="TRACE", help="a file of write_chrome_trace()")
    parser.add_argument("--below", metavar="TRACE", help="that of the tracker below the pool")
    parser.add_argument("--svg", metavar="PICTURE", help="write a picture too")
    given = parser.parse_args()
    read, below = given.trace, None
    try:
        with open(read, encoding="utf-8") as file:
            trace = Trace(json.load(file))
        if given.below is not None:
            read = given.below
            with open(read, encoding="utf-8") as file:
                below = Trace(json.load(file), trace)
        if given.svg is not None:
            with open(given.svg, "w", encoding="utf-8") as file:
                file.write(Picture(trace, below).draw())
    except OSError as error:
        sys.exit(f"tenon_memory.py: {error}")
    except (LookupError, TypeError, ValueError, AttributeError):
        sys.exit(f"tenon_memory.py: {read} is not a trace of a TrackingBackend")
    sys.stdout.reconfigure(errors="replace")  # a terminal may not know all characters
    print(report(trace, below))


if __name__ == "__main__":
    main()
