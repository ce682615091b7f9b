"""Loops of feature sets: points projected, sorted into ever finer bins, and found there again."""

import numpy as np

from visualwords.compiled import njit

_FEW = 24  # members up to which insertion beats counting
_MANY = 1 << 14  # members from which long digits beat short ones


@njit()
def pack_codes(points, origin, tags, first, last, shift, spread, codes):
    """Interleave bits of coordinates: those of one bit plane of all columns lie together.

    codes[k] = Σ_j spread[(points[row, j] - origin[j]) >> shift] << (j - first), row = tags[k] low

    points : (n, d) int32, C order       origin : (d,) int32       tags : (m,) uint64
    spread : (2^planes,) uint64, bit b moved to position b (last - first)
    """
    mask = np.int32(spread.size - 1)
    for k in range(tags.size):
        row = np.uint32(tags[k])
        code = np.uint64(0)
        for j in range(first, last):
            digit = np.uint32(((points[row, j] - origin[j]) >> shift) & mask)
            code |= spread[digit] << np.uint64(j - first)
        codes[k] = code


@njit()
def _sort_few(codes, tags, begin, end, shift):
    """Sort by codes >> shift, by insertion; equal ones keep their order."""
    for k in range(begin + 1, end):
        code, tag, hole = codes[k], tags[k], k
        while hole > begin and (codes[hole - 1] >> shift) > (code >> shift):
            codes[hole], tags[hole] = codes[hole - 1], tags[hole - 1]
            hole -= 1
        codes[hole], tags[hole] = code, tag


@njit()
def _scatter(codes, tags, where, to_codes, to_tags):
    """Stable counting sort by one digit; False, and nothing done, where all digits are equal.

    where : first and last member, shift and mask of the digit, and room for the counts
    """
    begin, end, shift, mask, counts = where
    counts[: mask + np.uint64(1)] = 0
    for k in range(begin, end):
        counts[(codes[k] >> shift) & mask] += 1
    if counts[(codes[begin] >> shift) & mask] == end - begin:
        return False
    place = begin
    for digit in range(mask + np.uint64(1)):
        place, counts[digit] = place + counts[digit], place
    for k in range(begin, end):
        digit = (codes[k] >> shift) & mask
        to_codes[counts[digit]], to_tags[counts[digit]] = codes[k], tags[k]
        counts[digit] += 1
    return True


@njit()
def sort_inside_bins(codes, tags, starts, low, width):
    """Sort the members of every bin, starts[b] … starts[b + 1] - 1, by ``width`` bits of codes.

    The bits above those are equal inside a bin. Stable; lowest digit first.
    """
    spare_codes, spare_tags = np.empty_like(codes), np.empty_like(tags)
    counts = np.empty(1 << 12, np.int64)
    for b in range(starts.size - 1):
        begin, end = starts[b], starts[b + 1]
        if end - begin <= _FEW:
            _sort_few(codes, tags, begin, end, np.uint64(low))
            continue
        digit = 12 if end - begin >= _MANY else 8
        here = True
        for done in range(0, width, digit):
            mask = np.uint64((1 << min(digit, width - done)) - 1)
            where = (begin, end, np.uint64(low + done), mask, counts)
            if here:
                here = not _scatter(codes, tags, where, spare_codes, spare_tags)
            else:
                here = _scatter(spare_codes, spare_tags, where, codes, tags)
        if not here:
            codes[begin:end] = spare_codes[begin:end]
            tags[begin:end] = spare_tags[begin:end]


@njit()
def split_bins(codes, tags, starts, low, least, boundary, bins, members):
    """Split bins where codes >> low differ, keep those with enough sets, count points per set.

    tags : set << 32 | row; codes and tags become those of the bins kept
    least : number of sets that a bin needs
    boundary : if > 0, a bin also needs a set below it and one that is not
    bins = (starts, parents, member_starts) and members = (sets, counts) are filled; returns how
    many points, bins and members there are.
    """
    new_starts, parents, member_starts = bins
    sets, counts = members
    shift = np.uint64(low)
    n_points, n_bins, n_members = 0, 0, 0
    new_starts[0] = member_starts[0] = 0
    for b in range(starts.size - 1):
        k = starts[b]
        while k < starts[b + 1]:
            begin, code, first = k, codes[k] >> shift, n_members
            while k < starts[b + 1] and codes[k] >> shift == code:
                owner = np.int32(tags[k] >> np.uint64(32))
                if n_members == first or sets[n_members - 1] != owner:
                    sets[n_members], counts[n_members] = owner, 0
                    n_members += 1
                counts[n_members - 1] += 1
                k += 1
            enough = n_members - first >= least
            if not enough or not (boundary == 0 or sets[first] < boundary <= sets[n_members - 1]):
                n_members = first
                continue
            for i in range(begin, k):
                codes[n_points], tags[n_points] = codes[i], tags[i]
                n_points += 1
            parents[n_bins] = b
            n_bins += 1
            new_starts[n_bins], member_starts[n_bins] = n_points, n_members
    return n_points, n_bins, n_members


@njit()
def find_children(codes, bins, child_starts, child_codes):
    """bins[k] becomes the child of bins[k] whose code is codes[k]; -1 if there is none.

    child_codes : (n,) uint64, ascending inside child_starts[b] … child_starts[b + 1] - 1
    """
    for k in range(codes.size):
        if bins[k] < 0:
            continue
        low, end = child_starts[bins[k]], child_starts[bins[k] + 1]
        high = end
        while low < high:
            middle = (low + high) // 2
            if child_codes[middle] < codes[k]:
                low = middle + 1
            else:
                high = middle
        bins[k] = low if low < end and child_codes[low] == codes[k] else np.int64(-1)


@njit()
def project_rows(x, axes, offset, out):
    """out[i] = x[i] @ axes - offset.

    x : (n, d)    axes : (d, m) float32, C order    offset : (m,) float32    out : (n, m) float32
    """
    total = np.empty(axes.shape[1], np.float32)
    for i in range(x.shape[0]):
        total[:] = -offset
        for k in range(x.shape[1]):
            value = np.float32(x[i, k])
            for j in range(total.size):
                total[j] += value * axes[k, j]
        out[i] = total
