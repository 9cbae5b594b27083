"""What training rows may be in Python, as the library takes them: names of files, or rows in memory."""

from __future__ import annotations

import glob
import itertools
import os
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from ._errors import InputError, MissingError
from ._whole import refuse_masked

FIELDS = "column-fields"  # Name by which a model stores the fields of a matrix's columns.
COLUMNS = "matrix-columns"  # And the number of these, or ANY.
ANY = "any"
NO_COLUMN = "-"  # As a weight_column.
_LABELS = ("label", "target", "click", "clicked", "y")  # Columns that are the label by their name, the first that is there.
Files = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]


def _is_path(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


def is_files(data: Any) -> bool:
    """Whether this names files: a path, a glob, "-", or several of them."""
    return _is_path(data) or (isinstance(data, (list, tuple)) and len(data) > 0 and all(map(_is_path, data)))


def file_names(data: Any, of_command: bool = False) -> list[str]:
    """`of_command`: what they name is known to a command alone."""
    names = [os.fspath(data)] if _is_path(data) else [os.fspath(name) for name in data]
    for name in names:
        if name != "-" and not of_command and not os.path.exists(name) and not glob.glob(name):
            raise MissingError(f"{name}: no such file", "IO")
    return names


def is_table(data: Any) -> bool:
    """Whether this has columns with names: a pandas DataFrame, or an Arrow table of any library."""
    return _is_pandas(data) or hasattr(data, "__arrow_c_stream__")


def _is_pandas(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "dtypes") and hasattr(data, "iloc")


def own_label(table: Any) -> Optional[str]:
    """The column that is the label unless something else is said."""
    names = set(map(_trimmed, column_names(table)))
    return next((name for name in _LABELS if name in names), None)


def equal_weights(table: Any, weight_column: Optional[str]) -> Optional[np.ndarray]:
    """For rows without weights beside others that have some; None of a table that has its own."""
    has_own = (weight_column or "weight") in map(_trimmed, column_names(table))
    return None if has_own else np.ones(len(table), np.float32)


def refuse_no_rows(data: Any) -> None:
    """Such as an open file, or a list of nothing."""
    if not (is_table(data) or hasattr(data, "shape") or hasattr(data, "__array__") or (isinstance(data, (list, tuple)) and data)):
        kind = "nothing" if isinstance(data, (list, tuple)) or data is None else f"a {type(data).__name__}"
        raise InputError(f"data: {kind}; expected names of files, a matrix or a table", "USAGE")


def column_names(table: Any) -> list[Any]:
    """Of a table, where it says them before it is read."""
    return list(table.columns if _is_pandas(table) else getattr(table, "column_names", None) or getattr(table, "columns", []))


def _numbers(values: Any, name: str, count: Optional[int] = None) -> np.ndarray:
    refuse_masked(values, name)
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name}: {array.ndim} dimensions, expected one", "USAGE")
    if array.dtype.kind in "cmM":
        raise InputError(f"{name} of {array.dtype}, expected numbers", "USAGE")
    try:
        numbers = np.ascontiguousarray(array, dtype=np.float32)
    except (TypeError, ValueError) as wrong:
        raise InputError(f"{name}: expected numbers: {wrong}", "USAGE") from None
    if count is not None and len(numbers) != count:
        raise InputError(f"{name}: {len(numbers)} numbers, expected {count}, one a row", "USAGE")
    return numbers


def _floats(array: np.ndarray) -> np.ndarray:
    if array.dtype in (np.float32, np.float64) and array.dtype.isnative:
        return array
    if array.dtype.kind not in "fiub":
        raise InputError(f"a matrix of {array.dtype}, expected numbers", "USAGE")
    return array.astype(np.float32 if array.dtype.itemsize <= 2 or array.dtype.kind == "b" else np.float64)


def _check_compressed(matrix: Any) -> None:
    """Before scipy reads it, which goes wherever these numbers point."""
    begins, entries = np.asarray(matrix.indptr), min(len(matrix.indices), len(matrix.data))
    if not len(begins) or begins[0] != 0:
        raise InputError(f"indptr[0] is {begins[0] if len(begins) else 'missing'}; expected 0", "USAGE")
    for at in np.flatnonzero(begins > entries)[:1]:
        raise InputError(f"indptr[{at}] is {begins[at]}; expected {entries} at most, as many as the matrix has indices and values",
                         "USAGE")
    for at in np.flatnonzero(begins[1:] < begins[:-1])[:1]:
        raise InputError(f"indptr[{at + 1}] is {begins[at + 1]}, less than {begins[at]} before it; expected numbers that never fall",
                         "USAGE")
    try:
        matrix.check_format(full_check=matrix.format != "csr")  # Whose indices are looked at as they are read.
    except ValueError as wrong:
        raise InputError(f"a sparse matrix that scipy refuses: {wrong}", "USAGE") from None


def _matrix(data: Any, labels: Any, weights: Any, fields: Any) -> _core.Rows:
    sparse = hasattr(data, "tocsr")
    if sparse and len(data.shape) != 2:
        raise InputError(f"rows of {len(data.shape)} dimensions, expected two: rows and features", "USAGE")
    if sparse:
        if hasattr(data, "check_format"):
            _check_compressed(data)
        data = data.tocsr()
        if not data.has_canonical_format:  # Entries of one place add up, as all of scipy has it.
            data = data.copy()
            data.sum_duplicates()
    else:
        refuse_masked(data, "rows")
        try:
            data = np.asarray(data)
        except ValueError as wrong:
            raise InputError(f"rows of different lengths, expected a matrix: {wrong}", "USAGE") from None
        if data.ndim != 2:
            raise InputError(f"rows of {data.ndim} dimensions, expected two: rows and features", "USAGE")
    rows, columns = data.shape
    labels = None if labels is None else _numbers(labels, "y", rows)
    weights = None if weights is None else _numbers(weights, "sample_weight", rows)
    if fields is not None:
        fields = _checked_fields(fields, columns)
    if not sparse:
        return _core.Rows.dense(_floats(data), labels, weights, fields)
    values = np.ascontiguousarray(_floats(data.data))
    indices = np.ascontiguousarray(data.indices)
    if indices.dtype not in (np.int32, np.int64):
        indices = indices.astype(np.int64)
    begins = np.ascontiguousarray(data.indptr, dtype=np.int64)
    return _core.Rows.sparse(begins, indices, values, columns, labels, weights, fields)


def _checked_fields(fields: Any, columns: int) -> np.ndarray:
    refuse_masked(fields, "column_fields")
    array = np.asarray(fields)
    if array.shape != (columns,) or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"column_fields: {array.dtype} of shape {array.shape}, expected a whole number for each of "
                         f"{columns} columns", "USAGE")
    if array.size and not 0 <= int(array.min()) <= int(array.max()) < 2**32:
        wrong = array.min() if array.min() < 0 else array.max()
        raise InputError(f"column_fields: field {wrong}, expected 0 to 4294967295", "USAGE")
    return np.ascontiguousarray(array, dtype=np.uint32)


Column = tuple[str, np.ndarray, Optional[list[str]], Optional[np.ndarray]]


def _pandas_columns(frame: Any) -> tuple[list[Column], dict[int, str]]:
    """Of numbers as they lie, of other columns their distinct words and which of them each cell has. And what those are
    by number, which nobody can read, and who uses them is told."""
    import pandas

    columns: list[Column] = []
    unreadable: dict[int, str] = {}

    def leave(at: int, why: str) -> None:
        columns.append((str(frame.columns[at]), np.zeros(len(frame), np.int8), None, None))
        unreadable[at] = why

    for at, name in enumerate(frame.columns):
        column = frame.iloc[:, at]
        if column.dtype == object:
            column = column.infer_objects()
            if column.isna().all():
                column = pandas.Series(np.full(len(column), np.nan))
        elif isinstance(column.dtype, pandas.CategoricalDtype) and column.dtype.categories.dtype.kind in "cmM":
            column = column.astype(column.dtype.categories.dtype)
        dtype = column.dtype
        if (pandas.api.types.is_datetime64_any_dtype(dtype) or pandas.api.types.is_timedelta64_dtype(dtype) or
                pandas.api.types.is_complex_dtype(dtype)):
            leave(at, f"of {dtype}, expected numbers or strings; cast it, to strings for instance")
        elif isinstance(dtype, np.dtype) and dtype.kind in "fiu" and dtype.itemsize <= 8:
            values = np.ascontiguousarray(column.to_numpy(), dtype=dtype.newbyteorder("="))
            columns.append((str(name), _singles(values) if values.dtype == np.float16 else values, None, None))
        elif pandas.api.types.is_numeric_dtype(dtype) and not pandas.api.types.is_bool_dtype(dtype):
            columns.append((str(name), *_nullable_numbers(column)))
        else:
            try:
                codes, words = pandas.factorize(_as_written(column))
            except (TypeError, NotImplementedError):  # Such as cells that are lists.
                leave(at, "of cells that cannot be compared, expected numbers or strings")
                continue
            codes = np.ascontiguousarray(codes, dtype=np.int64)
            columns.append((str(name), codes, [str(word) for word in words], None))
    return columns, unreadable


def _as_written(column: Any) -> Any:
    """Of cells of any type, such as True and 1, which are equal, what each is written as."""
    import pandas

    if column.dtype != object or pandas.api.types.infer_dtype(column) == "string":
        return column
    column.map(hash)  # Refuses lists and the like.
    return column.map(str, na_action="ignore")


def _singles(halves: np.ndarray) -> np.ndarray:
    """The numbers that the shortest digits of these say, so that they are written with as many."""
    distinct, which = np.unique(halves, return_inverse=True)
    return np.array([float(str(half)) for half in distinct], dtype=np.float32)[which]


def _nullable_numbers(column: Any) -> tuple[np.ndarray, None, Optional[np.ndarray]]:
    """Of a column whose type has a missing cell of its own, so that whole numbers stay whole beside one."""
    plain = getattr(column.dtype, "numpy_dtype", None)
    if plain is None or plain.kind not in "iuf" or plain.itemsize > 8:
        plain = np.dtype(np.float64)
    missing = column.isna().to_numpy(dtype=bool)
    values = np.ascontiguousarray(column.to_numpy(plain, na_value=plain.type(0)) if missing.any() else column.to_numpy(plain))
    values = _singles(values) if plain == np.float16 else values
    return values, None, np.packbits(~missing, bitorder="little") if missing.any() else None


def _trimmed(name: Any) -> str:
    """Of a column, or an option that names one, as headers of CSV are read."""
    return str(name).strip(" \t\r")


def _is_column(values: np.ndarray, table: Any, name: str) -> bool:
    """Whether these numbers are that column."""
    try:
        names = column_names(table)
        at = list(map(_trimmed, names)).index(name)
        column = table.iloc[:, at] if _is_pandas(table) else table[names[at]]
        return np.array_equal(np.asarray(column, dtype=np.float32), values)
    except (TypeError, ValueError, LookupError):
        return False


def _apart_name(values: np.ndarray, given: Any, table: Any, names: Iterable[str], wanted: Optional[str], usual: str,
                argument: str) -> str:
    """What numbers that come apart from the table are called in it: no column that it has."""
    taken, own = set(map(_trimmed, names)), getattr(given, "name", None)
    name = wanted or _trimmed("" if own is None else own) or usual
    if name not in taken:
        return name
    if wanted or _is_column(values, table, name):
        raise InputError(f"the table has a column '{name}', and {argument}= is given too; leave out one of them", "USAGE")
    return next(free for free in map("{}.{}".format, itertools.repeat(usual), itertools.count(1)) if free not in taken)


def _table(data: Any, labels: Any, weights: Any, options: dict[str, Any]) -> _core.Rows:
    names, more = column_names(data), []
    for option in "label_column", "weight_column":
        if isinstance(options.get(option), str):
            options[option] = _trimmed(options[option])
    for values, option, usual, argument in ((labels, "label_column", "label", "y"),
                                            (weights, "weight_column", "weight", "sample_weight")):
        if values is None:
            if labels is not None and not options.get(option):
                options[option] = NO_COLUMN  # Features may be called "weight".
            continue
        numbers = _numbers(values, argument, len(data) if _is_pandas(data) else None)
        options[option] = _apart_name(numbers, values, data, names, options.get(option), usual, argument)
        more.append((options[option], numbers))
    if _is_pandas(data):
        columns, unreadable = _pandas_columns(data)
        return _core.Rows.table(columns + [(name, values, None, None) for name, values in more], unreadable)
    return _core.Rows.arrow(data.__arrow_c_stream__(), more)


def rows_of(data: Any, labels: Any = None, weights: Any = None, fields: Any = None,
            options: Optional[dict[str, Any]] = None) -> _core.Rows:
    """Rows in memory. `options` gets the names of columns that labels and weights were added as."""
    if is_table(data):
        if fields is not None:
            raise InputError("column_fields is for matrices: each column of a table is a field", "USAGE")
        return _table(data, labels, weights, {} if options is None else options)
    return _matrix(data, labels, weights, fields)


def fields_text(fields: Any) -> str:
    """Fields of columns as models store them: "0*20 1*3" is 20 columns of field 0 and 3 of field 1."""
    return " ".join(f"{field}*{len(list(run))}" for field, run in itertools.groupby(np.asarray(fields).tolist()))


def fields_from(text: str) -> np.ndarray:
    runs = [run.split("*") for run in text.split()]
    return np.repeat([int(field) for field, _ in runs], [int(count) for _, count in runs])


def width_of(data: Any) -> Optional[int]:
    """Columns of a matrix; None of what is none."""
    if is_files(data) or is_table(data):
        return None
    shape = np.shape(data) if not hasattr(data, "shape") else data.shape
    return int(shape[1]) if len(shape) == 2 else None


def _check_form(data: Any, known: Mapping[str, str]) -> None:
    if is_table(data) and COLUMNS in known:
        raise InputError("a table: the model was trained on a matrix; expected one", "USAGE")
    if is_table(data):
        return
    if "columns" in known:
        raise InputError("a matrix: the model was trained on a table; expected one with columns of the same names", "USAGE")
    trained, width = known.get(COLUMNS, ANY), width_of(data)
    if trained != ANY and width is not None and width != int(trained):
        raise InputError(f"a matrix of {width} columns; expected {trained}, as the model was trained on", "USAGE")


def sources_of(data: Any, known: Mapping[str, str]) -> tuple[list[str], dict[str, _core.Rows]]:
    """Rows to score, without labels: files and rows, as the library takes them. `known`: what the model stores."""
    if is_files(data):
        return file_names(data), {}
    refuse_no_rows(data)
    _check_form(data, known)
    fields = known.get(FIELDS)
    return ["rows"], {"rows": rows_of(data, fields=None if fields is None else fields_from(fields))}
