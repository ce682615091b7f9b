"""Compiled loops for sums of minima of real numbers: dense tiles and inverted lists.

Every function fills rows ``first … last − 1`` of ``out`` so that threads can share a matrix; of
a symmetric one only j <= i and what lies in the same tile. ``mirror`` copies the rest.
"""

from visualwords.compiled import njit

TILE_ROWS, TILE_COLUMNS = 4, 2  # eight running sums and six loads: what 16 registers hold
DEPTH = 2048  # features at a time: the rows of a tile stay in the nearest caches
BREADTH = 32  # columns at a time: these stay in the second-level cache


@njit(fastmath=True)
def _tile(x0, x1, x2, x3, y0, y1, one, i, j, out):
    """out[i + r, j + c] += sum_k min(x_r[k], y_c[k]); the compiler keeps the sums in vectors.

    one : 1, which the compiler must not know: minima and sums then go to different units of the
    processor, the sums as multiply-adds, a fifth faster
    """
    a = b = c = d = e = f = g = h = x0.dtype.type(0)
    for k in range(x0.size):
        p, q = y0[k], y1[k]
        a += one * min(x0[k], p)
        b += one * min(x1[k], p)
        c += one * min(x2[k], p)
        d += one * min(x3[k], p)
        e += one * min(x0[k], q)
        f += one * min(x1[k], q)
        g += one * min(x2[k], q)
        h += one * min(x3[k], q)
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
def dense_rows(x, y, one, first, last, symmetric, out):
    """out[i, j] = sum_k min(x[i, k], y[j, k])  [Li16, Eq. (3)].

    x, y : (n, d), (m, d) float32 or float64, C order, finite     out : (n, m), same type
    one : 1 of that type
    """
    out[first:last] = 0
    columns = min(last, y.shape[0]) if symmetric else y.shape[0]
    for k in range(0, x.shape[1], DEPTH):
        end = min(k + DEPTH, x.shape[1])
        for left in range(0, columns, BREADTH):
            right = min(left + BREADTH, columns)
            for i in range(first, last, TILE_ROWS):
                if not symmetric or i + TILE_ROWS > left:
                    _row_of_tiles(x, y, one, i, min(i + TILE_ROWS, last), left, right, k, end, out)


@njit()
def _row_of_tiles(x, y, one, top, bottom, left, right, k, end, out):
    """Features k … end − 1 of up to four rows of x against rows left … right − 1 of y."""
    whole = right - (right - left) % TILE_COLUMNS
    if bottom - top < TILE_ROWS:
        whole = left
    else:
        x0, x1, x2, x3 = x[top, k:end], x[top + 1, k:end], x[top + 2, k:end], x[top + 3, k:end]
        for j in range(left, whole, TILE_COLUMNS):
            _tile(x0, x1, x2, x3, y[j, k:end], y[j + 1, k:end], one, top, j, out)
    for j in range(whole, right):
        for i in range(top, bottom):
            out[i, j] += _pair(x[i, k:end], y[j, k:end])


@njit()
def sparse_rows(indptr, indices, data, lists, members, values, first, last, symmetric, out):
    """The same sums over the features that both rows have, by inverted lists.

    indptr, indices, data : CSR of x     lists, members, values : CSC of y, members ascending
    """
    out[first:last] = 0
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            k, v = indices[p], data[p]
            for q in range(lists[k], lists[k + 1]):
                j = members[q]
                if symmetric and j > i:
                    break
                out[i, j] += min(v, values[q])


@njit()
def mirror(out):
    """Copy the lower triangle to the upper one, by squares that fit the cache."""
    for top in range(0, out.shape[0], 64):
        for left in range(0, top + 64, 64):
            for i in range(top, min(top + 64, out.shape[0])):
                for j in range(left, min(left + 64, i)):
                    out[j, i] = out[i, j]


@njit()
def ratio_rows(sums, sx, sy, first, last):
    """sums[i, j] /= sx[i] + sy[j] − sums[i, j]: from sums of minima to min/max  [Li16, Eq. (2)].

    0/0, of two rows without any mass, is 0.
    """
    for i in range(first, last):
        for j in range(sums.shape[1]):
            maxima = sx[i] + sy[j] - sums[i, j]
            sums[i, j] = sums[i, j] / maxima if maxima > 0 else 0.0
