"""Saved models: what they predict and what they know."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import tempfile
from typing import Any, Mapping, Optional, Union

import numpy as np

from . import _core
from ._errors import InputError, IoError, MissingError
from ._folder import Folder
from ._rows import sources_of
from ._whole import whole

Path = Union[str, "os.PathLike[str]"]
MANIFEST = "model.json"


def stored_options(directory: Path) -> Mapping[str, str]:
    """How the model there was trained; empty where there is none, which whoever loads it tells."""
    try:
        options = json.loads((pathlib.Path(directory) / MANIFEST).read_bytes())["options"]
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return options if isinstance(options, dict) else {}


class Model:
    """A trained model in memory; any number of threads may use it at once.

    `Model.load` opens a directory that `thalweg train --out`, `train(out=...)` or `Model.save` wrote.
    """

    def __init__(self, directory: Path, keep: Optional[Folder] = None) -> None:
        self._directory = os.path.abspath(os.fspath(directory))
        self._keep = keep
        if not os.path.isdir(self._directory):
            raise MissingError(f"{directory}: no such directory", "IO")
        self._saved = _core.SavedModel.load(self._directory)

    @classmethod
    def load(cls, directory: Path) -> "Model":
        """The model in a directory. Errors: FileNotFoundError, RuntimeError for one that is damaged."""
        return cls(directory)

    def save(self, directory: Path) -> None:
        """Writes the model to a directory that is new, empty, or has a model, which is replaced; a link stays one."""
        source, target = self._files(), pathlib.Path(os.path.realpath(directory))
        if target.exists() and (not target.is_dir() or (any(target.iterdir()) and not (target / MANIFEST).exists())):
            raise InputError(f"{directory}: is there and is no model; expected a new directory", "USAGE")
        if target.exists() and target.samefile(source):
            return
        if target.exists() and target.samefile(os.curdir):
            raise InputError(f"{directory}: is the working directory; expected another", "USAGE")
        try:
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as staging:
                copy = pathlib.Path(staging) / "model"
                shutil.copytree(source, copy)
                if target.exists():
                    target.rename(pathlib.Path(staging) / "old")
                copy.rename(target)
        except OSError as wrong:
            raise IoError(f"cannot save a model at {target}: {wrong}", "IO") from wrong

    def predict(self, data: Any, *, on_bad_row: int = 0) -> np.ndarray:
        """The prediction for each row, float32: a probability for logistic loss, for classes the likeliest one.

        `data` is what `train` takes; columns and hashing are those that the model was trained with, and labels
        need not be there. A model of a table takes no matrix, nor the other way around, and one of a matrix only those
        of as many columns. Up to `on_bad_row` rows that cannot be read are answered NaN in their place.
        """
        return self._score(data, "prediction", on_bad_row)

    def predict_raw(self, data: Any, *, on_bad_row: int = 0) -> np.ndarray:
        """What each prediction is made of: for logistic loss the log of the odds, and of a model of classes the score
        of each, of shape (rows, classes)."""
        return self._score(data, "class_score" if self.loss == "classes" else "score", on_bad_row)

    def predict_probabilities(self, data: Any, *, on_bad_row: int = 0) -> np.ndarray:
        """Of a model of classes the probability of each, of shape (rows, classes), whose rows add up to 1; of
        logistic loss that of label 1, as predict(). Errors: ValueError for other losses."""
        if self.loss == "classes":
            return self._score(data, "class_probability", on_bad_row)
        if self.loss != "logistic":
            raise InputError(f"a model of {self.loss} loss has no probabilities; expected one of logistic or classes", "USAGE")
        return self._score(data, "prediction", on_bad_row)

    def weights(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """By table of the model, such as "bias", "weights" and "factors": keys, and a row of numbers for each.

        A key is the number of a matrix's column, or the hash of what stands in a table's.
        """
        return self._saved.weights()

    @property
    def name(self) -> str:
        """"lr", "fm", ..."""
        return self._saved.name

    @property
    def loss(self) -> str:
        """"logistic", "squared", "poisson" or "classes"."""
        return self._saved.loss

    @property
    def options(self) -> Mapping[str, str]:
        """How it was trained, as the program's flags would say it."""
        return self._saved.options

    @property
    def metrics(self) -> Mapping[str, float]:
        """What was measured when it was trained."""
        return self._saved.metrics

    @property
    def digest(self) -> str:
        """16 digits that equal models share."""
        return f"{self._saved.digest:016x}"

    def _files(self) -> pathlib.Path:
        """The directory that it was loaded from, which has what is not in memory, such as the optimizer's state. Errors:
        OSError where that directory is gone, or has another model by now."""
        try:
            found = json.loads((pathlib.Path(self._directory) / MANIFEST).read_bytes())["digest"]
        except (OSError, ValueError, LookupError, TypeError) as wrong:
            raise IoError(f"{self._directory}: the files of this model are gone or damaged, so that it can predict and no more: "
                          f"{wrong}", "IO") from wrong
        if found != self.digest:
            raise IoError(f"{self._directory}: has model {found} now, which took the place of this one, {self.digest}; it can "
                          "predict and no more; save a model elsewhere before another is written there", "IO")
        return pathlib.Path(self._directory)

    def _score(self, data: Any, answer: str, on_bad_row: int) -> np.ndarray:
        whole(on_bad_row, "on_bad_row", 0, 2**63)
        files, rows = sources_of(data, self.options)
        return self._saved.score(files, rows, answer, on_bad_row)

    def __repr__(self) -> str:
        return f"<thalweg.Model {self.name} {self.digest}>"

    def __getstate__(self) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in self._files().iterdir() if file.is_file()}

    def __setstate__(self, files: dict[str, bytes]) -> None:
        keep = Folder()
        for name, content in files.items():
            (pathlib.Path(keep.name) / name).write_bytes(content)
        self.__init__(keep.name, keep)  # type: ignore[misc]
