"""Slow, obvious definitions of the kernels."""

import numpy as np
from scipy.integrate import quad


def split(u):
    """[Li16], Eq. (1), one vector."""
    v = np.zeros(2 * len(u))
    for i, value in enumerate(u):
        if value > 0:
            v[2 * i] = value
        else:
            v[2 * i + 1] = -value
    return v


def gram(function, X, Y):
    return np.array([[function(x, y) for y in Y] for x in X]).reshape(len(X), len(Y))


def intersection(x, y):
    return np.minimum(x, y).sum()


def gmm(u, v):
    u, v = split(u), split(v)
    top, bottom = np.minimum(u, v).sum(), np.maximum(u, v).sum()
    return top / bottom if bottom else 0.0


def unit(u):
    mass = np.abs(u).sum()
    return u / mass if mass else u


def gint(u, v):
    return intersection(unit(split(u)), unit(split(v)))


def ngmm(u, v):
    return gmm(unit(u), unit(v))


def power_mean(x, y, p):
    return sum(((s**p + t**p) / 2) ** (1 / p) for s, t in zip(x, y) if s > 0 and t > 0)


def jensen_shannon(x, y):
    return sum(
        s / 2 * np.log2((s + t) / s) + t / 2 * np.log2((s + t) / t)
        for s, t in zip(x, y)
        if s > 0 and t > 0
    )


def gcs_integral(u, n):
    """[Boughorbel06], Eq. (3), by quadrature."""
    return quad(lambda t: np.cos(t) ** n, np.arcsin(min(u, 1.0)), np.pi / 2, epsabs=1e-13)[0]


def gcs_recursion(u, n):
    """[Boughorbel06], Eq. (4), with the factor 1/2 that its φ₂ lacks."""
    if n == 1:
        return 1 - u
    if n == 2:
        return 0.5 * (np.arccos(u) - u * np.sqrt(1 - u * u))
    below = gcs_recursion(u, n - 2)
    return (n - 1) / n * below - u / n * (1 - u * u) ** ((n - 1) / 2)
