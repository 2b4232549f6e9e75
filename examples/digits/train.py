# SPDX-License-Identifier: MIT
"""Writes the digit images and the weights that the demo in this folder reads.

    pip install -r requirements.txt
    python3 train.py               # writes data/*.npy
    python3 train.py --validate    # 5-fold check within the training images, writes nothing

The network is 64 -> 32 -> 10: hidden = relu(w1 @ pixels / 16 + b1), scores = w2 @ hidden + b2.
scikit-learn only supplies the images; split, training and rounding are plain NumPy.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

DATA = Path(__file__).resolve().parent / "data"
SEED = 3
TEST_COUNT = 450

# Chosen with --validate, so the held-out images had no say in them.
HIDDEN = 32
EPOCHS = 100
BATCH = 32
LEARNING_RATE = 0.01
WEIGHT_DECAY = 0.1
LABEL_SMOOTHING = 0.1  # targets of 0.91 and 0.01 instead of 1 and 0: with so few images it generalises better

# Weights are stored as multiples of 1/64. All sums then fit in float32's 24 bits, so whatever order a program adds in
# (SIMD, fused multiply-add, BLAS) it gets the same scores. It also hides that another CPU's BLAS rounds differently
# during training, so that a rerun there writes the same files.
GRID = 64


def stratified_split(labels, count, rng):
    """Returns (rest, chosen): `count` sorted image numbers, each digit in proportion, and the others."""
    by_label = np.lexsort((rng.random(len(labels)), labels))  # shuffled within each digit
    chosen = np.sort(by_label[np.arange(count) * len(labels) // count])
    return np.setdiff1d(np.arange(len(labels)), chosen), chosen


def forward(weights, x):
    w1, b1, w2, b2 = weights
    hidden = np.maximum(x @ w1.T + b1, 0)
    return hidden, hidden @ w2.T + b2


def accuracy(weights, x, labels):
    return np.mean(forward(weights, x)[1].argmax(axis=1) == labels)


def train(x, labels, rng):
    """Adam on the cross-entropy with smoothed labels; decoupled weight decay; a step size that falls linearly to 0."""
    weights = [
        rng.normal(0, np.sqrt(2 / 64), (HIDDEN, 64)),
        np.zeros(HIDDEN),
        rng.normal(0, np.sqrt(2 / HIDDEN), (10, HIDDEN)),
        np.zeros(10),
    ]
    mean = [np.zeros_like(w) for w in weights]
    square = [np.zeros_like(w) for w in weights]
    target = np.eye(10)[labels] * (1 - LABEL_SMOOTHING) + LABEL_SMOOTHING / 10
    steps = EPOCHS * -(-len(x) // BATCH)
    step = 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(x))
        for first in range(0, len(x), BATCH):
            batch = order[first : first + BATCH]
            hidden, scores = forward(weights, x[batch])
            softmax = np.exp(scores - scores.max(axis=1, keepdims=True))
            softmax /= softmax.sum(axis=1, keepdims=True)
            d_scores = (softmax - target[batch]) / len(batch)
            d_hidden = d_scores @ weights[2] * (hidden > 0)
            gradients = [d_hidden.T @ x[batch], d_hidden.sum(axis=0), d_scores.T @ hidden, d_scores.sum(axis=0)]

            rate = LEARNING_RATE * (1 - step / steps)
            step += 1
            for w, g, m, s in zip(weights, gradients, mean, square):
                m += 0.1 * (g - m)
                s += 0.001 * (g * g - s)
                w -= rate * (m / (1 - 0.9**step) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8) + WEIGHT_DECAY * w)
    return [(np.round(w * GRID) / GRID).astype(np.float32) for w in weights]


def check_exact(weights):
    """Fails unless no partial sum, in any order, can need more than float32's 24 bits for pixels in 0..16."""
    w1, b1, w2, b2 = (np.abs(w).astype(np.float64) for w in weights)
    hidden = w1.sum(axis=1) + b1  # inputs are at most 1, and multiples of 1/16
    scores = w2 @ hidden + b2
    if hidden.max() * 16 * GRID > 2**24 or scores.max() * 16 * GRID * GRID > 2**24:
        raise SystemExit("the weights are too large for exact float32 sums: raise WEIGHT_DECAY or lower GRID")


def validate(x, labels):
    """Trains five times, each time without a fifth of the training images, and prints the accuracy on that fifth."""
    fold = np.empty(len(x), int)
    fold[np.lexsort((np.random.default_rng(SEED).random(len(x)), labels))] = np.arange(len(x)) % 5
    found = []
    for k in range(5):
        weights = train(x[fold != k], labels[fold != k], np.random.default_rng(SEED + 1))
        found.append(accuracy(weights, x[fold == k], labels[fold == k]))
        print(f"fold {k}: {found[-1]:.2%}")
    print(f"mean: {np.mean(found):.2%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--validate", action="store_true", help="cross-validate within the training images only")
    validate_only = parser.parse_args().validate

    digits = load_digits()
    images = np.ascontiguousarray(digits.images, dtype=np.uint8)
    labels = digits.target.astype(np.uint8)
    train_index, test_index = stratified_split(labels, TEST_COUNT, np.random.default_rng(SEED))
    x = images.reshape(-1, 64) / 16.0

    if validate_only:
        validate(x[train_index], labels[train_index])
        return

    weights = train(x[train_index], labels[train_index], np.random.default_rng(SEED + 1))
    check_exact(weights)
    for name, index in (("training", train_index), ("held-out", test_index)):
        share = accuracy(weights, x[index], labels[index])
        print(f"{name} images: {share * len(index):.0f} of {len(index)} right ({share:.2%})")

    DATA.mkdir(exist_ok=True)
    files = {"images": images, "labels": labels, "test_index": test_index.astype(np.int32)}
    files.update(zip(("w1", "b1", "w2", "b2"), weights))
    for name, array in files.items():
        np.save(DATA / f"{name}.npy", array)


if __name__ == "__main__":
    main()
