import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers import ICDClassifier


@pytest.fixture
def histograms(rng):
    """Three overlapping classes of count histograms."""
    y = rng.integers(0, 3, 90)
    X = rng.poisson(0.5 + 2 * rng.random((3, 8))[y])
    return X, np.array(["coast", "forest", "street"])[y]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("n_classes", "n_levels"), [(2, 4), (3, 30), (9, 30)])
def test_levels_that_training_never_saw_lie_between_those_it_did(rng, form, n_classes, n_levels):
    X = 10 * rng.integers(0, n_levels, (90, 700))
    X[:, 3] = 0  # a feature with a table of one cell
    model = ICDClassifier(quantization="integer").fit(X, np.arange(90) % n_classes)
    assert model.get_state()["table_levels"].size == n_levels
    T, features = model.tables_, np.arange(700)
    for new in (X, rng.integers(0, 10 * n_levels + 3, (70, 700))):
        levels = np.minimum(new, T.shape[2] - 1)
        expected = T[:, features, levels].sum(axis=2).T
        scores = model.decision_function(form(new)).reshape(len(new), -1)
        np.testing.assert_allclose(scores, expected, atol=1e-4)
        added = model.contributions(form(new[:1])).sum(axis=0)
        np.testing.assert_allclose(added, expected[0], atol=1e-4)


def test_tables_explain_the_score(histograms):
    X, y = histograms
    model = ICDClassifier(quantization="integer").fit(X, y)
    T = model.tables_
    assert T.dtype == np.float32
    assert T.shape == (3, X.shape[1], X.max() + 1)
    scores = np.array([[T[c, np.arange(8), x].sum() for c in range(3)] for x in X])
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-5, atol=1e-6)


def test_the_rule_that_chooses_the_solver(rng):
    wide = rng.poisson(1.0, (30, 200))
    assert ICDClassifier().fit(wide, np.arange(30) % 2).solver_ == "gram"
    tall = rng.poisson(1.0, (5000, 2))
    assert ICDClassifier().fit(tall, np.arange(5000) % 2).solver_ == "primal"
    assert ICDClassifier(loss="hinge").fit(tall, tall[:, 0] > 1).solver_ == "dual"
    many = rng.integers(0, 100, (17_000, 5))
    with pytest.raises(ValueError, match="solver='gram' needs 1,15"):
        ICDClassifier(solver="gram").fit(many, np.arange(17_000) % 2)


@pytest.mark.parametrize(
    "wrong",
    [
        *[{"C": 0}, {"tol": -1}, {"loss": "log"}, {"solver": "fast"}, {"multi_class": "ovo"}],
        *[{"solver": "primal", "loss": "hinge"}, {"quantization": "log"}, {"order": "sorted"}],
    ],
)
def test_wrong_parameters_are_refused(histograms, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong)) if len(wrong) == 1 else "hinge"):
        ICDClassifier(**wrong).fit(*histograms)


def test_class_weights_and_sample_weights_agree(histograms):
    X, y = histograms
    weight = np.where(y == "coast", 3.0, 1.0)
    by_class = ICDClassifier(class_weight={"coast": 3.0}, quantization="integer").fit(X, y)
    by_sample = ICDClassifier(quantization="integer").fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(by_class.tables_, by_sample.tables_)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("table_offsets", lambda v: v * 1000),
        ("table_offsets", lambda v: v[:-1]),
        ("table_offsets", lambda v: v[::-1].copy()),
        ("table_values", lambda v: v[:-1]),
        ("table_values", lambda v: v[:, :1]),
        ("table_values", lambda v: np.full_like(v, np.nan)),
        ("table_levels", lambda v: v[:2]),
        ("table_levels", lambda v: v[::-1].copy()),
        ("n_features", lambda v: v + 1),
    ],
)
def test_a_state_that_does_not_belong_together_is_refused(rng, name, spoil):
    X, y = rng.poisson(3, (60, 7)), rng.integers(0, 3, 60)
    state = ICDClassifier().fit(X, y).get_state()
    state[name] = spoil(state[name])
    with pytest.raises(ValueError, match="do not belong together"):
        ICDClassifier().set_state(state)
