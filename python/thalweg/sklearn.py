"""Estimators for scikit-learn: linear models and factorization machines.

X is a matrix, dense or sparse, of any number of features, or a pandas DataFrame, whose columns of strings are
hashed as categories.
"""

from __future__ import annotations

import numbers
from typing import Any, List, Optional, Tuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (_check_sample_weight, assert_all_finite, check_consistent_length,
                                      check_is_fitted, column_or_1d, validate_data)

from ._model import Model
from ._rows import column_names, is_table
from ._train import TrainResult, train
from ._whole import refuse_masked

__all__ = ["FMClassifier", "FMRegressor", "LogisticRegression"]

#: What scikit-learn's check_estimator asks of every estimator and these do not do, with the reason.
EXCEPTIONS = {
    "check_sample_weight_equivalence_on_dense_data": "rows are learnt from in steps, so a row given twice is not a "
                                                     "row of weight 2",
    "check_sample_weight_equivalence_on_sparse_data": "the same",
}


def _has_categories(data: Any) -> bool:
    """Whether this is a table with columns that are no numbers, which scikit-learn's checks would refuse."""
    if not is_table(data):
        return False
    return not hasattr(data, "dtypes") or any(getattr(dtype, "kind", "O") not in "fiub" for dtype in data.dtypes)


class _Estimator(BaseEstimator):
    """What classifiers and regressors share: X becomes rows, parameters become options of train()."""

    _loss = "logistic"
    _kind = "lr"

    def _check(self, data: Any, reset: bool) -> Any:
        if _has_categories(data):
            if reset:
                names = [str(name) for name in column_names(data)]
                self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
            return data
        refuse_masked(data, "X")
        return validate_data(self, data, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)

    def _check_both(self, data: Any, labels: Any) -> tuple[Any, np.ndarray]:
        if labels is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        refuse_masked(labels, "y")
        data = self._check(data, reset=True)
        labels = column_or_1d(labels, warn=True)
        if not _has_categories(data):
            check_consistent_length(data, labels)
        assert_all_finite(labels)
        return data, labels

    def _options(self) -> dict[str, Any]:
        options = self.get_params(deep=False)
        state = options.pop("random_state")
        if state is not None:
            options["seed"] = state if isinstance(state, numbers.Integral) else int(check_random_state(state).randint(2**31))
        return {name: value for name, value in options.items() if value is not None}

    def _fit(self, data: Any, labels: np.ndarray, sample_weight: Any) -> None:
        if sample_weight is not None:
            refuse_masked(sample_weight, "sample_weight")
            sample_weight = _check_sample_weight(sample_weight, _Counted(len(labels)), dtype=np.float64)
        self.result_: TrainResult = train(data, labels, model=self._kind, loss=self._loss,
                                          sample_weight=sample_weight, keep_bad=True, **self._options())
        self.model_: Model = self.result_.model
        self.n_iter_ = len(self.result_.epochs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _raw(self, data: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.model_.predict_raw(self._check(data, reset=False))


class _Counted:
    """Stands for rows where only their number counts."""

    def __init__(self, count: int) -> None:
        self.shape = (count,)

    def __len__(self) -> int:
        return self.shape[0]


class _Classifier(ClassifierMixin, _Estimator):
    _many_classes = False   # It can tell more than two apart.

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "_Classifier":
        """Learns to tell classes apart."""
        X, y = self._check_both(X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        self._loss = "classes" if len(self.classes_) > 2 else "logistic"
        if len(self.classes_) > 2 and not self._many_classes:
            raise ValueError(f"Only binary classification is supported. The type of the target is {type_of_target(y)}.")
        if len(self.classes_) < 2:
            raise ValueError(f"Classifier can't train when only one class is present: {self.classes_[0]!r}")
        self._fit(X, labels, sample_weight)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The log of the odds of the second class; of more than two a score for each, a column each."""
        return self._raw(X).astype(np.float64)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, a column each."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return softmax(scores, axis=1)
        second = expit(scores)
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> np.ndarray:
        """The likelier class of each row."""
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._many_classes
        return tags


class LogisticRegression(_Classifier):
    """Linear model for two classes, or for more by softmax.

    Parameters are those of thalweg.train: epochs, optimizer ("ftrl", "adagrad", "sgd", ...), rate, l1, l2, batch
    rows a step, shuffle ("rows", "blocks" or "off"), threads; random_state is the seed. What is None is chosen as the program chooses it.
    `coef_` and `intercept_` are those of a matrix's columns, of more than two classes a row for each.
    """

    _many_classes = True

    def __init__(self, *, epochs: int = 10, optimizer: Optional[str] = None, rate: Optional[float] = None,
                 l1: Optional[float] = None, l2: Optional[float] = None, batch: Optional[int] = None,
                 shuffle: str = "rows", data_shards: Optional[int] = None, threads: Optional[int] = None,
                 random_state: Optional[int] = None) -> None:
        self.epochs = epochs
        self.optimizer = optimizer
        self.rate = rate
        self.l1 = l1
        self.l2 = l2
        self.batch = batch
        self.shuffle = shuffle
        self.data_shards = data_shards
        self.threads = threads
        self.random_state = random_state

    @property
    def coef_(self) -> np.ndarray:
        """A row of weights, one a column of the matrix that was trained on, or a row for each of many classes."""
        check_is_fitted(self)
        if "columns" in self.model_.options:
            raise AttributeError("coef_ is of matrices; a table's weights are model_.weights()")
        keys, rows = self.model_.weights()["weights"]
        coefficients = np.zeros((rows.shape[1], self.n_features_in_))
        coefficients[:, keys.astype(np.int64)] = rows.T
        for column, _, scale in self._value_scales():
            coefficients[:, column] /= scale
        return coefficients

    def _value_scales(self) -> List[Tuple[int, float, float]]:
        """(column, what was subtracted from its values in training, what they were divided by then)"""
        scales = []
        for text in filter(None, self.model_.options.get("value-scales", "").split(",")):
            form, scale = text.split("/")
            column, _, offset = form.partition("-")
            scales.append((int(column), float(offset or 0), float(scale)))
        return scales

    @property
    def intercept_(self) -> np.ndarray:
        """The bias, of many classes one for each."""
        check_is_fitted(self)
        bias = self.model_.weights()["bias"][1][0].astype(np.float64)
        if "columns" in self.model_.options:
            return bias
        coefficients = self.coef_
        return bias - sum(coefficients[:, column] * offset for column, offset, _ in self._value_scales())


class FMClassifier(_Classifier):
    """Factorization machine (Rendle, 2010) for two classes: a linear model and the products of pairs of features.

    rank is the number of floats of a feature's factor; the other parameters are LogisticRegression's, and
    factor_rate and factor_l2 those of factors.
    """

    _kind = "fm"

    def __init__(self, *, rank: int = 8, epochs: int = 10, optimizer: Optional[str] = None,
                 rate: Optional[float] = None, l1: Optional[float] = None, l2: Optional[float] = None,
                 factor_rate: Optional[float] = None, factor_l2: Optional[float] = None,
                 init_scale: Optional[float] = None, batch: Optional[int] = None, shuffle: str = "rows",
                 data_shards: Optional[int] = None, threads: Optional[int] = None, random_state: Optional[int] = None) -> None:
        self.rank = rank
        self.epochs = epochs
        self.optimizer = optimizer
        self.rate = rate
        self.l1 = l1
        self.l2 = l2
        self.factor_rate = factor_rate
        self.factor_l2 = factor_l2
        self.init_scale = init_scale
        self.batch = batch
        self.shuffle = shuffle
        self.data_shards = data_shards
        self.threads = threads
        self.random_state = random_state


class FMRegressor(RegressorMixin, _Estimator):
    """Factorization machine for numbers, such as ratings; parameters as FMClassifier's."""

    _kind = "fm"
    _loss = "squared"

    __init__ = FMClassifier.__init__

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "FMRegressor":
        """Learns numbers."""
        X, y = self._check_both(X, y)
        self._fit(X, np.asarray(y, dtype=np.float64), sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """A number for each row."""
        return self._raw(X).astype(np.float64)
