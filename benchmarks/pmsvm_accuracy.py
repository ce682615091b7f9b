"""How close PmSVM's approximations are to the kernel: the tables of docs/pmsvm.md.

Run ``python benchmarks/pmsvm_accuracy.py``; takes about a minute. Prints Markdown.
"""

# isort: off
from timing import DATA
# isort: on

import numpy as np
from pmsvm_data import bag_of_words
from pmsvm_literal import AD_HOC, chebyshev
from sklearn.datasets import load_digits

from visualwords.classifiers import PmSVMClassifier, kernels
from visualwords.classifiers.additive_kernels import additive_kernel
from visualwords.classifiers.kernel_expansions import (
    eigen_expansion,
    kernel_error,
    polynomial_expansion,
)
from visualwords.classifiers.kernel_tables import make_tables
from visualwords.classifiers.level_rows import (
    LevelRows,
    level_rows,
    level_scale,
    level_weights,
    survey,
)
from visualwords.classifiers.solvers.dual_gram import solve_dual_gram
from visualwords.classifiers.solvers.dual_low_rank import solve_dual_low_rank
from visualwords.classifiers.solvers.problem import dual_problem

GRID = np.linspace(0, 1, 1001)


def header(title: str, *columns: str) -> None:
    print(f"\n### {title}\n\n| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")


def row(*cells: object) -> None:
    text = [f"{cell:.2g}" if isinstance(cell, float) else str(cell) for cell in cells]
    print("| " + " | ".join(text) + " |", flush=True)


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Handwritten digits of 8 × 8 pixels in [0, 1]."""
    path = DATA / "tabular" / "optdigits.npz"
    if path.is_file():
        with np.load(path) as file:
            X, y = (file[n] if n in file else file[f"{n}_train"] for n in ("X", "y"))
    else:
        X, y = load_digits(return_X_y=True)
    return X[:1000].astype(float) / X.max(), y[:1000].astype(int)


def words() -> tuple[np.ndarray, np.ndarray]:
    """Generated bags of words in [0, 1]."""
    X, y, *_ = bag_of_words(600, 1)
    return X.astype(float) / X.max(), y


def exact(X: np.ndarray, y: np.ndarray, p: float, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Gram matrix of the true kernel and the coefficients α y of the SVM, class 0 against all."""
    gram = kernels.power_mean(X, p=p)
    sign = np.where(y == 0, 1.0, -1.0)
    problem = dual_problem(np.arange(y.size), np.full(y.size, C), np.diag(gram), "hinge")
    alpha, *_ = solve_dual_gram(gram, sign[None], problem, tol=1e-6, max_iter=20000, seed=0)
    return gram, alpha[0] * sign


def print_kernel_error() -> None:
    header(
        "Error of the kernel of two numbers, over 1,001 × 1,001 pairs of [0, 1]",
        *["approximation", "χ² (p = −1): mean", "max", "p = −8: mean", "max"],
        *["p = −∞: mean", "max", "Jensen–Shannon: mean", "max"],
    )
    chosen = [additive_kernel("power_mean", p) for p in (-1, -8, -np.inf)]
    chosen.append(additive_kernel("jensen_shannon"))
    ways = {"polynomial, degree 2, ad hoc": lambda k: polynomial_expansion(k, 2, "adhoc")}
    for degree in (2, 3, 4, 5, 8):
        ways[f"polynomial, degree {degree}, Chebyshev"] = lambda k, m=degree: polynomial_expansion(
            k, m
        )
    for rank in (4, 8, 16):
        ways[f"eigen, rank {rank}"] = lambda k, r=rank: eigen_expansion(k, GRID, rank=r)
    ways["**default** (rank 4, 8, 8, 4)"] = lambda k: eigen_expansion(k, GRID)
    for name, make in ways.items():
        errors = [kernel_error(make(kernel), GRID) for kernel in chosen]
        row(name, *[float(f(e)) for e in errors for f in (np.mean, np.max)])


def print_error_on_data() -> None:
    header(
        "Error of the kernel of two samples, relative to the mean kernel (root mean square)",
        *["approximation", "digits, χ²", "digits, p = −8", "words, χ²", "words, p = −8"],
    )
    ways = {
        "polynomial, degree 2, ad hoc": lambda k, *_: polynomial_expansion(k, 2, "adhoc"),
        "polynomial, degree 2, Chebyshev": lambda k, *_: polynomial_expansion(k, 2),
        "polynomial, degree 5, Chebyshev": lambda k, *_: polynomial_expansion(k, 5),
        "eigen, rank 4, uniform weight": lambda k, x, w: eigen_expansion(k, GRID, rank=4),
        "eigen, rank 8, uniform weight": lambda k, x, w: eigen_expansion(k, GRID, rank=8),
        "eigen, rank 4, the data's weight": lambda k, x, w: eigen_expansion(k, x, w, 4),
        "eigen, rank 8, the data's weight": lambda k, x, w: eigen_expansion(k, x, w, 8),
        "**default**": eigen_expansion,
    }
    for name, make in ways.items():
        spacing = "auto" if name.endswith(("data's weight", "default**")) else "uniform"
        cells = []
        for X in (digits()[0][:100], words()[0][:100]):
            found = survey(X, "none")
            scale = level_scale(found, "none", 1000, spacing)
            rows = level_rows(X, scale, np.arange(X.shape[1], dtype=np.uint32))
            for p in (-1, -8):
                kernel = additive_kernel("power_mean", p)
                expansion = make(kernel, scale.values(), level_weights(found, scale))
                score, update = (
                    spread(rows, table(scale.values()).astype(float), X.shape[1])
                    for table in (expansion.score, expansion.update)
                )
                true = kernels.power_mean(X, p=p)
                cells.append(float(np.sqrt(np.mean((score @ update.T - true) ** 2)) / true.mean()))
        row(name, *cells)


def spread(rows: LevelRows, table: np.ndarray, n_columns: int) -> np.ndarray:
    """The vectors of all features of all rows, one after the other."""
    dense = np.zeros((len(rows), n_columns, table.shape[1]))
    where = np.repeat(np.arange(len(rows)), np.diff(rows.bounds))
    dense[where, rows.columns] = table[rows.levels]
    return dense.reshape(len(rows), -1)


def gradient_errors(X: np.ndarray, y: np.ndarray, p: float, ways: dict) -> dict:
    """|approximated g_j − g_j| of Eq. 7 on the grid and its largest value, for every feature j."""
    _, coefficients = exact(X, y, p, C=0.01)
    kernel = additive_kernel("power_mean", p)
    used = np.flatnonzero((X > 0).sum(axis=0) > 20)
    used = used[:: max(1, used.size // 200)]
    x = GRID[1:]  # an absent feature adds nothing, whatever the polynomial is at 0
    true = np.stack([kernel.pairs(x, X[:, j]) @ coefficients for j in used])
    found = {}
    for name, make in ways.items():
        expansion = make(kernel, X)
        score = expansion.score(x).astype(float)
        at = [score @ (expansion.update(X[:, j]).T.astype(float) @ coefficients) for j in used]
        found[name] = np.abs(np.stack(at) - true)
    return {"true": np.abs(true), "used": used, **found}


def data_weights(X: np.ndarray) -> np.ndarray:
    weights = np.bincount(np.rint(X.ravel() * 1000).astype(int), minlength=1001).astype(float)
    weights[0] = 0
    return weights


def print_gradient_tables() -> None:
    ways = {"adhoc": lambda k, X: polynomial_expansion(k, 2, "adhoc")}
    for degree in (2, 3, 4, 5):
        ways[f"degree {degree}"] = lambda k, X, m=degree: polynomial_expansion(k, m)
    ways["default"] = lambda k, X: eigen_expansion(k, GRID, data_weights(X))
    for name, (X, y) in {"digits": digits(), "words": words()}.items():
        found = gradient_errors(X, y, -1, ways)
        top = found["true"].max(axis=1)
        header(
            f"Interpolation of g_j, {name}, χ²: error (of the largest |g_j|)",
            *["j", "max, Chebyshev", "max, ad hoc", "max, default"],
            *["mean, Chebyshev", "mean, ad hoc", "mean, default"],
        )
        for k in (found["used"].size * np.array([0.3, 0.5, 0.7])).astype(int):
            cells = [
                f"{f(found[way][k]):.1e} ({100 * f(found[way][k]) / top[k]:.2f} %)"
                for f in (np.max, np.mean)
                for way in ("degree 2", "adhoc", "default")
            ]
            row(int(found["used"][k]), *cells)
        header(
            f"Relative error of g_j in %, {name}, χ², over {top.size} features",
            *["", "max over x, mean over j", "mean over x and j"],
        )
        for way in ways:
            relative = 100 * found[way][top > 0] / top[top > 0, None]
            row(way, float(relative.max(axis=1).mean()), float(relative.mean()))


def print_convergence() -> None:
    for name, (X, y), C in (("digits", digits(), 0.1), ("words", words(), 0.1)):
        X, y = X[:500], y[:500]
        for p in (-1, -8):
            gram, coefficients = exact(X, y, p, C)
            sign = np.where(y == 0, 1.0, -1.0)
            best = primal(gram, coefficients, sign, C)
            header(
                f"Against the exact SVM, {name}, p = {p}, n = 500, C = {C}",
                *["model", "gap of the objective", "max error of a score", "same signs in %"],
            )
            ways = {f"polynomial, degree {m}": {"degree": m} for m in (2, 3, 5, 8)}
            for how in ways.values():
                how["approximation"] = "polynomial"
            ways["polynomial, degree 2, ad hoc"] = {"approximation": "polynomial", "nodes": "adhoc"}
            ways |= {f"eigen, rank {r}": {"rank": r} for r in (4, 8, 16)}
            ways |= {
                f"eigen, rank 16, b = {b}": {"rank": 16, "table_size": b} for b in (10, 100, 10000)
            }
            ways["eigen, rank 16, no table"] = {"rank": 16, "table_size": None}
            ways["**default**"] = {}
            for way, how in ways.items():
                model = PmSVMClassifier(p, C=C, tol=1e-3, **how)
                scores = model.fit(X, sign).decision_function(X)
                c = dual_coefficients(model, X, sign)
                gap = (primal(gram, c, sign, C) - best) / best
                error = np.abs(scores - gram @ coefficients)
                same = 100 * np.mean((scores > 0) == (gram @ coefficients > 0))
                row(way, float(gap), float(error.max()), f"{same:.1f}")


def dual_coefficients(model: PmSVMClassifier, X: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """α y of a model, which does not keep them: its solver run once more."""
    tables = make_tables(survey(X, "global"), model.get_params())
    rows, score, values = tables.read(X, np.arange(X.shape[1], dtype=np.uint32))
    update, curvature = tables.update(score, values)
    _, alpha, *_ = solve_dual_low_rank(
        *([rows], [len(rows)], X.shape[1], (sign > 0).astype(int), [1]),
        *(np.full(len(rows), model.C), rows.sums(curvature), score, update),
        tol=model.tol,
        max_iter=model.max_iter,
        seed=0,
    )
    return alpha[:, 0] * sign


def primal(gram: np.ndarray, coefficients: np.ndarray, sign: np.ndarray, C: float) -> float:
    """½‖w‖² + C Σ hinge of the true kernel's machine with these coefficients."""
    scores = gram @ coefficients
    return 0.5 * coefficients @ scores + C * np.maximum(1 - sign * scores, 0).sum()


def print_table_error() -> None:
    header(
        "Largest table error for x in [0, 1], degree 2, χ² (Sec. 5.1 states < 0.001 at b = 1000)",
        *["b", "E1, level below", "E1, nearest level", "mean", "E2, level below, Chebyshev"],
        *["E2, nearest", "mean", "E2, nearest, ad hoc"],
    )
    x = np.linspace(0, 1, 200_001)
    kernel = additive_kernel("power_mean", -1)
    for b in (10, 100, 1000, 10000):
        cells: list[float] = []
        below, nearest = np.floor(b * x) / b, np.rint(b * x) / b
        cells += [np.abs(np.log(below + 0.05) - np.log(x + 0.05)).max()]
        error = np.abs(np.log(nearest + 0.05) - np.log(x + 0.05))
        cells += [error.max(), error.mean()]
        for nodes in (chebyshev(2), AD_HOC):
            inverse = np.linalg.inv(np.vander(np.log(nodes + 0.05), increasing=True))
            true = kernel.pairs(x, nodes) @ inverse.T
            for at in (below, nearest):
                error = np.abs(kernel.pairs(at, nodes) @ inverse.T - true).sum(axis=1)
                cells += [error.max(), error.mean()]
        row(b, *[float(v) for v in (*cells[:4], *cells[5:7], cells[9])])


def main() -> None:
    print_kernel_error()
    print_error_on_data()
    print_gradient_tables()
    print_convergence()
    print_table_error()


if __name__ == "__main__":
    main()
