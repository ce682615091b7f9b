"""SVMs with additive kernels by definition: kernels of two numbers, the exact dual solution."""

import numpy as np


def power_mean(x, y, p):
    """M_p of two numbers  ([Yang12], Eq. 4)."""
    if min(x, y) == 0:
        return 0.0
    if np.isneginf(p):
        return min(x, y)
    return ((x**p + y**p) / 2) ** (1 / p)


def jensen_shannon(x, y):
    """[Yang12], Sec. 4.1."""
    if min(x, y) == 0:
        return 0.0
    return x / 2 * np.log2((x + y) / x) + y / 2 * np.log2((x + y) / y)


def gram(X, Y, kernel):
    """K[i, j] = sum_k kernel(X[i, k], Y[j, k])."""
    return np.array([[sum(map(kernel, x, y)) for y in Y] for x in X])


def solve_dual(K, y, cost, passes=3000):
    """Cyclic coordinate descent on Eq. 5 until nothing moves; returns alpha."""
    Q = K * np.outer(y, y)
    alpha = np.zeros(y.size)
    for _ in range(passes):
        before = alpha.copy()
        for i in range(y.size):
            gradient = Q[i] @ alpha - 1
            alpha[i] = min(max(alpha[i] - gradient / max(Q[i, i], 1e-12), 0), cost[i])
        if np.abs(alpha - before).max() < 1e-12:
            break
    return alpha


def dual_objective(K, y, alpha):
    """f(alpha) of Eq. 5."""
    return 0.5 * (alpha * y) @ K @ (alpha * y) - alpha.sum()


def paper_polynomial(kernel, x, y, nodes):
    """Sum_k a_k ln(x + 0.05)^k with a = X^-1 kernel(nodes, y)  (Eq. 8 and Algorithm 2)."""
    vandermonde = np.vander(np.log(nodes + 0.05), increasing=True)
    a = np.linalg.solve(vandermonde, np.array([kernel(c, y) for c in nodes]))
    return sum(a[k] * np.log(x + 0.05) ** k for k in range(nodes.size))
