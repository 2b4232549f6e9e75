#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints architecture.svg: the layers of include/tenon, and the path of a pointer, a list and a copy through them."""

import dark

# Layers from top to bottom: title, description, height.
LAYERS = [
    ("your program", "", 44),
    ("interop/  compat/", "a header each partner;\nExecuTorch's names", 66),
    ("module/", "EValue, Module", 52),
    ("exchange/", "Blob, DLPack, bytes", 52),
    ("tensor/: the calls", "overloads, options,\nresults", 80),
    ("tensor/: the core", "impl, memory,\nownership", 122),
    ("backend/", "memory, and\ncopies to it", 66),
    ("kernels/", "loops over elements", 66),
    ("core/", "dtypes, sizes,\nlayout, errors", 66),
]
CALL, MAKE, BACKEND, KERNEL, CORE = 4, 5, 6, 7, 8
WAYS = [
    ("from_blob(data, {2, 6}, {8, 1})", "#1f5fa8", [
        (1, "from_python, from_arrow"), (3, "from_blob(Blob), from_dlpack")], [
        (CALL, 0, 0, "1  make_borrowed(): options\ninto CreateOptions"),
        (MAKE, 0, 0, "2  borrow() makes an impl"),
        (CORE, 0, 0, "3  checks sizes and strides,\nwrites the Layout"),
        (MAKE, 1, 0, "4  set_memory(): the impl owns\nthe memory and the deleter"),
        (BACKEND, 0, 0, "5  checks the memory, if a\nbackend or a device is given"),
        (CALL, 0, 1, "6  returns\nthe handle")]),
    ("make_tensor_ptr({2, 3}, {1, …})", "#a8501a", [
        (1, "read_npy"), (3, "from_binary")], [
        (CALL, 0, 0, "1  the overload: options\ninto CreateOptions"),
        (CORE, 0, 0, "2  count_elements(): how many\nelements the sizes need"),
        (MAKE, 0, 0, "3  check_values(): as many?"),
        (MAKE, 1, 0, "4  make_owned(): memory, impl\nand shape"),
        (KERNEL, 0, 0, "5  converts and writes\nthe elements"),
        (CALL, 0, 1, "6  returns\nthe handle")]),
    ("copy_(to, from)", "#2f7031", [
        (2, "outputs that were set"), (3, "assign, copy_to, to_binary")], [
        (CALL, 0, 0, "1  copy_tensor(): two host\nblocks are moved at once"),
        (MAKE, 0, 0, "2  find_location() checks and\ndescribes each side"),
        (MAKE, 1, 0, "3  copy_checked() checks cast\nand sizes, plans the copy"),
        (KERNEL, 0, 0, "4  the host reaches both:\nrun_plan(), memcpy or loops"),
        (BACKEND, 0, 0, "4  else: the backend copies,\nor moves whole ranges"),
        (CALL, 0, 1, "5  returns\nan Error")]),
]
LABEL, COLUMN, LEFT, TOP, GAP = 158, 258, 12, 16, 4
INK, GREY = "#1b1f24", "#555d66"


def text(x, y, words, size=12, colour=INK, weight="normal", anchor="start"):
    lines = "".join(f'<tspan x="{x}" dy="{0 if n == 0 else size + 3}">{line}</tspan>'
                    for n, line in enumerate(words.replace("&", "&amp;").replace("<", "&lt;").split("\n")))
    return (f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" font-weight="{weight}" '
            f'text-anchor="{anchor}">{lines}</text>')


def main():
    width = LEFT + LABEL + len(WAYS) * COLUMN + LEFT
    tops, y = [], TOP
    for _, _, height in LAYERS:
        tops.append(y)
        y += height + GAP
    height = y + 34
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
           f'height="{height}" font-family="Helvetica, Arial, sans-serif">',
           "<title>The layers of include/tenon, and three paths through them</title>",
           f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>']
    for n, ((title, what, tall), top) in enumerate(zip(LAYERS, tops)):
        fill = "#ffffff" if n == 0 else "#f3f5f7" if n % 2 else "#e9edf1"
        out += [f'<rect x="{LEFT}" y="{top}" width="{width - 2 * LEFT}" height="{tall}" rx="5" fill="{fill}"/>',
                text(LEFT + 12, top + 22, title, 14, INK, "bold"), text(LEFT + 12, top + 40, what, 12, GREY)]
    for n, (call, colour, joins, steps) in enumerate(WAYS):
        left = LEFT + LABEL + n * COLUMN
        out += [f'<marker id="arrow{n}" viewBox="0 0 6 6" refX="1" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
                f'<path d="M0 0 6 3 0 6z" fill="{colour}"/></marker>',
                text(left + 6, TOP + 27, call, 12, colour, "bold")]
        way = left + 176  # the line that joins the partners' functions to the call
        lowest = max(tops[layer] + LAYERS[layer][2] for layer, _ in joins)
        out.append(f'<path d="M{way} {tops[joins[0][0]] + 34} V{lowest + 10}" stroke="{colour}" stroke-width="1.5" '
                   f'stroke-dasharray="4 3" fill="none"/>')
        for layer, words in joins:
            out.append(text(left + 6, tops[layer] + 30, words, 11, GREY))
        boxes = {}  # by the step's number: there are two of a step that has two ways
        for layer, row, is_last, words in steps:
            # The last step stands beside the first.
            x, top = left + 6 + is_last * 180, tops[layer] + 10 + row * 56
            box = x, top, 70 if is_last else 174 if layer == CALL else 196, 46 if "\n" in words else 30
            boxes.setdefault(int(words[0]), []).append(box)
            out += [f'<rect x="{x}" y="{top}" width="{box[2]}" height="{box[3]}" rx="4" fill="#ffffff" stroke="{colour}"/>',
                    text(x + 6, top + 19, words, 11)]
        track = left + 210  # to the right of the boxes, one for each arrow
        for step in range(1, len(boxes)):
            for x, top, wide, tall in boxes[step]:
                for to_x, to_top, to_wide, to_tall in boxes[step + 1]:
                    start = f"M{x + 160} {top + tall} v8" if step == 1 else f"M{x + wide} {top + tall / 2 + 5 * (step > 1)}"
                    end = (f"V{to_top + to_tall + 5}" if step + 1 == len(boxes)
                           else f"V{to_top + to_tall / 2 - 5} H{to_x + to_wide + 5}")
                    out.append(f'<path d="{start} H{track} {end}" stroke="{colour}" fill="none" '
                               f'marker-end="url(#arrow{n})"/>')
                    track += 7
    out += [text(LEFT + 12, height - 18, "A header includes only headers of its own layer and below. Grey functions join the path below them.", 12, GREY), "</svg>"]
    print(dark.add_dark_form("\n".join(out)))


if __name__ == "__main__":
    main()
