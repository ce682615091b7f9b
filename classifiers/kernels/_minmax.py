"""Compiled loops for sums of minima of real numbers, in dense tiles.

Rows ``first … last − 1`` of ``out`` are filled so that threads can share a matrix; of a symmetric
one only j <= i and what lies in the same tile.
"""

from visualwords.compiled import njit

TILE_ROWS, TILE_COLUMNS = 4, 2  # eight running sums and six loads: what 16 registers hold
DEPTH = 2048  # features at a time: the rows of a tile stay in the nearest caches
BREADTH = 32  # columns at a time: these stay in the second-level cache


@njit(fastmath=True)
def _tile(x0, x1, x2, x3, y0, y1, i, j, out):
    """out[i + r, j + c] += sum_k min(x_r[k], y_c[k]); the compiler keeps the sums in vectors."""
    a = b = c = d = e = f = g = h = x0.dtype.type(0)
    for k in range(x0.size):
        p, q = y0[k], y1[k]
        a += min(x0[k], p)
        b += min(x1[k], p)
        c += min(x2[k], p)
        d += min(x3[k], p)
        e += min(x0[k], q)
        f += min(x1[k], q)
        g += min(x2[k], q)
        h += min(x3[k], q)
    out[i, j] += a
    out[i + 1, j] += b
    out[i + 2, j] += c
    out[i + 3, j] += d
    out[i, j + 1] += e
    out[i + 1, j + 1] += f
    out[i + 2, j + 1] += g
    out[i + 3, j + 1] += h


@njit(fastmath=True)
def _pair(x, y):
    """sum_k min(x[k], y[k])."""
    total = x.dtype.type(0)
    for k in range(x.size):
        total += min(x[k], y[k])
    return total


@njit()
def dense_rows(x, y, first, last, symmetric, out):
    """out[i, j] = sum_k min(x[i, k], y[j, k])  [Li16, Eq. (3)].

    x, y : (n, d), (m, d) float32 or float64, C order, finite     out : (n, m), same type
    """
    out[first:last] = 0
    columns = min(last, y.shape[0]) if symmetric else y.shape[0]
    for k in range(0, x.shape[1], DEPTH):
        end = min(k + DEPTH, x.shape[1])
        for left in range(0, columns, BREADTH):
            right = min(left + BREADTH, columns)
            for i in range(first, last, TILE_ROWS):
                if not symmetric or i + TILE_ROWS > left:
                    _row_of_tiles(x, y, (i, min(i + TILE_ROWS, last)), (left, right), (k, end), out)


@njit()
def _row_of_tiles(x, y, rows, columns, features, out):
    """Some features of up to four rows of x against rows of y; ranges are (first, end)."""
    (top, bottom), (left, right), (k, end) = rows, columns, features
    whole = right - (right - left) % TILE_COLUMNS
    if bottom - top < TILE_ROWS:
        whole = left
    else:
        x0, x1, x2, x3 = x[top, k:end], x[top + 1, k:end], x[top + 2, k:end], x[top + 3, k:end]
        for j in range(left, whole, TILE_COLUMNS):
            _tile(x0, x1, x2, x3, y[j, k:end], y[j + 1, k:end], top, j, out)
    for j in range(whole, right):
        for i in range(top, bottom):
            out[i, j] += _pair(x[i, k:end], y[j, k:end])
