"""The interpolated HOG by its definition, in double precision, block by block, pixel by pixel."""

import numpy as np


def gradients(planes):
    """Differences to the right and downwards of the strongest channel, 0 across the border."""
    dx, dy = np.zeros((2, *planes.shape))
    dx[:, :, 1:-1] = planes[:, :, 2:] - planes[:, :, :-2]
    dy[:, 1:-1] = planes[:, 2:] - planes[:, :-2]
    best = (dx**2 + dy**2).argmax(axis=0)[None]
    return np.take_along_axis(dx, best, 0)[0], np.take_along_axis(dy, best, 0)[0]


def interpolated_blocks(planes, cell, size, n):
    """(rows, columns, size, size, n) blocks; planes : (channels, h, w)."""
    dx, dy = gradients(planes.astype(float))
    length = np.hypot(dx, dy)
    angle = np.mod(np.arctan2(dy, dx), np.pi) * n / np.pi - 0.5
    side = cell * size
    ny, nx = (v // cell - size + 1 for v in dx.shape)
    blocks = np.zeros((ny, nx, size, size, n))
    for i, j, y, x in np.ndindex(ny, nx, side, side):
        at = i * cell + y, j * cell + x
        k = int(np.floor(angle[at]))
        weight = np.exp(-((y - side / 2) ** 2 + (x - side / 2) ** 2) / (2 * (side / 4) ** 2))
        for a, b in np.ndindex(size, size):
            near_y = max(0, 1 - abs((y + 0.5) / cell - 0.5 - a))
            near_x = max(0, 1 - abs((x + 0.5) / cell - 0.5 - b))
            vote = length[at] * weight * near_y * near_x
            blocks[i, j, a, b, k % n] += vote * (1 - (angle[at] - k))
            blocks[i, j, a, b, (k + 1) % n] += vote * (angle[at] - k)
    return normalized(blocks, 0.1 * size * size * n, 1e-3)


def normalized(blocks, first, second):
    """L2-Hys with what OpenCV adds to the lengths."""
    axes = (2, 3, 4)
    cut = np.minimum(blocks / (np.sqrt((blocks**2).sum(axes, keepdims=True)) + first), 0.2)
    return cut / (np.sqrt((cut**2).sum(axes, keepdims=True)) + second)
