"""Two stochastic solvers of the HIK SVM, in their plainest form: baselines of ICD.

Both take one random sample at a time, shrink w and, where the margin is violated, step towards the
sample in the unary space of [Wu10], Eq. (4), on the table of Eq. (9), without ever making vectors
of that space. They differ in the step sizes.

- PWLSGD (Maji and Berg, 2009) is Pegasos: step 1/(λt), shrinking by 1 − 1/t.
- SIKMA (Wang, Hoiem, Forsyth, 2009) is online learning with kernels (NORMA): step η/√t, shrinking
  by 1 − λη/√t; here η is ``rate`` over the mean of κ(x, x).
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.papers._stochastic_hik import descend
from benchmarks.papers.cost_choice import held_out_third
from visualwords.classifiers import Quantizer


class StochasticHIK:
    """One-vs-rest HIK SVM by stochastic gradient descent.

    Parameters
    ----------
    scheme : {"pegasos", "norma"}
    regularization : float
        λ.
    n_bins : int
        v̄ of the quantisation, [Wu10], Eq. (13).
    n_epochs : int
        Passes over the samples.
    seed : int
    rate : float
        Of "norma".
    """

    def __init__(
        self,
        scheme: str,
        regularization: float,
        n_bins: int = 100,
        n_epochs: int = 5,
        seed: int = 0,
        rate: float = 1.0,
    ):
        self.scheme = scheme
        self.regularization = regularization
        self.n_bins = n_bins
        self.n_epochs = n_epochs
        self.seed = seed
        self.rate = rate

    def fit(self, X: Any, y: np.ndarray) -> "StochasticHIK":
        """Learn one table a class, or one for two classes."""
        self.quantizer_ = Quantizer(n_bins=self.n_bins).fit(X)
        levels = np.ascontiguousarray(self.quantizer_.transform(X), np.uint8)
        self.classes_ = np.unique(y)
        positives = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        rng = np.random.default_rng(self.seed)
        self.tables_ = np.stack([self._table(levels, y == name, rng) for name in positives])
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return Σ_j T[j, x_j] of every class, (n, n_classes)."""
        levels = self.quantizer_.transform(X).astype(np.intp)
        columns = np.arange(levels.shape[1])
        return np.stack([table[columns, levels].sum(axis=1) for table in self.tables_], axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Return class numbers."""
        scores = self.decision_function(X)
        if len(self.classes_) == 2:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]

    def _table(self, levels: np.ndarray, positive: np.ndarray, rng: np.random.Generator) -> Any:
        signs = np.where(positive, np.float32(1), np.float32(-1))
        order = np.concatenate([rng.permutation(len(signs)) for _ in range(self.n_epochs)])
        steps, shrinks = self._schedule(len(order), levels.sum(axis=1).mean())
        table = np.zeros((levels.shape[1], self.n_bins + 1), np.float32)
        descend(levels, signs, order, steps, shrinks, table)
        return table

    def _schedule(self, n: int, self_similarity: float) -> tuple[np.ndarray, np.ndarray]:
        time = np.arange(2, n + 2)  # from 2: Pegasos' first step would shrink w to nothing
        if self.scheme == "pegasos":
            return 1 / (self.regularization * time), 1 - 1 / time
        steps = self.rate / self_similarity / np.sqrt(time)
        return steps, 1 - np.minimum(self.regularization * steps, 0.5)


def choose_on_third(X: Any, y: np.ndarray, candidates: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the parameters with the best accuracy on a third of the training rows."""
    some, other = held_out_third(y)

    def accuracy(parameters: dict[str, Any]) -> float:
        model = StochasticHIK(**parameters).fit(X[some], y[some])
        return float(np.mean(model.predict(X[other]) == y[other]))

    return max(candidates, key=accuracy)
