"""The loop that looks for the nearest of many signatures."""

import numpy as np

from visualwords.compiled import njit


@njit(fastmath={"reassoc", "nsz"})
def nearest_squares(rows, signatures, scales, out):
    """out[i] = min_k ‖rows[i] − scales[k] · signatures[k]‖².

    rows : (n, c) float32      signatures : (m, c) int8      scales : (m,) float32
    out : (n,) float64, infinite where there are no signatures
    """
    for i in range(rows.shape[0]):
        row, least = rows[i], np.float32(np.inf)
        for k in range(signatures.shape[0]):
            signature, scale = signatures[k], scales[k]
            square = np.float32(0)
            for c in range(np.uint64(row.size)):
                difference = row[c] - scale * np.float32(signature[c])
                square += difference * difference
            least = min(least, square)
        out[i] = least


@njit()
def project(rows, matrix, out):
    """out += rows · matrix, without the zeros of the rows, of which histograms have many.

    rows : (n, d) float32      matrix : (d, c) float32      out : (n, c) float32
    """
    for i in range(rows.shape[0]):
        target = out[i]
        for j in range(rows.shape[1]):
            value = rows[i, j]
            if value != np.float32(0):
                line = matrix[j]
                for c in range(np.uint64(target.size)):
                    target[c] += value * line[c]
