"""Tables with names of columns: DataFrames, Arrow, and the same as CSV."""

import decimal
import re

import numpy as np
import pandas
import pyarrow
import pytest
import thalweg

SAME_CUT = {"data_shards": 1, "batch": 256}  # Of files and memory.


def test_a_data_frame_and_its_csv_give_the_same_bits(table, csv):
    of_csv = thalweg.train(csv, epochs=2, **SAME_CUT)
    for rows in (table, pyarrow.Table.from_pandas(table), table.sample(frac=1, random_state=1).sort_index()):
        of_rows = thalweg.train(rows, epochs=2, **SAME_CUT)
        assert of_rows.model.digest == of_csv.model.digest
        assert of_rows.model.options["columns"] == of_csv.model.options["columns"]
        np.testing.assert_array_equal(of_rows.model.predict(csv), of_csv.model.predict(rows))


def test_labels_may_come_apart(table):
    together = thalweg.train(table, **SAME_CUT).model.digest
    features = table.drop(columns="click")
    assert thalweg.train(features, table.click, **SAME_CUT).model.digest == together
    assert thalweg.train(pyarrow.Table.from_pandas(features), table.click, **SAME_CUT).model.digest == together
    named = thalweg.train(features, table.click.to_numpy(), **SAME_CUT)
    assert named.model.digest == together and "label:label" in named.model.options["columns"]
    with pytest.raises(ValueError, match="column 'click', and y= is given too"):
        thalweg.train(table, table.click)
    with pytest.raises(thalweg.InputError, match="an Arrow stream of one array, expected a table"):
        thalweg.train(table.user, table.click)


def test_features_may_be_called_as_targets_are(table):
    features = table.drop(columns="click")
    expected = thalweg.train(features.rename(columns={"price": "kg", "count": "named"}), table.click, **SAME_CUT)
    for form in (lambda frame: frame, pyarrow.Table.from_pandas):
        frame = form(features.rename(columns={"price": "weight", "count": "label"}))
        for labels in (table.click, table.click.to_numpy(), table.click.rename("weight"), table.click.rename("label")):
            result = thalweg.train(frame, labels, sample_weight=None, **SAME_CUT)
            kinds = result.model.options["columns"]
            assert "weight:num" in kinds and re.search("label:(num|cat)", kinds), kinds
            assert result.train_loss == pytest.approx(expected.train_loss, rel=0.02)
            assert len(result.model.predict(frame)) == len(table)
        weighted = thalweg.train(frame, table.click, sample_weight=np.ones(len(table)), **SAME_CUT)
        assert weighted.model.digest == thalweg.train(frame, table.click, **SAME_CUT).model.digest


def test_labels_that_are_too_few_are_refused_by_name(table):
    with pytest.raises(thalweg.InputError, match="y: 3999 numbers, expected 4000"):
        thalweg.train(table.drop(columns="click"), table.click[:-1])


def test_a_missing_cell_leaves_the_others_categories(tmp_path):
    random = np.random.default_rng(2)
    frame = pandas.DataFrame({"shop": random.integers(-3, 9, 2000)})
    model = thalweg.train(frame, (frame["shop"] % 2).to_numpy(), columns="shop:cat", epochs=3).model
    holed = frame.astype(float)
    holed.loc[1999] = np.nan
    holed.to_csv(tmp_path / "holed.csv", index=False)
    for rows in (holed, pyarrow.Table.from_pandas(holed), str(tmp_path / "holed.csv")):
        np.testing.assert_array_equal(model.predict(rows)[:-1], model.predict(frame)[:-1])


def test_columns_are_what_is_said(table, csv):
    columns = "count:cat,mobile:-,price:num"
    of_rows = thalweg.train(table, columns=columns, **SAME_CUT)
    of_csv = thalweg.train(csv, columns=columns, **SAME_CUT)
    assert of_rows.model.digest == of_csv.model.digest
    assert "count:cat" in of_rows.model.options["columns"]
    renamed = table.rename(columns={"click": "bought"})
    with pytest.raises(ValueError, match="no column is the label"):
        thalweg.train(renamed)
    assert thalweg.train(renamed, label_column="bought", **SAME_CUT).examples == len(table)


def test_weights_of_rows(table):
    weights = np.where(table.click, 2.0, 1.0)
    apart = thalweg.train(table, sample_weight=weights, **SAME_CUT).model.digest
    assert thalweg.train(table.assign(weight=weights), **SAME_CUT).model.digest == apart
    assert thalweg.train(table.assign(w=weights), weight_column="w", **SAME_CUT).model.digest == apart


def test_held_out_tables(table, csv):
    train, valid = table[:3000], table[3000:]
    expected = thalweg.train(train, valid=valid).metrics
    assert expected["auc"] > 0.6
    features = valid.drop(columns="click")
    assert thalweg.train(train, valid=(features, valid.click)).metrics == expected
    labelled = train.drop(columns="click")
    assert thalweg.train(labelled, train.click, valid=(features, valid.click)).metrics == expected


@pytest.mark.parametrize("form", [lambda frame: frame, pyarrow.Table.from_pandas])
def test_weights_of_held_out_rows_count_whatever_the_training_rows_have(table, form, tmp_path):
    train, valid = table[:3000], table[3000:]
    weights = np.where(np.arange(1000) % 2, 0.01, 5.0)
    bare, labels = valid.drop(columns="click"), valid.click.to_numpy()

    def mean_label(of_train, y=None, *valid, **options):
        return thalweg.train(of_train, y, valid=valid, **options).metrics["mean_label"]

    weighted, alike = pytest.approx(np.average(labels, weights=weights)), pytest.approx(labels.mean())
    apart = form(train.drop(columns="click"))
    assert mean_label(apart, train.click, form(bare), labels, weights) == weighted
    assert mean_label(form(train), None, form(valid), None, weights) == weighted
    assert mean_label(form(train), None, form(bare), labels, weights) == weighted
    assert mean_label(form(train), None, form(bare.assign(weight=1)), labels) == alike
    for options in {}, {"weight_column": "w"}:
        assert mean_label(apart, train.click, form(bare), labels, sample_weight=np.full(3000, 2.0), **options) == alike
    assert thalweg.train(apart, train.click, **SAME_CUT).model.digest == thalweg.train(
        apart, train.click, valid=(form(bare), labels, weights), keep="last", **SAME_CUT).model.digest
    train.to_csv(tmp_path / "rows.csv", index=False)
    result = thalweg.train(str(tmp_path / "rows.csv"), valid=(form(bare), valid.click, weights))
    assert result.metrics["mean_label"] == alike and any("its rows count alike" in line for line in result.warnings)


def test_numbers_of_another_byte_order(table):
    turned = table.assign(price=table.price.astype(">f8"), count=table["count"].astype(">i8"))
    assert thalweg.train(turned, **SAME_CUT).model.digest == thalweg.train(table, **SAME_CUT).model.digest


def test_a_prediction_needs_the_model_s_columns(table):
    model = thalweg.train(table).model
    shuffled = table[["hour", "price", "mobile", "user", "count"]].assign(more=1)
    np.testing.assert_allclose(model.predict(shuffled), model.predict(table), rtol=1e-6)
    with pytest.raises(ValueError, match='no column "user", which the model was trained with'):
        model.predict(table.drop(columns="user"))


def test_tables_and_matrices_are_not_mixed_up(table):
    random = np.random.default_rng(0)
    matrix, labels = random.random((len(table), 3)).astype(np.float32), random.integers(0, 2, len(table))
    with pytest.raises(thalweg.InputError, match="a matrix: the model was trained on a table"):
        thalweg.train(table).model.predict(matrix)
    with pytest.raises(thalweg.InputError, match="a table: the model was trained on a matrix; expected one"):
        thalweg.train(matrix, labels).model.predict_raw(table)
    with pytest.raises(thalweg.InputError, match="valid: expected a table"):
        thalweg.train(table, valid=(matrix, labels))


def test_strings_that_were_numbers_in_training(table):
    model = thalweg.train(table).model
    as_text = table.assign(price=table.price.map(lambda p: "" if np.isnan(p) else repr(p)))
    np.testing.assert_array_equal(model.predict(as_text), model.predict(table))
    with pytest.raises(ValueError, match='row 3: saw "dear", expected a finite number .column "price"'):
        model.predict(as_text.assign(price=["1"] * 3 + ["dear"] * (len(table) - 3)))


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_arrow_s_kinds_of_text(table, kind):
    kinds = {"string": pyarrow.string(), "large_string": pyarrow.large_string(), "string_view": pyarrow.string_view(),
             "dictionary": pyarrow.dictionary(pyarrow.int16(), pyarrow.string())}
    table = table.assign(user=table.user.replace("bob", "a name of more than twelve bytes"))
    words = pyarrow.array(table.user.tolist(), from_pandas=True).cast(kinds[kind])
    rows = pyarrow.table({"user": words, "click": pyarrow.array(table.click)})
    pieces = pyarrow.concat_tables([rows.slice(0, 1000), rows.slice(1000, 7), rows.slice(1007)])
    expected = thalweg.train(table[["user", "click"]], **SAME_CUT).model.digest
    for form in (rows, pieces):
        assert thalweg.train(form, **SAME_CUT).model.digest == expected


def test_nullable_and_small_types(table):
    frame = table.assign(count=table["count"].astype("Int16"), price=table.price.astype("Float64"),
                         mobile=table.mobile.astype("boolean"), click=table.click.astype(np.uint8))
    assert thalweg.train(frame, **SAME_CUT).model.digest == thalweg.train(table, **SAME_CUT).model.digest


@pytest.mark.parametrize("dtype", ["Int64", "UInt64", "Float32", np.float16, np.float32, "int64[pyarrow]"])
@pytest.mark.parametrize("missing", [False, True], ids=["all there", "some missing"])
def test_numbers_that_are_categories_are_written_as_in_csv(dtype, missing, tmp_path):
    random, rows = np.random.default_rng(1), 600
    numbers = random.integers(1, 10, rows) / (10 if "loat" in str(dtype) else 1)
    column = pandas.Series(numbers, dtype=np.float64).astype(dtype)
    if str(dtype) == "UInt64":
        column += 2**63
    if missing and isinstance(dtype, str):
        column[3::7] = pandas.NA
    frame = pandas.DataFrame({"size": column, "click": (numbers * 10 % 2 > 0.5).astype(int)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = thalweg.train(frame, columns="size:cat", epochs=3, keep_bad=True, **SAME_CUT).model
    assert model.digest == thalweg.train(str(tmp_path / "rows.csv"), columns="size:cat", epochs=3, keep_bad=True, **SAME_CUT).model.digest
    np.testing.assert_array_equal(model.predict(frame), model.predict(str(tmp_path / "rows.csv")))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, "Float32"])
def test_numbers_far_from_zero_are_those_of_csv(dtype, tmp_path):
    random = np.random.default_rng(3)
    numbers = (2000 + 20 * random.random(3000)).round(1)
    frame = pandas.DataFrame({"year": pandas.Series(numbers).astype("int32" if dtype == np.int32 else "float64").astype(dtype)})
    frame["click"] = (numbers > 2010).astype(int)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    of_csv = thalweg.train(str(tmp_path / "rows.csv"), columns="year:num", **SAME_CUT).model
    assert "year:num-20" in of_csv.options["columns"]
    assert thalweg.train(frame, columns="year:num", **SAME_CUT).model.digest == of_csv.digest


def test_arrow_types_that_are_no_cells():
    rows = pyarrow.table({"when": pyarrow.array([1, 2], pyarrow.timestamp("s")), "label": [0, 1]})
    frame = rows.to_pandas()
    for form in (rows, frame, frame.assign(when=frame.when.astype("category")), frame.assign(when=(frame.when - frame.when[0]).astype("category"))):
        with pytest.raises(thalweg.InputError, match='column "when".*cast it'):
            thalweg.train(form)


@pytest.mark.parametrize("cells, text", [(1j, 'column "x": of complex128'), ([[1]] * 2, 'column "x": of cells that cannot'),
                                         (pandas.array([[1], [2]], pandas.ArrowDtype(pyarrow.list_(pyarrow.int64()))), 'column "x": of cells')])
def test_columns_of_pandas_that_are_no_cells(cells, text):
    with pytest.raises(thalweg.InputError, match=text):
        thalweg.train(pandas.DataFrame({"label": [0, 1], "x": cells}))


@pytest.mark.parametrize("cells", [[True, 1, "a", 1.0], [decimal.Decimal("1.5"), decimal.Decimal("1.50"), "a", None], [0.0, -0.0, "b", 2]])
def test_cells_that_are_equal_but_written_otherwise_are_different_categories(cells, tmp_path):
    random = np.random.default_rng(0)
    which = random.integers(0, 4, 400)
    frame = pandas.DataFrame({"cell": pandas.Series([cells[i] for i in which], dtype=object), "click": ((which == 0) | (random.random(400) < 0.1)).astype(int)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = thalweg.train(frame, epochs=5, **SAME_CUT).model
    assert model.digest == thalweg.train(str(tmp_path / "rows.csv"), epochs=5, **SAME_CUT).model.digest
    predicted = model.predict(frame)
    np.testing.assert_array_equal(predicted, model.predict(str(tmp_path / "rows.csv")))
    for row in range(20):
        np.testing.assert_array_equal(model.predict(frame[row:row + 1]), predicted[row:row + 1])


@pytest.mark.parametrize("cell", [None, pandas.NA])
def test_a_column_without_a_cell_is_of_numbers_as_in_csv(cell, tmp_path):
    values = np.random.default_rng(0).integers(0, 900, 500)
    frame = pandas.DataFrame({"cell": pandas.Series([cell] * 500, dtype=object), "size": values, "click": (values > 400).astype(int)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = thalweg.train(frame, epochs=3, **SAME_CUT).model
    assert "cell:num" in model.options["columns"]
    assert model.digest == thalweg.train(str(tmp_path / "rows.csv"), epochs=3, **SAME_CUT).model.digest


def test_names_of_columns_are_those_of_csv(table, tmp_path):
    frame = table.rename(columns={"user": " user", "price": " price\t", "click": "label "})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    of_csv = thalweg.train(str(tmp_path / "rows.csv"), **SAME_CUT).model
    assert of_csv.options["columns"].startswith("user:cat,price:num")
    features = frame.drop(columns="label ")
    for rows, labels, options in ((frame, None, {}), (pyarrow.Table.from_pandas(frame), None, {}), (frame, None, {"label_column": "label "}),
                                  (features, frame["label "], {})):
        model = thalweg.train(rows, labels, **SAME_CUT, **options).model
        assert model.digest == of_csv.digest and model.options["columns"] == of_csv.options["columns"]
        np.testing.assert_array_equal(model.predict(rows), of_csv.predict(str(tmp_path / "rows.csv")))
    for rows in frame, pyarrow.Table.from_pandas(frame):
        for labels in frame["label "], frame["label "].rename("label"):
            with pytest.raises(thalweg.InputError, match="the table has a column 'label', and y= is given too"):
                thalweg.train(rows, labels)


def test_columns_without_a_name_are_called_by_their_place(table):
    nameless = table.rename(columns={"user": "", "price": " "})
    expected = thalweg.train(table.rename(columns={"user": "c1", "price": "c2"}), **SAME_CUT).model
    for rows in nameless, pyarrow.Table.from_pandas(nameless):
        assert thalweg.train(rows, **SAME_CUT).model.digest == expected.digest


def test_names_of_columns_may_be_numbers_but_not_repeat():
    frame = pandas.DataFrame(np.random.default_rng(0).random((100, 3)))
    columns = thalweg.train(frame, np.arange(100) % 2, keep_bad=True).model.options["columns"]
    assert re.sub(r"num-[0-9.]+/[0-9.]+", "num", columns) == '0:num,1:num,2:num,label:label'
    frame.columns = ["a", "b", "a"]
    with pytest.raises(ValueError, match='two columns are named "a"'):
        thalweg.train(frame, np.arange(100) % 2)


def test_columns_that_cannot_be_read_are_refused_where_they_are_used(table):
    dated = table.assign(when=pandas.Timestamp("2024-01-01"), parts=[[1]] * len(table))
    plain = thalweg.train(table, **SAME_CUT).model
    for form in (lambda frame: frame, pyarrow.Table.from_pandas):
        rows = form(dated)
        with pytest.raises(thalweg.InputError, match='column "when": .*; cast it, to strings for instance; or leave it out'):
            thalweg.train(rows, **SAME_CUT)
        left_out = thalweg.train(rows, columns="when:-,parts:-", **SAME_CUT).model
        assert left_out.digest == plain.digest
        np.testing.assert_array_equal(plain.predict(rows), plain.predict(table))


def test_rows_that_cannot_be_read_may_be_answered_nan(tmp_path):
    random = np.random.default_rng(3)
    x = random.random((500, 4)).astype(np.float32)
    model = thalweg.train(x, x[:, 0] > 0.5).model
    answers = model.predict(x)
    x[3, 1] = np.nan
    with pytest.raises(thalweg.InputError):
        model.predict(x)
    found = model.predict(x, on_bad_row=1)
    assert np.isnan(found[3]) and np.isnan(found).sum() == 1
    np.testing.assert_array_equal(np.delete(found, 3), np.delete(answers, 3))
    assert np.isnan(model.predict_raw(x, on_bad_row=9)[3])
    x[4, 2] = np.inf
    with pytest.raises(thalweg.InputError, match="bad row 2, at most 1"):
        model.predict(x, on_bad_row=1)
    with pytest.raises(thalweg.InputError, match="on_bad_row -1: expected 0 at least"):
        model.predict(x, on_bad_row=-1)
