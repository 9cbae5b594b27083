"""Training a model: one call."""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from . import _core
from ._errors import InputError, JobError, in_python
from ._folder import Folder
from ._model import Model, stored_options
from ._rows import (ANY, COLUMNS, FIELDS, NO_COLUMN, equal_weights, fields_from, fields_text, file_names, is_files, is_table,
                    own_label, refuse_no_rows, rows_of, width_of)

TrainEpoch = _core.TrainEpoch
TrainProgress = _core.TrainProgress
_LOG = logging.getLogger("thalweg")
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING)


@dataclasses.dataclass(frozen=True)
class TrainResult:
    """What a training came to: the model, and the numbers."""

    model: Model
    examples: int  #: Rows learnt from, over all passes.
    seconds: float
    samples_per_second: float
    train_loss: float  #: Mean over the last pass, of each row before it was learnt.
    progressive_loss: float  #: The same of the first pass.
    valid_loss: Optional[float]
    valid_accuracy: Optional[float]
    epochs: Sequence[TrainEpoch]
    best_epoch: int  #: By the loss on held-out rows, from 1; 0 where there are none.
    kept_epoch: int  #: Whose model this is; 0 where no pass was whole.
    skipped_rows: int  #: Bad ones.
    model_rows: int  #: Of all sparse tables.
    stopped: bool  #: A callback ended it early.
    notes: Sequence[str]
    warnings: Sequence[str]
    #: Of each training of `sweep`: its settings, "valid_loss", "model_digest", "seconds" and whether it was "kept".
    sweep: Sequence[dict[str, Any]] = ()

    @property
    def metrics(self) -> dict[str, float]:
        """Of the held-out rows by this model, by name; empty where there are none."""
        held_out = next((epoch.held_out for epoch in self.epochs if epoch.number == self.kept_epoch), None)
        return {} if held_out is None else dict(held_out.metrics)


def _show(progress: TrainProgress) -> None:
    loss = "" if progress.train_loss is None else f"  loss {progress.train_loss:.5f}"
    part = "" if progress.done is None else f"  {100 * progress.done:.0f} %"
    print(f"\repoch {progress.epoch}  {progress.examples} examples{part}{loss}", end="", file=sys.stderr, flush=True)


def _show_epoch(epoch: TrainEpoch) -> None:
    held_out = "" if epoch.held_out is None else f"  held-out logloss {epoch.held_out.logloss:.5f}"
    if epoch.held_out is not None and epoch.held_out.logloss != epoch.held_out.logloss:
        name = "deviance" if "deviance" in epoch.held_out.metrics else "rmse"
        held_out = f"  held-out {name} {epoch.held_out.metrics[name]:.5f}"
    print(f"\repoch {epoch.number}  {epoch.examples} examples  train loss {epoch.train_loss:.5f}{held_out}",
          file=sys.stderr, flush=True)


def train(data: Any, y: Any = None, *, model: Optional[str] = None, sample_weight: Any = None, valid: Any = None,
          valid_part: Optional[int] = None, epochs: Optional[int] = None, shuffle: Optional[str] = None,
          keep: Optional[str] = None, patience: Optional[int] = None, keep_bad: Optional[bool] = None, loss: Optional[str] = None,
          optimizer: Optional[str] = None, rate: Optional[float] = None, l1: Optional[float] = None,
          l2: Optional[float] = None, rank: Optional[int] = None, batch: Optional[int] = None, seed: int = 1,
          columns: Optional[str] = None, label_column: Optional[str] = None, weight_column: Optional[str] = None,
          hash_bits: Optional[int] = None, interactions: Optional[str] = None, sweep: Optional[str] = None,
          column_fields: Any = None, threads: Optional[int] = None,
          data_shards: Optional[int] = None, init: Union[Model, str, "os.PathLike[str]", None] = None,
          init_weights: Union[Model, str, "os.PathLike[str]", None] = None, out: Union[str, "os.PathLike[str]", None] = None,
          progress: Union[bool, Callable[[TrainProgress], Any]] = False,
          on_epoch: Optional[Callable[[TrainEpoch], Any]] = None, **options: Any) -> TrainResult:
    """Trains a model and returns it with the numbers; what `thalweg train` does, by the same names.

    data: files (a path, a glob or a list of them), a numpy matrix, a scipy sparse matrix, a pandas DataFrame or an
        Arrow table. A matrix's features are its columns' numbers, as in a libsvm file that counts from 0; a table's
        are hashed as those of the same table as CSV: numbers are numeric, all else categories, unless `columns`
        says otherwise.
    model: "lr", "fm", "ffm" or a dense one; by default that of `init` or `init_weights`, else "lr".
    y, sample_weight: a number for each row. Files have their own, and so may tables, by `label_column`.
    valid: held-out rows: a file or glob, or (X, y) or (X, y, sample_weight), or a table with its label.
        `valid_part=10` holds out each tenth row of `data` instead.
    shuffle: "rows" draws the training rows in random order, "blocks" parts of them, "off" leaves them as they are.
    keep: with held-out rows the model is that of the "best" pass, or of the "last"; patience=3 ends the training once
        three passes in a row were no better. A model that is worse than the mean label for every row is an error,
        unless keep_bad.
    loss: "logistic", "squared", "poisson" of counts, or "classes" of labels 0, 1, 2, ...
    interactions: features of pairs of columns, namespaces or fields for lr, as "user*item,C1*C14", or "*" for all.
    sweep: trains once for each combination, as "rate=0.05,0.1;l2=1,10", on rows that are read once, and keeps the
        model that is best on held-out rows; `TrainResult.sweep` has the others' numbers.
    column_fields: for ffm, the field of each column of a matrix.
    init: a model, or the directory of one, that the training goes on with; init_weights: without its optimizer state.
    out: where the model is saved; by default it lives as long as `TrainResult.model`.
    progress: True writes a line to standard error; a function gets a `TrainProgress` ten times a second. Where it
        returns False, the training ends early, wherever it is, and keeps what it has learnt.
    on_epoch: gets a `TrainEpoch` once after each pass, in order, while the training waits. Where it returns False, that
        pass is the last: the model is the one of as many epochs, or the best of these where the best is kept; of a
        sweep the training is the last too.
    options: other flags of `thalweg train`, with underscores: factor_rate=, algorithm="ssp:4", context=, from_command=, memory=, ...
        docs/python.md lists those that are the program's alone.

    Errors: ValueError (thalweg.InputError) for wrong arguments and data, OSError, TimeoutError, RuntimeError; all
    are thalweg.Error. Ctrl-C ends it with KeyboardInterrupt; what it has learnt by then is at `out`, if that was given.
    """
    for name in ("files", "stored"):
        if name in options:
            raise TypeError(f"train() has no argument '{name}'")
    if not isinstance(progress, (bool, np.bool_)) and progress is not None and not callable(progress):
        raise InputError(f"progress {progress!r}: expected True, False or a function", "USAGE")
    if on_epoch is not None and not callable(on_epoch):
        raise InputError(f"on_epoch {on_epoch!r}: expected a function", "USAGE")
    if init is not None and init_weights is not None:
        raise InputError("init and init_weights cannot be combined", "USAGE")
    given = dict(options, model=model, valid_part=valid_part, epochs=epochs, shuffle=shuffle, keep=keep, patience=patience, keep_bad=keep_bad, loss=loss, optimizer=optimizer,
                 rate=rate, l1=l1, l2=l2, rank=rank, batch=batch, seed=seed, columns=columns,
                 label_column=label_column, weight_column=weight_column, hash_bits=hash_bits, interactions=interactions, sweep=sweep,
                 threads=threads,
                 data_shards=data_shards, init=_directory_of(init), init_weights=_directory_of(init_weights))
    rows: dict[str, _core.Rows] = {}
    if is_files(data):
        if y is not None or sample_weight is not None:
            raise InputError("y and sample_weight are for rows in memory: files have their own", "USAGE")
        given["files"] = file_names(data, "from_command" in given)
    else:
        refuse_no_rows(data)
        if y is None and not is_table(data):
            raise InputError("y is missing: a matrix has no labels", "USAGE")
        given["files"] = ["rows"]
        _refuse_what_means_nothing(data, valid, column_fields, given)
        column_fields = _fields_with(column_fields, data, given["model"], init if init is not None else init_weights)
        if is_table(data) and sample_weight is None and _has_weights(valid) and not weight_column:
            sample_weight = equal_weights(data, None) if y is None else np.ones(len(data), np.float32)
        rows["rows"] = rows_of(data, y, sample_weight, column_fields, given)
        given["stored"] = {}
        if column_fields is not None:
            given["stored"][FIELDS] = fields_text(column_fields)
        width = width_of(data)
        if width is not None:
            given["stored"][COLUMNS] = _columns_with(width, init if init is not None else init_weights)
    if valid is not None:
        given["valid"] = _held_out(valid, data, y is None, column_fields, given, rows)
    if progress is True:
        progress, on_epoch = _show, on_epoch or _show_epoch
    result = _run(given, rows, progress or None, on_epoch, out)
    if is_files(data) and _has_weights(valid) and is_table(valid[0]) and ":weight" not in result.model.options.get("columns", ""):
        line = "valid: its rows count alike, as the training rows have no column of weights"
        _LOG.warning(line)
        result = dataclasses.replace(result, warnings=[*result.warnings, line])
    return result


def _refuse_what_means_nothing(data: Any, valid: Any, fields: Any, given: dict[str, Any]) -> None:
    """Of rows in memory."""
    for name in ("format", "from_command", "command_timeout"):
        if given.get(name) is not None and not is_files(valid):
            raise InputError(f"{name} is for files, and all rows are in memory; leave it out", "USAGE")
    if given["columns"] is not None and not is_table(data):
        raise InputError("columns is for tables and files, and a matrix has numbers alone; leave it out, or make a table of it", "USAGE")
    is_new, model = given["init"] is None and given["init_weights"] is None, given["model"] or "lr"
    if fields is not None and is_new and model in ("lr", "fm") and given["interactions"] is None:
        raise InputError(f"column_fields has no meaning with model {model}, which has no fields", "USAGE")


def _directory_of(init: Any) -> Any:
    if isinstance(init, Model):
        return os.fspath(init._files())
    return os.fspath(init) if isinstance(init, os.PathLike) else init


def _columns_with(width: int, init: Any) -> str:
    """How many columns the model of a matrix will know."""
    if init is None:
        return str(width)
    before = (init.options if isinstance(init, Model) else stored_options(init)).get(COLUMNS, ANY)
    return ANY if before == ANY else str(max(width, int(before)))


def _fields_with(fields: Any, data: Any, model: Optional[str], init: Any) -> Any:
    """Fields of a matrix's columns, which a model that training goes on with knows."""
    before = None if init is None else (init.options if isinstance(init, Model) else stored_options(init)).get(FIELDS)
    if before is not None and fields is not None and not np.array_equal(fields, fields_from(before)):
        raise InputError("column_fields: others than the model was trained with; leave them out, or train a new model", "USAGE")
    if before is None and fields is None and init is None and model == "ffm" and not is_table(data):
        raise InputError("model ffm needs the fields of a matrix's columns; expected column_fields, a number for each", "USAGE")
    return fields if before is None else fields_from(before)


def _has_weights(valid: Any) -> bool:
    return isinstance(valid, (tuple, list)) and len(valid) == 3 and not is_files(valid) and valid[2] is not None


def _held_out(valid: Any, trained: Any, labels_in_table: bool, fields: Any, given: dict[str, Any], rows: dict[str, _core.Rows]) -> str:
    """The name of the held-out rows; those in memory are added to `rows`."""
    if is_files(valid):
        names = file_names(valid, "from_command" in given)
        if len(names) != 1:
            raise InputError(f"valid: {len(names)} files, expected one, or a glob", "USAGE")
        return names[0]
    parts = tuple(valid) if isinstance(valid, (tuple, list)) else (valid,)
    data, labels, weights = (parts + (None, None))[:3] if parts else (None, None, None)
    if not 1 <= len(parts) <= 3 or (labels is None and not is_table(data)):
        raise InputError("valid: no labels; expected (X, y), (X, y, sample_weight), a table with its label, or a file", "USAGE")
    if not is_files(trained) and is_table(data) != is_table(trained):
        raise InputError("valid: expected a table where the training rows are one, and else a matrix", "USAGE")
    width, trained_width = width_of(data), width_of(trained)
    if None not in (width, trained_width) and width != trained_width:
        raise InputError(f"valid: a matrix of {width} columns; expected {trained_width}, as the training rows have", "USAGE")
    columns = {name: given.get(name) for name in ("label_column", "weight_column")}
    if is_table(trained) and labels_in_table and labels is not None and not given["columns"]:
        columns["label_column"] = columns["label_column"] or own_label(trained)
    if is_table(data) and weights is None and columns["weight_column"] not in (None, "", NO_COLUMN):
        weights = equal_weights(data, columns["weight_column"])
    rows["held-out rows"] = rows_of(data, labels, weights, fields, columns)
    return "held-out rows"


def _run(given: dict[str, Any], rows: dict[str, _core.Rows], progress: Any, on_epoch: Any, out: Any) -> TrainResult:
    keep = None
    if out is None:
        keep = Folder()
        out = os.path.join(keep.name, "model")
    if not os.fspath(out):
        raise InputError("out is empty; expected a directory's name", "USAGE")
    given["out"] = os.fspath(out)
    if isinstance(given["sweep"], str):
        given["sweep"] = given["sweep"].replace("_", "-")
    given = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    numbers, stopped = _core.train(given, rows, progress, on_epoch, lambda kind, line: _LOG.log(_LEVELS[kind], "%s", in_python(line)))
    notes, warnings = [in_python(line) for line in numbers.notes], [in_python(line) for line in numbers.warnings]
    for line in notes:
        _LOG.info("%s", line)
    for line in warnings:
        _LOG.warning("%s", line)
    if numbers.not_kept and not numbers.model:
        raise JobError(f"{in_python(numbers.not_kept)}; keep_bad=True returns such a model all the same", "BAD_MODEL")
    fields = [field.name for field in dataclasses.fields(TrainResult) if hasattr(numbers, field.name)]
    read = {name: getattr(numbers, name) for name in fields}
    read["notes"], read["warnings"] = notes, warnings
    read["epochs"] = [epoch for epoch in numbers.epochs if epoch.examples > 0]  # An early end leaves others empty.
    trials = [{name.replace("-", "_"): number for name, number in trial.items()} for trial in numbers.sweep]
    read["sweep"] = [{**trial, "model_digest": f"{trial['model_digest']:016x}"} for trial in trials]
    return TrainResult(**{**read, "model": Model(numbers.model, keep), "stopped": stopped})
