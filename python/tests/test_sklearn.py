"""Estimators as scikit-learn uses them."""

import numpy as np
import pyarrow
import pytest
import scipy.sparse
import thalweg
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks
from thalweg import train
from thalweg.sklearn import EXCEPTIONS, FMClassifier, FMRegressor, LogisticRegression


@parametrize_with_checks([LogisticRegression(), FMClassifier(), FMRegressor()],
                         expected_failed_checks=lambda estimator: EXCEPTIONS)
def test_checks(estimator, check):
    if check.func.__name__ == "check_array_api_input":
        return  # Asks for a variable of the environment, and these take numpy's arrays.
    check(estimator)


def test_a_linear_model_has_coefficients(clicks):
    matrix, labels = clicks
    model = LogisticRegression(epochs=5).fit(matrix, labels)
    scores = matrix @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(matrix), scores, atol=1e-4)
    assert model.score(matrix, labels) > 0.8
    assert model.predict_proba(matrix).shape == (len(labels), 2)


def test_columns_of_any_size_have_coefficients_in_their_unit(clicks):
    matrix, labels = clicks
    sizes = np.ones(matrix.shape[1])
    sizes[::3] = 20000
    large = matrix.multiply(sizes).tocsr().astype(np.float32)
    model = LogisticRegression(epochs=5).fit(large, labels)
    assert "value-scales" in model.model_.options
    scores = large @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(large), scores, atol=1e-3)
    assert model.score(large, labels) > 0.8


def test_columns_far_from_zero_are_learnt_as_well_and_have_coefficients_where_they_stand():
    random = np.random.default_rng(3)
    spread, weights = random.normal(size=(2000, 8)), random.normal(size=8)
    labels = (spread @ weights > 0).astype(int)
    far = spread * [1, 1, 1, 1, 20, 20, 20, 20] + [5, -5, 4, 0, 100, -100, 60, 0]
    model = LogisticRegression(epochs=20).fit(far, labels)
    assert "0-" in model.model_.options["value-scales"]
    assert model.score(far, labels) > 0.95
    np.testing.assert_allclose(model.decision_function(far), far @ model.coef_[0] + model.intercept_, atol=2e-3)
    np.testing.assert_allclose(model.decision_function(far * 0), np.full(2000, model.intercept_[0]), rtol=1e-3)


def test_classes_may_be_words(clicks):
    matrix, labels = clicks
    words = np.where(labels > 0, "yes", "no")
    model = LogisticRegression().fit(matrix, words)
    assert list(model.classes_) == ["no", "yes"]
    assert (model.predict(matrix) == words).mean() > 0.8


def test_a_linear_model_tells_many_classes_apart():
    random = np.random.default_rng(5)
    matrix, weights = random.normal(size=(3000, 12)), random.normal(size=(12, 4))
    names = np.array(["north", "east", "south", "west"])[(matrix @ weights).argmax(axis=1)]
    model = LogisticRegression().fit(matrix, names)
    assert model.score(matrix, names) > 0.9 and list(model.classes_) == ["east", "north", "south", "west"]
    scores = matrix @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(matrix), scores, atol=1e-3)
    shares = model.predict_proba(matrix)
    np.testing.assert_allclose(shares, model.model_.predict_probabilities(matrix), atol=1e-6)
    assert (model.classes_[shares.argmax(axis=1)] == model.predict(matrix)).all()
    two = names[(names == "east") | (names == "west")]
    assert model.fit(matrix[:len(two)], two).decision_function(matrix).ndim == 1
    with pytest.raises(ValueError, match="Only binary"):
        FMClassifier().fit(matrix, names)


def test_a_random_state_is_the_seed(clicks):
    states = (None, 0, np.int64(0), 7, np.random.RandomState(7), np.random.RandomState(7))
    first, zero, same, seven, drawn, again = (
        FMClassifier(epochs=1, random_state=state).fit(*clicks).model_.digest for state in states)
    assert zero == same and drawn == again and len({first, zero, seven, drawn}) == 4


def test_tables_with_words(table):
    features, labels = table.drop(columns="click"), table.click
    model = LogisticRegression(epochs=3).fit(features, labels)
    assert model.score(features, labels) > 0.6
    for form in features, pyarrow.Table.from_pandas(features):
        fitted = LogisticRegression().fit(form, labels)
        assert fitted.feature_names_in_.tolist() == list(features.columns) and fitted.n_features_in_ == features.shape[1]
    with pytest.raises(AttributeError, match="coef_ is of matrices"):
        model.coef_


def test_search_and_pipelines(clicks):
    search = GridSearchCV(LogisticRegression(epochs=2), {"l2": [1, 100]}, cv=3).fit(*clicks)
    assert search.best_params_["l2"] in (1, 100)
    assert cross_val_score(FMClassifier(epochs=2), *clicks, cv=3, scoring="roc_auc").mean() > 0.75


def test_machines_learn_what_linear_models_cannot():
    random = np.random.default_rng(1)
    pairs = random.integers(0, 12, (6000, 2))
    ratings = np.where((pairs.sum(axis=1)) % 2, 1.0, 4.0)
    model = make_pipeline(OneHotEncoder(), FMRegressor(rank=4, epochs=30, init_scale=0.3)).fit(pairs, ratings)
    assert model.score(pairs, ratings) > 0.9
    same = make_pipeline(OneHotEncoder(), FMRegressor(rank=4, epochs=30, init_scale=0.3)).fit(pairs, ratings)
    np.testing.assert_array_equal(model.predict(pairs), same.predict(pairs))


def test_sparse_and_dense_are_one_model(clicks):
    matrix, labels = clicks
    sparse = FMClassifier().fit(matrix, labels)
    dense = FMClassifier().fit(matrix.toarray(), labels)
    np.testing.assert_array_equal(sparse.predict_proba(matrix), dense.predict_proba(scipy.sparse.csc_matrix(matrix)))


def test_a_model_that_is_worse_than_none_is_warned_of(caplog, monkeypatch):
    random = np.random.default_rng(0)
    matrix, numbers = random.random((400, 5)), random.normal(size=400)
    monkeypatch.setattr("thalweg.sklearn.train", lambda *rows, **options: train(*rows, valid=(matrix, -9 * numbers), **options))
    fitted = FMRegressor(epochs=2).fit(matrix, 9 * numbers + 100)
    assert any("worse than" in line for line in fitted.result_.warnings)
    assert set(fitted.result_.warnings) <= {record.getMessage() for record in caplog.records if record.levelname == "WARNING"}


def test_masked_cells_are_refused(clicks):
    matrix, labels = clicks
    rows, labels = matrix[:200].toarray(), labels[:200]
    hidden = np.ma.masked_greater(rows, 0.9)
    for data, y, weights, name in ((hidden, labels, None, "X"), (rows, np.ma.masked_greater(labels, 0), None, "y"),
                                   (rows, labels, np.ma.masked_greater(labels, 0), "sample_weight")):
        with pytest.raises(thalweg.InputError, match=f"{name}: [0-9]+ masked cells, expected none"):
            FMRegressor().fit(data, y, weights)
    with pytest.raises(thalweg.InputError, match="X: [0-9]+ masked cells"):
        LogisticRegression().fit(rows, labels).predict(hidden)
