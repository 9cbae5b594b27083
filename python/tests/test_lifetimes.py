"""What becomes of models and of calls under way: files that change, processes that fork, programs that end."""

import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
import thalweg


def test_a_model_whose_files_another_one_has_taken_is_not_taken_for_it(clicks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows, labels = clicks
    first = thalweg.train(rows, labels, out="model").model
    expected = first.predict(rows)
    monkeypatch.chdir("/")
    first.save(tmp_path / "saved")
    assert thalweg.Model.load(tmp_path / "saved").digest == first.digest
    second = thalweg.train(rows, 1 - labels, out=tmp_path / "model").model
    for use in (lambda: first.save(tmp_path / "again"), lambda: pickle.dumps(first), lambda: thalweg.train(rows, labels, init=first)):
        with pytest.raises(thalweg.IoError, match=f"has model {second.digest} now, which took the place of this one, {first.digest}"):
            use()
    shutil.rmtree(tmp_path / "model")
    with pytest.raises(thalweg.IoError, match="the files of this model are gone"):
        first.save(tmp_path / "again")
    np.testing.assert_array_equal(first.predict(rows), expected)
    assert not (tmp_path / "again").exists()


def test_a_forked_process_leaves_models_where_they_are(clicks):
    model = thalweg.train(*clicks).model
    child = os.fork()
    if child == 0:
        try:
            del model
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert pickle.loads(pickle.dumps(model)).digest == model.digest


def test_a_model_takes_no_working_directory_s_place(clicks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match="it is the working directory"):
        thalweg.train(*clicks, out=".")
    with pytest.raises(thalweg.InputError, match="out is empty"):
        thalweg.train(*clicks, out="")
    assert os.getcwd() == str(tmp_path)


@pytest.mark.parametrize("call", ["thalweg.train(x, y, epochs=100000)", "while_true(model.predict, x)", "while_true(store.pull, 'w', [1])"])
def test_a_program_may_end_while_a_thread_of_it_is_at_work(call):
    program = f"""
import threading, time
import numpy as np, thalweg
x, y = np.random.default_rng(0).random((20000, 5)), np.arange(20000) % 2
model = thalweg.train(x, y, keep_bad=True).model
job = thalweg.Job([thalweg.Table("w", 1)], consistency="async")
store = job.store(0)
def while_true(call, *what):
    while True:
        call(*what)
threading.Thread(target=lambda: {call}, daemon=True).start()
time.sleep(0.3)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_models_are_pickled(clicks):
    result = thalweg.train(*clicks, valid_part=10)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.model.predict(clicks[0]), result.model.predict(clicks[0]))
    assert again.epochs[0].held_out.auc == result.epochs[0].held_out.auc


def test_damaged_models_are_refused(clicks, tmp_path):
    thalweg.train(*clicks, out=tmp_path / "model")
    (tmp_path / "model" / "model.json").write_text("{}")
    with pytest.raises(RuntimeError, match="model.json"):
        thalweg.Model.load(tmp_path / "model")
