# SPDX-License-Identifier: MIT
"""Trains a small detector of shapes on drawings, and writes what the program needs: detector.pt2, which AOTInductor
compiled, and picture.ppm, a drawing that the detector has not seen.

    pip install -r ../aoti/requirements.txt
    python3 make.py FOLDER

The weights are trained here, from a fixed seed, in some seconds on one thread.
"""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "aoti"))
from export import export  # noqa: E402

SIDE, CELL = 128, 8
CELLS = SIDE // CELL


def draw(count, shapes):
    """Pictures of up to four circles, squares and triangles on uneven grounds, their boxes and kinds."""
    y, x = torch.meshgrid(torch.arange(SIDE) + 0.5, torch.arange(SIDE) + 0.5, indexing="ij")
    slope = torch.rand(count, 3, 2, 1, 1) - 0.5
    ground = 0.45 + 0.5 * (slope[:, :, 0] * x + slope[:, :, 1] * y) / SIDE
    pictures = ground + 0.06 * torch.randn(count, 3, SIDE, SIDE)
    boxes, kinds = torch.zeros(count, shapes, 4), torch.randint(3, (count, shapes))
    quarters = torch.rand(count, 4).argsort(1)[:, :, None, None]  # each shape is in another
    for i in range(shapes):
        half = 7 + 13 * torch.rand(count, 1, 1)
        u = half + (SIDE / 2 - 2 * half) * torch.rand(count, 1, 1) + quarters[:, i] % 2 * SIDE / 2
        v = half + (SIDE / 2 - 2 * half) * torch.rand(count, 1, 1) + quarters[:, i] // 2 * SIDE / 2
        dx, dy = x - u, y - v
        circle = dx * dx + dy * dy <= half * half
        square = (dx.abs() <= half) & (dy.abs() <= half)
        triangle = (dy <= half) & (dx.abs() * 2 <= dy + half)
        kind = kinds[:, i, None, None]
        inside = torch.where(kind == 0, circle, torch.where(kind == 1, square, triangle))
        color = torch.rand(count, 3, 1, 1)
        color = torch.where((color - 0.45).abs() < 0.3, (color + 0.5) % 1, color)
        pictures = torch.where(inside[:, None], color + 0.03 * torch.randn(count, 3, SIDE, SIDE), pictures)
        boxes[:, i] = torch.cat((u - half, v - half, u + half, v + half), 2)[:, 0]
    return pictures.clamp(0, 1), boxes, kinds


class Neighbours(nn.Module):
    """A convolution of 3 by 3 as one product of matrices, which AOTInductor generates: the program needs no kernel."""

    def __init__(self, channels):
        super().__init__()
        self.linear = nn.Linear(9 * channels, channels)

    def forward(self, x):
        h, w = x.shape[1:3]
        padded = functional.pad(x, (0, 0, 1, 1, 1, 1))
        around = [padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3)]
        return torch.relu(x + self.linear(torch.cat(around, 3)))


class Detector(nn.Module):
    """Of each cell of 8 by 8 pixels: scores of the three kinds, and the distances to the box's sides."""

    def __init__(self, channels=48):
        super().__init__()
        self.cells = nn.Linear(3 * CELL * CELL, channels)
        self.layers = nn.Sequential(*(Neighbours(channels) for _ in range(4)))
        self.scores, self.sides = nn.Linear(channels, 3), nn.Linear(channels, 4)

    def features(self, pictures):
        n = pictures.shape[0]
        x = pictures.reshape(n, 3, CELLS, CELL, CELLS, CELL).permute(0, 2, 4, 1, 3, 5)
        x = self.layers(torch.relu(self.cells(x.reshape(n, CELLS, CELLS, -1) - 0.5)))
        return self.scores(x), self.sides(x)

    def boxes(self, sides):
        at = (torch.arange(CELLS) + 0.5) * CELL
        x, y = at.expand(CELLS, CELLS), at[:, None].expand(CELLS, CELLS)
        left, top, right, bottom = (functional.softplus(sides) * CELL).unbind(3)
        return torch.stack((x - left, y - top, x + right, y + bottom), 3)

    def forward(self, picture):
        """Of one picture: 256 boxes, the best score of each, and its kind."""
        scores, sides = self.features(picture)
        best = torch.sigmoid(scores).reshape(-1, 3).max(1)
        return self.boxes(sides).reshape(-1, 4), best.values, best.indices


def loss_of(detector, pictures, boxes, kinds):
    scores, sides = detector.features(pictures)
    at = (torch.arange(CELLS) + 0.5) * CELL
    x, y = at.expand(CELLS, CELLS), at[:, None].expand(CELLS, CELLS)
    wanted = torch.zeros_like(scores)
    found = detector.boxes(sides)
    error, cells = 0, 1
    for i in range(boxes.shape[1]):
        box = boxes[:, i, None, None]
        center, half = (box[..., :2] + box[..., 2:]) / 2, (box[..., 2] - box[..., 0]) / 2
        near = torch.maximum((x - center[..., 0]).abs(), (y - center[..., 1]).abs()) < torch.clamp(half * 0.6, min=5)
        wanted[near] = functional.one_hot(kinds[:, i, None, None].expand_as(near)[near], 3).float()
        overlap = (torch.minimum(found, box)[..., 2:] - torch.maximum(found, box)[..., :2]).clamp(min=0).prod(-1)
        area = (found[..., 2:] - found[..., :2]).prod(-1) + (2 * half) ** 2 - overlap
        error = error + (1 - overlap / area)[near].sum()
        cells = cells + near.sum()
    certain = torch.sigmoid(scores)
    focus = torch.where(wanted > 0, 0.7 * (1 - certain) ** 2, 0.3 * certain**2)
    classes = functional.binary_cross_entropy_with_logits(scores, wanted, reduction="none") * focus
    return classes.sum() / cells + error / cells


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    detector = Detector()
    steps = 500
    optimizer = torch.optim.AdamW(detector.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for step in range(steps):
        loss = loss_of(detector, *draw(16, 3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"step {step + 1}: loss {loss.item():.3f}")
    torch.manual_seed(4)
    pictures = draw(1, 4)[0]
    bytes_of = (pictures[0].permute(1, 2, 0) * 255).round().to(torch.uint8).numpy().tobytes()
    (folder / "picture.ppm").write_bytes(b"P6\n%d %d\n255\n" % (SIDE, SIDE) + bytes_of)
    print("detector.pt2:", export(detector, (pictures,), folder / "detector.pt2", dynamic_shapes=(None,)))


main()
