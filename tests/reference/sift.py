"""Dense SIFT by its definition, in double precision, one patch at a time."""

import numpy as np


def gradient(grey):
    """Central differences to the right and upwards, 0 at the border."""
    grey = grey.astype(float)
    dx, dy = np.zeros((2, *grey.shape))
    if min(grey.shape) >= 3:
        dx[1:-1, 1:-1] = (grey[1:-1, 2:] - grey[1:-1, :-2]) / 2
        dy[1:-1, 1:-1] = (grey[:-2, 1:-1] - grey[2:, 1:-1]) / 2
    return dx, dy


def votes(grey):
    """Length of every pixel's gradient, shared between the two nearest of 8 directions."""
    dx, dy = gradient(grey)
    angle = np.mod(np.arctan2(dy, dx) / (np.pi / 4), 8)
    apart = np.abs(angle[..., None] - np.arange(8))
    return np.hypot(dx, dy)[..., None] * np.maximum(0, 1 - np.minimum(apart, 8 - apart))


def cell(votes, x, y, b):
    """Mean of the votes around pixel (x, y), under a triangle of width 2 b."""
    near_x = np.maximum(0, 1 - np.abs(np.arange(votes.shape[1]) - x) / b)
    near_y = np.maximum(0, 1 - np.abs(np.arange(votes.shape[0]) - y) / b)
    return np.einsum("y,x,yxo->o", near_y, near_x, votes, optimize=True) / b**2


def descriptor(grey, x, y, b, root=False):
    """Descriptor of the patch whose first cell has its centre at pixel (x, y), and its contrast."""
    line = np.exp(-((np.arange(4) - 1.5) ** 2) / 8)
    weights = np.outer(line, line)
    all_votes = votes(grey)
    cells = [[cell(all_votes, x + j * b, y + i * b, b) for j in range(4)] for i in range(4)]
    raw = (np.array(cells) * weights[..., None]).ravel()
    length = np.linalg.norm(raw)
    if length == 0:
        return raw, 0.0
    cut = np.minimum(raw / length, 0.2)
    if root:
        return np.sqrt(cut / cut.sum()), length / np.linalg.norm(weights)
    return cut / np.linalg.norm(cut), length / np.linalg.norm(weights)
