#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks at a camera's frames with NumPy, and PyTorch where it is there, and copies none of them."""

import threading

import numpy

import padded_frames

WIDTH, HEIGHT = 1000, 500


def draw(picture):
    """Prints one character for each 20 x 20 pixels."""
    for row in picture[10::20, 10::20]:
        print("  " + "".join(" .:-=+*#%@"[int(pixel) * 10 // 256] for pixel in row))


def look(camera):
    frame = camera.capture()
    luma = numpy.asarray(frame.luma)
    chroma = numpy.from_dlpack(frame.chroma)
    print(f"\n  luma    {luma.dtype} {luma.shape}, strides {luma.strides}: rows are padded")
    print(f"  chroma  {chroma.dtype} {chroma.shape}, strides {chroma.strides}\n")
    assert luma.shape == (HEIGHT, WIDTH) and luma.strides == (1024, 1)
    assert chroma.shape == (HEIGHT // 2, WIDTH // 2, 2) and chroma.strides == (1024, 2, 1)
    # The same buffer: the planes lie one after the other.
    assert chroma.ctypes.data - luma.ctypes.data == 1024 * HEIGHT
    draw(luma)
    disc = luma == 200
    rows, columns = numpy.nonzero(disc)
    print(f"\n  the disc: {disc.sum()} pixels around ({columns.mean():.0f}, {rows.mean():.0f})")
    assert (round(columns.mean()), round(rows.mean())) == (WIDTH // 4, HEIGHT // 2)

    luma[:10] = 0  # a view for writing: whoever looks next sees it
    assert not numpy.asarray(frame.luma)[:10].any() and luma[10].all()
    return frame, luma


def look_with_torch(frame, luma):
    try:
        import torch
    except ImportError:
        print("  PyTorch is not installed, and not looked at")
        return
    tensor = torch.from_dlpack(frame.luma)
    assert tensor.stride() == (1024, 1) and tensor.data_ptr() == luma.ctypes.data
    tensor[10:20].fill_(255)
    assert (luma[10:20] == 255).all()
    mean = tensor.float().mean().item()
    print(f"  PyTorch {torch.__version__} looks at the same bytes: mean {mean:.2f}")
    assert abs(mean - luma.mean()) < 1e-2


def write(frame):
    """The frame's colours, into arrays that NumPy owns, as they lie."""
    screen = numpy.zeros((600, 1200, 3), numpy.uint8)
    window = screen[50:550, 100:1100]  # a part of a larger picture
    frame.to_rgb(window)
    red, green, blue = window[250, 250]
    print(f"  the disc is rgb({red}, {green}, {blue}) on the screen")
    assert (red, green, blue) == (255, 183, 133)
    assert not screen[:50].any() and not screen[:, :100].any() and not screen[:, 1100:].any()

    planes = numpy.zeros((3, HEIGHT, WIDTH), numpy.uint8)  # as networks like them
    frame.to_rgb(planes.transpose(1, 2, 0))
    assert (planes == window.transpose(2, 0, 1)).all()


def refuse(error, call, *arguments):
    try:
        call(*arguments)
    except error as refusal:
        print(f"  {error.__name__}: {str(refusal).splitlines()[0]}")
    else:
        raise AssertionError(f"{arguments} was taken")


def make_mistakes(frame):
    print("\n  The usual mistakes:")
    picture = numpy.zeros((HEIGHT, WIDTH, 3), numpy.uint8)
    refuse(ValueError, frame.to_rgb, picture[:-1])
    refuse(TypeError, frame.to_rgb, picture.astype(numpy.float32))
    refuse(TypeError, frame.to_rgb, picture.tolist())
    picture.flags.writeable = False
    refuse(BufferError, frame.to_rgb, picture)


def borrow(camera):
    """Views keep a buffer out of the camera's hands, whoever holds them."""
    views = [numpy.asarray(camera.capture().luma) for _ in range(3)]  # nobody keeps the frames
    assert camera.lent == 3
    refuse(RuntimeError, camera.capture)
    before = [view.copy() for view in views]
    views.pop()
    assert camera.lent == 2
    newer = numpy.asarray(camera.capture().luma)  # in the buffer that came back
    assert all((view == old).all() for view, old in zip(views, before))
    holder = threading.Thread(target=lambda view: view.sum(), args=(newer,))
    holder.start()
    holder.join()
    del newer, views, holder
    assert camera.lent == 0
    print("  every buffer is back with the camera")


def main():
    camera = padded_frames.Camera(WIDTH, HEIGHT)
    frame, luma = look(camera)
    look_with_torch(frame, luma)
    write(frame)
    make_mistakes(frame)
    del frame, luma
    assert camera.lent == 0
    borrow(camera)


if __name__ == "__main__":
    main()
