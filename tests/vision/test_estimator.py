"""scikit-learn's contract is kept by estimators that do not derive from its classes."""

import copy
from contextlib import nullcontext
from typing import Self

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from visualwords.classifiers import ICDClassifier, Quantizer
from visualwords.codebook import BagOfWords, KMeansCodebook
from visualwords.estimator import checked_rows

GOOD = np.arange(6, dtype=np.float32).reshape(3, 2)
X, Y = np.random.default_rng(0).random((40, 3)), np.arange(40) % 2


def test_parameters_are_read_set_and_shown_as_those_of_scikit_learn():
    encoder = BagOfWords(KMeansCodebook(5, random_state=1), pyramid=21)
    assert repr(encoder) == (
        "BagOfWords(codebook=KMeansCodebook(n_words=5, random_state=1), pyramid=21)"
    )
    encoder.set_params(codebook__n_words=7, power=0.5)
    assert encoder.get_params()["codebook__n_words"] == encoder.codebook.n_words == 7
    assert "codebook__n_words" not in encoder.get_params(deep=False)
    encoder.set_params(codebook=KMeansCodebook(3), codebook__root=True)
    assert repr(encoder.codebook) == "KMeansCodebook(n_words=3, root=True)"
    with pytest.raises(ValueError, match="Invalid parameter 'words' for estimator KMeansCodebook"):
        encoder.set_params(codebook__words=9)
    copied = clone(encoder)
    assert copied.get_params().keys() == encoder.get_params().keys()
    assert copied.codebook is not encoder.codebook


def test_tags_are_those_of_classes_that_derive_from_scikit_learn():
    class TheirClassifier(ClassifierMixin, BaseEstimator):
        pass

    class TheirTransformer(TransformerMixin, BaseEstimator):
        pass

    assert is_classifier(ICDClassifier())
    expected = get_tags(TheirClassifier())
    expected.input_tags.sparse = True
    assert get_tags(ICDClassifier()) == expected
    expected = get_tags(TheirTransformer())
    expected.input_tags.sparse = True
    expected.transformer_tags.preserves_dtype = []
    assert get_tags(Quantizer()) == expected


def test_weights_are_routed_through_a_pipeline_to_who_asks_for_them():
    weight = np.arange(40) % 3
    with config_context(enable_metadata_routing=True):
        asking = ICDClassifier().set_fit_request(sample_weight=True)
        asking.set_score_request(sample_weight=False)
        routed = make_pipeline(MinMaxScaler(), asking).fit(X, Y, sample_weight=weight)
        scores = cross_val_score(asking, X, Y, params={"sample_weight": weight}, cv=2)
    direct = ICDClassifier().fit(MinMaxScaler().fit_transform(X), Y, weight)
    assert np.array_equal(
        routed.decision_function(X), direct.decision_function(routed[0].transform(X))
    )
    assert scores.shape == (2,)


@pytest.mark.parametrize("by", ["method", "configuration", "column transformer"])
def test_outputs_are_tables_where_scikit_learn_is_asked_for_them(by):
    pd = pytest.importorskip("pandas")
    codebook = KMeansCodebook(3, random_state=0).fit(X)
    if by == "method":
        found = codebook.set_output(transform="pandas").transform(X)
    elif by == "configuration":
        with config_context(transform_output="pandas"):
            found = codebook.transform(X)
    else:
        columns = ColumnTransformer([("words", KMeansCodebook(3, random_state=0), [0, 1, 2])])
        found = columns.set_output(transform="pandas").fit_transform(X)
    assert isinstance(found, pd.DataFrame)
    assert [name.split("__")[-1] for name in found] == ["word0", "word1", "word2"]


def test_a_transform_that_calls_that_of_its_parent_is_put_into_a_table_once():
    pd = pytest.importorskip("pandas")

    class Doubled(KMeansCodebook):
        def transform(self, X):
            return 2 * super().transform(X)

    doubled = Doubled(3, random_state=0).fit(X)
    plain = KMeansCodebook(3, random_state=0).fit(X).transform(X)
    assert np.array_equal(doubled.transform(X), 2 * plain)
    table = doubled.set_output(transform="pandas").transform(X)
    assert isinstance(table, pd.DataFrame)
    assert np.array_equal(table, 2 * plain)


def test_notebooks_and_copies_take_estimators_for_scikit_learns():
    model = ICDClassifier(C=0.5).fit(X, Y)
    assert "ICDClassifier" in model._repr_html_()
    assert "text/html" in make_pipeline(model)._repr_mimebundle_()
    again = copy.deepcopy(model)
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_probabilities_are_there_only_when_they_are_asked_for():
    assert not hasattr(ICDClassifier(), "predict_proba")
    with pytest.raises(AttributeError, match="no predict_proba without probability=True"):
        ICDClassifier().predict_proba(X)
    chances = ICDClassifier(probability=True).fit(X, Y).predict_proba(X)
    assert np.allclose(chances.sum(axis=1), 1)


def test_what_was_not_learned_is_named_before_it_is_missed():
    with pytest.raises(NotFittedError, match="this ICDClassifier is not fitted"):
        ICDClassifier().predict(X)
    for name in "predicted", "set_words", "_words":
        with pytest.raises(
            AttributeError, match=f"'ICDClassifier' object has no attribute '{name}'"
        ):
            getattr(ICDClassifier(), name)


class Rows(BaseEstimator):
    def fit(self, X: np.ndarray) -> Self:
        validate_data(self, X)
        return self


def same(one: object, other: object) -> bool:
    return np.array_equal(*(x.toarray() if sparse.issparse(x) else x for x in (one, other)))


@pytest.mark.parametrize("dtype", ["numeric", (np.float64, np.float32)])
@pytest.mark.parametrize("accept_sparse", ["csr", False])
def test_checked_rows_are_those_of_scikit_learn(dtype, accept_sparse):
    rows = [GOOD.astype(kind) for kind in ("uint8", "int64", "float16", "float32", "longdouble")]
    rows += [GOOD.tolist(), GOOD[0], GOOD[:0], GOOD[:, :1], np.asfortranarray(GOOD), None]
    rows += [GOOD.astype(object), GOOD.astype(str), GOOD.astype(complex), np.ma.array(GOOD)]
    rows += [np.where(GOOD == 4, wrong, GOOD) for wrong in (np.nan, np.inf, -np.inf)]
    rows += [np.array([[np.inf, -np.inf]]), np.full((2, 2), 1e308)]
    csr = sparse.csr_array(GOOD)
    rows += [csr, sparse.csr_matrix(csr), csr.tocsc(), csr * np.nan, csr[:, :1], csr.astype("u1")]
    for learned in Rows().fit(GOOD), MinMaxScaler().fit(GOOD):
        for one in rows:
            with np.errstate(all="ignore"):
                try:
                    how = {"dtype": dtype, "accept_sparse": accept_sparse}
                    expected = validate_data(learned, one, reset=False, **how)
                except (ValueError, TypeError) as problem:
                    outcome = pytest.raises(type(problem))
                else:
                    outcome = nullcontext()
                with outcome:
                    found = checked_rows(learned, one, dtype, accept_sparse)
            if isinstance(outcome, nullcontext):
                assert type(found) is type(expected)
                assert found.dtype == expected.dtype
                assert same(found, expected)


def test_rows_without_the_names_of_columns_that_were_learned_are_warned_of():
    pd = pytest.importorskip("pandas")
    learned = Rows().fit(pd.DataFrame(GOOD, columns=["a", "b"]))
    with pytest.warns(UserWarning, match="valid feature names"):
        checked_rows(learned, GOOD)
