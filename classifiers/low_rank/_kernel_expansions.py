"""Compiled loop of the weights under which kernels are expanded."""

from visualwords.compiled import njit


@njit()
def quadrature(values, weights, uniform, sums, mass):
    """Divide [0, 1] into bins of about the same weight; sums / mass are the nodes.

    values : (m,) increasing      weights : (m,), of which a share ``uniform`` is spread evenly
    sums, mass : (n_bins,) zeros; weighted sum of the values in every bin, and its weight
    """
    total, width, reached = weights.sum(), values[-1] - values[0], 0.0
    for k in range(values.size):
        neighbours = values[min(k + 1, values.size - 1)] - values[max(k - 1, 0)]
        share = neighbours / (2 * width)
        if total > 0:
            share = uniform * share + (1 - uniform) * weights[k] / total
        place = min(int((reached + share / 2) * mass.size), mass.size - 1)
        mass[place] += share
        sums[place] += share * values[k]
        reached += share
