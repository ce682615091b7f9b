"""Loops of the search for near duplicates: an index of the images that stand for others."""

import numpy as np

from visualwords.compiled import njit

N_COLORS = 3  # coordinates of an image that are its mean colour; the others are of its pattern
GRID = (0, 3, 4, 5, 6)  # coordinates that the index divides into cells of side 1
ROUNDED = np.float32(1.0001)  # distances that rounding must not put beyond the limit
PRIMES = (73856093, 19349663, 83492791, 49979687, 67867979)


@njit()
def bucket_of(cell, n_buckets):
    """Return the place of a cell in a table of a power of two of buckets."""
    code = np.int64(0)
    for k in range(len(GRID)):
        code ^= cell[k] * PRIMES[k]
    return code & (n_buckets - 1)


@njit()
def is_in_cell(low, j, cell):
    """Return whether an image lies in a cell; a bucket may have images of others."""
    equal = True
    for k in range(len(GRID)):
        equal &= np.int64(np.floor(low[j, GRID[k]])) == cell[k]
    return equal


@njit()
def distance(low, i, j, start, stop, most):
    """Return the squared distance of some coordinates; what exceeds ``most`` is not exact."""
    total = np.float32(0.0)
    for k in range(start, stop):
        step = low[i, k] - low[j, k]
        total += step * step
        if total > most:
            break
    return total


@njit()
def is_within(low, i, j, most):
    """Return whether colours, and projections, lie within a squared distance of each other."""
    if distance(low, i, j, 0, N_COLORS, most) > most:
        return False
    return distance(low, i, j, N_COLORS, low.shape[1], most) <= most


@njit()
def correlation(patterns, low, i, j):
    """Return the correlation of two patterns; -1 if the colours differ by more than 1."""
    if distance(low, i, j, 0, N_COLORS, np.float32(1.0)) > 1:
        return np.float32(-1.0)
    a = np.float32(0.0)  # four sums, whose order no compiler changes
    b = np.float32(0.0)
    c = np.float32(0.0)
    d = np.float32(0.0)
    for k in range(0, patterns.shape[1], 4):
        a += patterns[i, k] * patterns[j, k]
        b += patterns[i, k + 1] * patterns[j, k + 1]
        c += patterns[i, k + 2] * patterns[j, k + 2]
        d += patterns[i, k + 3] * patterns[j, k + 3]
    return (a + b) + (c + d)


@njit()
def candidates(low, i, reach, index, out):
    """Write the leaders whose coordinates lie within ``reach`` of image i's; return how many.

    index : (leaders, their number [1], heads of chains by bucket, next of each leader)
    """
    leaders, n_leaders, heads, following = index
    most = np.float32(reach * reach) * ROUNDED
    side = 2 * reach + 1
    count = 0
    if n_leaders[0] <= side ** len(GRID):  # fewer leaders than cells
        for j in leaders[: n_leaders[0]]:
            if is_within(low, i, j, most):
                out[count] = j
                count += 1
        return count
    cell = np.empty(len(GRID), np.int64)
    for number in range(side ** len(GRID)):
        rest = number
        for k in range(len(GRID)):
            cell[k] = np.int64(np.floor(low[i, GRID[k]])) + rest % side - reach
            rest //= side
        j = heads[bucket_of(cell, len(heads))]
        while j >= 0:
            if is_within(low, i, j, most) and is_in_cell(low, j, cell):
                out[count] = j
                count += 1
            j = following[j]
    return count


@njit()
def insert(low, i, index):
    """Add a leader to the index."""
    leaders, n_leaders, heads, following = index
    leaders[n_leaders[0]] = i
    n_leaders[0] += 1
    cell = np.empty(len(GRID), np.int64)
    for k in range(len(GRID)):
        cell[k] = np.int64(np.floor(low[i, GRID[k]]))
    bucket = bucket_of(cell, len(heads))
    following[i] = heads[bucket]
    heads[bucket] = i


@njit()
def follow_leaders(patterns, low, minimum, index, leader_of, similarity):
    """Give every image the most similar earlier leader that it is near to; else it leads itself.

    leader_of : (n,) int, -1 for images that are not compared; the leaders are written to it
    """
    out = np.empty(len(patterns), np.int64)
    for i in range(len(patterns)):
        if leader_of[i] < 0:
            continue
        leader_of[i] = i
        similarity[i] = 1.0
        best = np.float32(minimum)
        for k in range(candidates(low, i, 1, index, out)):
            found = correlation(patterns, low, i, out[k])
            if found > best or (found == best and (leader_of[i] == i or out[k] < leader_of[i])):
                best = found
                leader_of[i] = out[k]
                similarity[i] = found
        if leader_of[i] == i:
            insert(low, i, index)


@njit()
def root_of(parent, i):
    """Return the name of a component, shortening the way to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit()
def similar_member(patterns, low, minimum, i, members):
    """Return the first of some images that is near to image i, and how near; -1 if none is."""
    for j in members:
        if is_within(low, i, j, ROUNDED):
            found = correlation(patterns, low, i, j)
            if found >= minimum:
                return j, found
    return np.int64(-1), np.float32(0.0)


@njit()
def join_sets(patterns, low, minimum, index, leader_of, members, starts, links):
    """Find one pair of images for sets that are near each other, unless others connect them.

    Images a and b of sets with leaders L and M are near only if a is within 2 of M.

    members, starts : the images by their leaders, the leader first in each set
    links : (pairs (n, 2), similarity (n,)); returns how many were written
    """
    pairs, similarity = links
    n_links = 0
    parent = leader_of.copy()
    out = np.empty(len(patterns), np.int64)
    for i in range(len(patterns)):
        if leader_of[i] < 0 or leader_of[i] == i:
            continue
        for k in range(candidates(low, i, 2, index, out)):
            other = out[k]
            if root_of(parent, other) == root_of(parent, i):
                continue
            some = members[starts[other] : starts[other + 1]]
            j, found = similar_member(patterns, low, minimum, i, some)
            if j >= 0:
                pairs[n_links, 0] = min(i, j)
                pairs[n_links, 1] = max(i, j)
                similarity[n_links] = found
                n_links += 1
                parent[root_of(parent, other)] = root_of(parent, i)
    return n_links
