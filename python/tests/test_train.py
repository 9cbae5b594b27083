"""train() and Model on matrices and files."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse
import thalweg
from sklearn.datasets import dump_svmlight_file


def test_trains_predicts_and_saves(clicks, tmp_path):
    matrix, labels = clicks
    epochs = []
    result = thalweg.train(matrix, labels, epochs=5, valid_part=10, out=tmp_path / "model", on_epoch=epochs.append)
    assert [epoch.number for epoch in epochs] == [1, 2, 3, 4, 5] == [epoch.number for epoch in result.epochs]
    assert result.examples == 5 * 3600
    assert repr(result.epochs[1]) == f"<thalweg.TrainEpoch 2: 3600 examples, train loss {result.epochs[1].train_loss:.5f}>"
    assert result.metrics["auc"] > 0.85
    assert epochs[-1].held_out.rows == 400
    assert result.train_loss < result.progressive_loss
    probabilities = result.model.predict(matrix)
    assert probabilities.shape == labels.shape and probabilities.dtype == np.float32
    odds = result.model.predict_raw(matrix)
    np.testing.assert_allclose(probabilities, 1 / (1 + np.exp(-odds.astype(float))), rtol=1e-4)
    loaded = thalweg.Model.load(tmp_path / "model")
    assert loaded.digest == result.model.digest and loaded.name == "lr" and loaded.loss == "logistic"
    np.testing.assert_array_equal(loaded.predict(matrix), probabilities)
    loaded.save(tmp_path / "copy")
    loaded.save(tmp_path / "copy")
    np.testing.assert_array_equal(thalweg.Model.load(tmp_path / "copy").predict(matrix), probabilities)
    assert sorted(os.listdir(tmp_path)) == ["copy", "model"]


def test_weights_make_the_score(clicks):
    matrix, labels = clicks
    model = thalweg.train(matrix, labels).model
    tables = model.weights()
    keys, rows = tables["weights"]
    assert keys.dtype == np.uint64 and rows.shape == (len(keys), 1)
    weights = np.zeros(matrix.shape[1])
    weights[keys.astype(int)] = rows[:, 0]
    np.testing.assert_allclose(model.predict_raw(matrix), matrix @ weights + tables["bias"][1][0, 0], atol=1e-4)


@pytest.mark.parametrize("form", ["float32", "float64", "fortran", "slices", "integers", "long indices", "csc"])
def test_forms_of_a_matrix_give_the_same_model(clicks, form):
    matrix, labels = clicks
    matrix = matrix.copy()
    matrix.data = np.ceil(matrix.data * 4)
    expected = thalweg.train(matrix, labels).model.digest
    dense = matrix.toarray()
    wide = matrix.copy()
    wide.indices, wide.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    others = {"float32": dense, "float64": dense.astype(float), "fortran": np.asfortranarray(dense),
              "slices": np.repeat(np.repeat(dense, 2, axis=0), 3, axis=1)[::2, ::3], "integers": dense.astype(int),
              "long indices": wide, "csc": matrix.tocsc()}
    assert thalweg.train(others[form], labels.astype(int)).model.digest == expected


def test_the_model_does_not_depend_on_threads(clicks):
    digests = {thalweg.train(*clicks, threads=threads, epochs=2).model.digest for threads in (1, 3)}
    assert len(digests) == 1
    assert thalweg.train(*clicks, data_shards=3, epochs=2).model.digest not in digests


def test_matrices_and_libsvm_files_have_the_same_features(clicks, tmp_path):
    matrix, labels = clicks
    path = str(tmp_path / "clicks.svm")
    dump_svmlight_file(matrix, labels, path)
    result = thalweg.train([path], epochs=3)
    np.testing.assert_allclose(result.model.predict(path), result.model.predict(matrix), rtol=1e-5)
    held_out = thalweg.train(matrix, labels, valid=path, epochs=3)
    other = thalweg.train(matrix, labels, valid=(matrix, labels), epochs=3)
    assert held_out.metrics["auc"] == pytest.approx(other.metrics["auc"])


def test_few_rows_in_memory_make_many_steps(clicks):
    matrix, labels = clicks
    assert thalweg.train(matrix, labels).model.digest == thalweg.train(matrix, labels, batch=64).model.digest
    many, of_many = scipy.sparse.vstack([matrix] * 3, format="csr"), np.tile(labels, 3)
    assert thalweg.train(many, of_many).model.digest == thalweg.train(many, of_many, batch=120).model.digest


def test_weights_of_rows_count(clicks):
    matrix, labels = clicks
    weights = np.where(labels > 0, 3.0, 1.0)
    plain = thalweg.train(matrix, labels, epochs=5).model.predict(matrix)
    weighted = thalweg.train(matrix, labels, sample_weight=weights, epochs=5).model.predict(matrix)
    assert weighted.mean() > plain.mean() + 0.1


def test_field_aware_machines_take_fields_of_columns():
    random = np.random.default_rng(0)
    users, items = random.integers(0, 20, 3000), random.integers(0, 20, 3000)
    matrix = scipy.sparse.csr_matrix((np.ones(6000, np.float32), np.column_stack([users, 20 + items]).ravel(),
                                      np.arange(0, 6001, 2)), shape=(3000, 40))
    labels = (users + items) % 2
    fields = np.repeat([0, 1], 20)
    result = thalweg.train(matrix, labels, model="ffm", rank=4, epochs=30, column_fields=fields, init_scale=0.3)
    accuracy = ((result.model.predict(matrix) > 0.5) == labels).mean()
    assert accuracy > 0.9
    with pytest.raises(thalweg.InputError, match="expected column_fields, a number for each"):
        thalweg.train(matrix, labels, model="ffm")
    assert thalweg.train(matrix, labels, init=result.model).model.options["column-fields"] == result.model.options["column-fields"]
    with pytest.raises(thalweg.InputError, match="column_fields: others than the model was trained with"):
        thalweg.train(matrix, labels, init=result.model, column_fields=np.array(fields)[::-1])


def test_training_goes_on_from_a_model(clicks, tmp_path):
    first = thalweg.train(*clicks, epochs=2)
    second = thalweg.train(*clicks, init=first.model)
    assert second.train_loss < first.progressive_loss
    first.model.save(tmp_path / "first")
    by_path = thalweg.train(*clicks, init=tmp_path / "first")
    assert by_path.train_loss == second.train_loss
    assert by_path.model.options["matrix-columns"] == first.model.options["matrix-columns"] == "60"


def test_what_goes_on_is_the_kind_that_it_was(clicks):
    first = thalweg.train(*clicks, model="fm", rank=2).model
    assert thalweg.train(*clicks, init=first).model.name == "fm" == thalweg.train(*clicks, init_weights=first).model.name
    with pytest.raises(thalweg.InputError, match="model lr, but the model at .* has model fm; leave model out"):
        thalweg.train(*clicks, model="lr", init=first)


def test_a_link_to_a_model_stays_one(clicks, tmp_path):
    old, new = (thalweg.train(*clicks, epochs=epochs).model for epochs in (1, 2))
    old.save(tmp_path / "v1")
    (tmp_path / "current").symlink_to("v1")
    (tmp_path / "next").symlink_to("v2")  # Which is not there yet.
    for link, target in ("current", "v1"), ("next", "v2"):
        new.save(tmp_path / link)
        assert (tmp_path / link).is_symlink() and thalweg.Model.load(tmp_path / target).digest == new.digest != old.digest


def test_training_goes_on_from_weights_alone(clicks, tmp_path):
    first = thalweg.train(*clicks, epochs=2, out=tmp_path / "first").model
    still = {"optimizer": "sgd", "rate": 0.0, "bias_rate": 0.0}
    with pytest.raises(thalweg.InputError):
        thalweg.train(*clicks, init=first, **still)
    for begin in first, tmp_path / "first":
        more = thalweg.train(*clicks, init_weights=begin, **still).model
        np.testing.assert_array_equal(more.predict(clicks[0]), first.predict(clicks[0]))
    with pytest.raises(thalweg.InputError, match="init and init_weights cannot be combined"):
        thalweg.train(*clicks, init=first, init_weights=first)
    with pytest.raises(thalweg.InputError, match="init_weights=3: expected a model, or the directory of one"):
        thalweg.train(*clicks, init_weights=3)


def test_ctrl_c_before_the_first_row_is_not_lost(clicks, tmp_path):
    dump_svmlight_file(*clicks, str(tmp_path / "train.svm"))
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        thalweg.train("train", from_command=f"sleep 1; cat {tmp_path}/%s.svm", epochs=1)


def test_files_that_a_command_knows(clicks, tmp_path):
    dump_svmlight_file(clicks[0][:3000], clicks[1][:3000], str(tmp_path / "train.svm"))
    dump_svmlight_file(clicks[0][3000:], clicks[1][3000:], str(tmp_path / "valid.svm"))
    result = thalweg.train(["train", "train"], valid="valid", from_command=f"cat {tmp_path}/%s.svm", command_timeout=60)
    assert result.examples == 6000 and result.epochs[0].held_out.rows == 1000
    with pytest.raises(thalweg.Error, match="absent"):
        thalweg.train("absent", from_command=f"cat {tmp_path}/%s.svm")


def test_progress_is_told_and_may_stop(clicks):
    told = []

    def progress(news):
        told.append(news.examples)
        return False

    result = thalweg.train(*clicks, epochs=50_000, progress=progress)
    assert result.stopped and len(told) == 1 and len(result.epochs) < 50_000
    with pytest.raises(ZeroDivisionError):
        thalweg.train(*clicks, epochs=50_000, on_epoch=lambda epoch: 1 / 0)


@pytest.mark.parametrize("options", [{}, {"model": "fm", "rank": 2}, {"threads": 1}, {"valid_part": 10}],
                         ids=["lr", "fm", "one thread", "held out"])
def test_a_pass_is_told_before_the_next_and_may_be_the_last(clicks, options):
    told, main = [], threading.current_thread()

    def enough(epoch):
        told.append((epoch.number, threading.current_thread() is main))
        return np.bool_(epoch.number < 4)

    ended = thalweg.train(*clicks, epochs=50_000, on_epoch=enough, keep="last" if options.get("valid_part") else None,
                          **options)
    assert told == [(number, True) for number in range(1, 5)]
    assert ended.stopped and ended.kept_epoch == 4 == len(ended.epochs)
    whole = thalweg.train(*clicks, epochs=4, keep="last" if options.get("valid_part") else None, **options)
    assert ended.model.digest == whole.model.digest and not whole.stopped


def test_every_pass_is_told(clicks):
    for epochs in 1, 300:
        told = []
        thalweg.train(clicks[0][:50], clicks[1][:50], epochs=epochs, keep_bad=True,
                      on_epoch=lambda epoch: told.append(epoch.number))
        assert told == list(range(1, epochs + 1))
    assert thalweg.train(*clicks, epochs=2, on_epoch=lambda epoch: 0).kept_epoch == 2


def test_a_pass_that_ends_a_sweep(clicks):
    told = []
    ended = thalweg.train(*clicks, epochs=3, valid_part=10, sweep="rate=0.05,0.1,0.2",
                          on_epoch=lambda epoch: told.append(epoch.number) or len(told) < 5)
    assert told == [1, 2, 3, 1, 2] and ended.stopped and len(ended.sweep) == 2


def test_entries_of_one_place_in_a_sparse_matrix_add_up(clicks):
    matrix, labels = clicks
    once = scipy.sparse.csr_matrix(matrix)
    twice = scipy.sparse.csr_matrix((np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), once.indptr * 2), once.shape)
    model = thalweg.train(once, labels, model="fm", rank=3).model
    assert thalweg.train(twice, labels, model="fm", rank=3).model.digest == model.digest
    np.testing.assert_array_equal(model.predict(twice), model.predict(once))
    assert twice.nnz == 2 * once.nnz


@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, scipy.sparse.csr_array])
@pytest.mark.parametrize("name, at, number, text", [
    ("indptr", 5, 10**9, r"indptr\[5\] is 1000000000; expected [0-9]+ at most, as many as"),
    ("indptr", 5, 0, r"indptr\[5\] is 0, less than [0-9]+ before it"),
    ("indptr", 5, -1, r"indptr\[5\] is -1, less than"),
    ("indptr", 0, 1, r"indptr\[0\] is 1; expected 0"),
    ("indices", 0, 10**6, "(?s)."),
    ("indices", 0, -1, "(?s)."),
])
def test_sparse_matrices_that_are_broken_are_refused(clicks, form, name, at, number, text):
    rows, labels = clicks
    matrix = form(rows, copy=True)
    getattr(matrix, name)[at] = number
    with pytest.raises(thalweg.InputError, match=text):
        thalweg.train(matrix, labels)


def test_masked_cells_are_refused(clicks):
    rows, labels = clicks
    rows = rows.toarray()
    hidden = np.ma.masked_greater(rows, 0.9)
    with pytest.raises(thalweg.InputError, match=r"rows: [0-9]+ masked cells, expected none: .filled"):
        thalweg.train(hidden, labels)
    with pytest.raises(thalweg.InputError, match="y: [0-9]+ masked cells"):
        thalweg.train(rows, np.ma.masked_less(labels, 1))
    model = thalweg.train(hidden.filled(0), labels).model
    with pytest.raises(thalweg.InputError, match="rows: [0-9]+ masked cells"):
        model.predict(hidden)
    none_masked = thalweg.train(np.ma.masked_array(hidden.filled(0)), labels)
    assert none_masked.model.digest == model.digest


def test_other_threads_run_meanwhile(clicks):
    seen = []
    thread = threading.Thread(target=lambda: seen.extend(thalweg.train(*clicks, epochs=3).epochs))
    thread.start()
    assert len(thalweg.train(*clicks, epochs=3).epochs) == 3
    thread.join()
    assert len(seen) == 3


@pytest.mark.parametrize("call, error, text", [
    (lambda x, y: thalweg.train(x, y + 0.5), ValueError, 'row 0: saw "[01].5", expected a label'),
    (lambda x, y: thalweg.train(x), ValueError, "y is missing"),
    (lambda x, y: thalweg.train(open(__file__)), thalweg.InputError, "data: a TextIOWrapper; expected names of files, a"),
    (lambda x, y: thalweg.train(b"a.svm"), thalweg.InputError, "data: a bytes; expected names of files, a matrix or a"),
    (lambda x, y: thalweg.train([]), thalweg.InputError, "data: nothing; expected names of files, a matrix or a table"),
    (lambda x, y: thalweg.train(x, y).model.predict(None), thalweg.InputError, "data: nothing; expected names of files"),
    (lambda x, y: thalweg.train([[1], [1, 2]], [0, 1]), thalweg.InputError, "rows of different lengths, expected a matrix"),
    (lambda x, y: thalweg.train(scipy.sparse.coo_array(y), y), thalweg.InputError, "rows of 1 dimensions, expected two"),
    (lambda x, y: thalweg.train(x, y[1:]), ValueError, "3999 numbers, expected 4000"),
    (lambda x, y: thalweg.train(x, ["a"] * len(y)), ValueError, "expected numbers"),
    (lambda x, y: thalweg.train(x, y, valid=(x, y), valid_part=10), ValueError, "cannot be combined"),
    (lambda x, y: thalweg.train(x, y, valid=x), thalweg.InputError, "valid: no labels; expected"),
    (lambda x, y: thalweg.train(x, y, valid=(x, y, y, y)), thalweg.InputError, "valid: no labels; expected"),
    (lambda x, y: thalweg.train(x, y, valid=(x[:, :3], y)), thalweg.InputError, "valid: a matrix of 3 columns; expected 60"),
    (lambda x, y: thalweg.train(x, y, epochs=1.5), thalweg.InputError, "epochs=1.5: expected a whole number"),
    (lambda x, y: thalweg.train(x, y, l2="much"), thalweg.InputError, "l2='much': expected a number"),
    (lambda x, y: thalweg.train(x, y, optimizer="foo"), thalweg.InputError, "optimizer 'foo'; expected sgd, .* or "),
    (lambda x, y: thalweg.train(x, y, keep="first"), thalweg.InputError, "expected best or last"),
    (lambda x, y: thalweg.train(x, y, model="ffm", column_fields=[-1] * 60), thalweg.InputError, "column_fields: field -1"),
    (lambda x, y: thalweg.train(x, y, model="ffm", column_fields=[0] * 20), thalweg.InputError, "each of 60 columns"),
    (lambda x, y: thalweg.train(x, y, valid=[__file__, __file__]), ValueError, "valid: 2 files"),
    (lambda x, y: thalweg.train(x, y, epochs=-1), ValueError, "epochs=-1"),
    (lambda x, y: thalweg.train(x, y, epochs=0), ValueError, "epochs 0; expected 1"),
    (lambda x, y: thalweg.train(x, y, optimizer="best"), ValueError, "'best'"),
    (lambda x, y: thalweg.train(x, y, loss="hinge"), ValueError, "'hinge'; expected"),
    (lambda x, y: thalweg.train(x, y, model="svm"), ValueError, "svm"),
    (lambda x, y: thalweg.train(x, y, context=64), thalweg.InputError, "context has no meaning with model lr"),
    (lambda x, y: thalweg.train(x, y, layers="many"), thalweg.InputError, "layers='many': expected a whole number"),
    (lambda x, y: thalweg.train(x, y, width=64, heads=2), thalweg.InputError, "width has no meaning with model lr"),
    (lambda x, y: thalweg.train(x, y, columns="3:cat"), thalweg.InputError, "columns is for tables and files"),
    (lambda x, y: thalweg.train(x, y, format="csv"), thalweg.InputError, "format is for files, and all rows are in memory"),
    (lambda x, y: thalweg.train(x, y, valid=(x, y), from_command="cat %s"), thalweg.InputError, "from_command is for files"),
    (lambda x, y: thalweg.train(x, y, command_timeout=3), thalweg.InputError, "command_timeout is for files"),
    (lambda x, y: thalweg.train(x, y, column_fields=[0] * 60), thalweg.InputError, "column_fields has no meaning with model lr"),
    (lambda x, y: thalweg.train(x, y, rates=1), TypeError, "no argument 'rates'"),
    (lambda x, y: thalweg.train(x, y, files=["a"]), TypeError, "no argument 'files'"),
    (lambda x, y: thalweg.train(x, y, progress=3), thalweg.InputError, "progress 3: expected True, False or a function"),
    (lambda x, y: thalweg.train(x, y, on_epoch=3), thalweg.InputError, "on_epoch 3: expected a function"),
    (lambda x, y: thalweg.train(x, y, threads=10**6), thalweg.InputError, "threads 1000000; expected 0 to 1024"),
    (lambda x, y: thalweg.train(x, y, timeout=float("nan")), thalweg.InputError, "timeout nan: expected seconds"),
    (lambda x, y: thalweg.train(x, y, grace=1e300), thalweg.InputError, "grace 1e.300: expected seconds"),
    (lambda x, y: thalweg.train(x, y + 0j), thalweg.InputError, "y of complex128, expected numbers"),
    (lambda x, y: thalweg.train(x, y.astype("M8[s]")), thalweg.InputError, "y of datetime64.s., expected numbers"),
    (lambda x, y: thalweg.train(x, y).model.save("not/there"), thalweg.IoError, "cannot save a model at .*not/there"),
    (lambda x, y: thalweg.train(x, y).model.save("."), thalweg.InputError, "is the working directory"),
    (lambda x, y: thalweg.train(x * np.nan, y), ValueError, "expected a finite value of feature"),
    (lambda x, y: thalweg.train(np.zeros((0, 3)), []), ValueError, "no row"),
    (lambda x, y: thalweg.train("missing.svm"), FileNotFoundError, "missing.svm"),
    (lambda x, y: thalweg.Model.load("missing"), FileNotFoundError, "missing"),
    (lambda x, y: thalweg.train(x, y, out="/proc/model"), OSError, "/proc"),
])
def test_errors_are_exceptions(clicks, tmp_path, monkeypatch, call, error, text):
    monkeypatch.chdir(tmp_path)  # Where a model goes that cannot be saved elsewhere.
    with pytest.raises(error, match=text) as raised:
        call(*clicks)
    assert error is TypeError or isinstance(raised.value, (thalweg.Error, ValueError))


def test_errors_are_shown_by_the_name_that_is_imported():
    shown = subprocess.run([sys.executable, "-c", "import thalweg; thalweg.Model.load('missing')"], capture_output=True, text=True)
    assert "\nthalweg.MissingError: " in shown.stderr


INTERRUPTED = """
import numpy, sys, thalweg
x = numpy.random.default_rng(0).random((2000, 50)).astype("float32")
try:
    thalweg.train(x, numpy.arange(2000) % 2, epochs=50_000, progress=lambda p: print("runs", flush=True))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_a_training():
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "runs\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert out.splitlines()[-1] == "interrupted"
    assert child.returncode == 0


def overfitting_rows(seed, count):
    """Rows with an entry of their own each, which passes learn by heart."""
    random = np.random.default_rng(seed)
    first = random.integers(0, 10, count)
    dense = np.zeros((count, 910), dtype=np.float32)
    dense[np.arange(count), first] = 1
    dense[np.arange(count), 10 + random.integers(0, 900, count)] = 1
    return dense, (random.random(count) < 0.5 + 0.05 * (first - 4.5)).astype(int)


def test_the_best_pass_is_kept_and_patience_ends():
    flags = dict(valid=overfitting_rows(2, 2000), rate=0.5, l2=0)
    kept = thalweg.train(*overfitting_rows(1, 600), epochs=8, **flags)
    assert 0 < kept.kept_epoch == kept.best_epoch < 8 == len(kept.epochs)
    assert kept.metrics["logloss"] == min(epoch.held_out.logloss for epoch in kept.epochs)
    last = thalweg.train(*overfitting_rows(1, 600), epochs=8, keep="last", **flags)
    assert last.kept_epoch == 8 and last.metrics["logloss"] > kept.metrics["logloss"]
    ended = thalweg.train(*overfitting_rows(1, 600), epochs=50, patience=2, **flags)
    assert len(ended.epochs) == ended.kept_epoch + 2 < 50
    with pytest.raises(ValueError, match="expected best or last"):
        thalweg.train(*overfitting_rows(1, 600), keep="first")


def test_a_model_that_is_worse_than_none_is_an_error():
    data, labels = overfitting_rows(1, 600)
    other, upside_down = overfitting_rows(2, 2000)
    with pytest.raises(RuntimeError, match="worse than that of no features.*keep_bad=True"):
        thalweg.train(data, labels, valid=(other, 1 - upside_down), epochs=8, rate=0.5, l2=0)
    thalweg.train(data, labels, valid=(other, 1 - upside_down), epochs=8, rate=0.5, l2=0, keep_bad=True)


def test_poisson_and_classes(tmp_path):
    random = np.random.default_rng(4)
    matrix = scipy.sparse.random(3000, 20, density=0.3, random_state=4, format="csr")
    counts = random.poisson(np.exp(matrix @ np.linspace(-1, 2, 20)))
    poisson = thalweg.train(matrix, counts, loss="poisson", epochs=5, valid_part=10)
    assert poisson.metrics["deviance"] < 1.5 and abs(poisson.metrics["calibration"] - 1) < 0.15
    assert (poisson.model.predict(matrix) > 0).all()
    own = random.integers(0, 3, 3000)
    one_hot = scipy.sparse.csr_matrix((np.ones(3000), (range(3000), own * 5 + random.integers(0, 5, 3000))))
    classes = thalweg.train(one_hot, own, loss="classes", epochs=3, valid_part=10)
    assert classes.valid_accuracy > 0.95
    np.testing.assert_array_equal(classes.model.predict(one_hot), own)
    scores, chances = classes.model.predict_raw(one_hot), classes.model.predict_probabilities(one_hot)
    assert scores.shape == chances.shape == (3000, 3) and chances.dtype == np.float32
    np.testing.assert_array_equal(scores.argmax(axis=1), own)
    powers = np.exp(scores.astype(float))
    np.testing.assert_allclose(chances, powers / powers.sum(axis=1, keepdims=True), rtol=1e-4)
    with pytest.raises(ValueError, match="poisson loss has no probabilities"):
        poisson.model.predict_probabilities(matrix)


def test_a_list_holds_rows_out_as_a_tuple_does(clicks):
    matrix, labels = clicks
    assert thalweg.train(*clicks, valid=[matrix, labels]).metrics == thalweg.train(*clicks, valid=(matrix, labels)).metrics


def test_numbers_of_numpy_are_arguments(clicks):
    plain = thalweg.train(*clicks, epochs=2, valid_part=10).model
    assert thalweg.train(*clicks, epochs=np.int64(2), valid_part=10, keep_bad=np.True_).model.digest == plain.digest
    np.testing.assert_array_equal(plain.predict_probabilities(clicks[0]), plain.predict(clicks[0]))


def test_a_model_of_a_matrix_takes_matrices_of_its_width(clicks):
    matrix, labels = clicks
    model = thalweg.train(matrix, labels).model
    for other in (matrix[:, :59], scipy.sparse.hstack([matrix, matrix[:, :1]]).tocsr(), matrix.toarray()[:, :5]):
        with pytest.raises(thalweg.InputError, match=f"a matrix of {other.shape[1]} columns; expected 60"):
            model.predict(other)
    wider = thalweg.train(scipy.sparse.hstack([matrix, matrix[:, :1]]).tocsr(), labels, init=model).model
    assert wider.predict(scipy.sparse.hstack([matrix, matrix[:, :1]]).tocsr()).shape == labels.shape


def test_warnings_and_notes_are_logged(caplog):
    data, labels = overfitting_rows(1, 600)
    other, upside_down = overfitting_rows(2, 2000)
    with caplog.at_level("INFO", logger="thalweg"):
        result = thalweg.train(data, labels, valid=(other, 1 - upside_down), epochs=8, rate=0.5, l2=0, keep_bad=True)
    assert result.warnings and result.notes
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert {("WARNING", line) for line in result.warnings} | {("INFO", line) for line in result.notes} <= set(told)


def test_sweep_keeps_the_best(clicks, tmp_path):
    matrix, labels = clicks
    swept = thalweg.train(matrix, labels, sweep="rate=0.0001,0.1", valid_part=10, out=tmp_path / "model")
    assert [trial["kept"] for trial in swept.sweep] == [False, True]
    assert swept.sweep[1]["rate"] == 0.1
    assert swept.sweep[1]["model_digest"] == swept.model.digest != swept.sweep[0]["model_digest"]
    assert swept.model.digest == thalweg.train(matrix, labels, rate=0.1, valid_part=10).model.digest
    with pytest.raises(ValueError, match="valid"):
        thalweg.train(matrix, labels, sweep="rate=1,2")


def test_settings_of_a_sweep_are_arguments(clicks):
    given = {"model": "fm", "rank": 2, "valid_part": 10}
    swept = thalweg.train(*clicks, sweep="factor_rate=0.01,0.1", **given)
    for trial in swept.sweep:
        assert thalweg.train(*clicks, factor_rate=trial["factor_rate"], **given).model.digest == trial["model_digest"]


def test_rows_sorted_by_label_are_warned_of_and_mixed(clicks):
    matrix, labels = clicks
    by_label = np.argsort(labels, kind="stable")
    matrix, labels = matrix[by_label], labels[by_label]
    sorted_, mixed, again, threads = (
        thalweg.train(matrix, labels, valid_part=10, batch=64, keep_bad=True, data_shards=1, **options)
        for options in ({}, {"shuffle": "rows"}, {"shuffle": "rows"}, {"shuffle": "rows", "threads": 1}))
    assert mixed.model.digest == again.model.digest == threads.model.digest != sorted_.model.digest
    assert mixed.valid_loss < sorted_.valid_loss
    with pytest.raises(ValueError, match="shuffle 'cards'; expected rows, blocks or off"):
        thalweg.train(matrix, labels, shuffle="cards")


def test_uneven_labels_and_rare_features(clicks):
    matrix, labels = clicks
    plain = thalweg.train(matrix, labels, epochs=10, l2=0, bias_rate=0.3)
    for options in {"pos_weight": 3.0}, {"negative_sample": 0.5}:
        balanced = thalweg.train(matrix, labels, epochs=10, l2=0, bias_rate=0.3, **options)
        # Without the correction 1.33 and 1.24 times as many rows would be expected to be positive.
        assert abs(balanced.model.predict(matrix).mean() / labels.mean() - 1) < 0.1
        assert balanced.model.digest != plain.model.digest
    some = thalweg.train(matrix[:1000], labels[:1000], min_count=100).model_rows
    assert 0 < some < thalweg.train(matrix[:1000], labels[:1000]).model_rows


WAITING = """
import sys, thalweg
model = thalweg.train([[0], [1]] * 500, [0, 1] * 500).model
for wait in (model.predict, thalweg.train):
    print("waits", flush=True)
    try:
        wait(sys.argv[1])
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_ctrl_c_ends_the_wait_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    child = subprocess.Popen([sys.executable, "-c", WAITING, tmp_path / "pipe"], stdout=subprocess.PIPE, text=True)
    for _ in range(2):
        assert child.stdout.readline() == "waits\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
    assert child.wait(timeout=60) == 0
