"""The examples of docs/python.md, one after the other."""

import ast
import importlib.resources
import pathlib
import re

import thalweg

PAGE = pathlib.Path(__file__).parents[2] / "docs/python.md"


def test_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) >= 5
    names = {"__name__": "docs"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert "held-out auc" in capsys.readouterr().out


def test_the_example_for_users_of_xgboost_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = PAGE.parent / "from-xgboost.md"
    (block,) = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    names = {"__name__": "docs"}
    exec(compile(block, str(page), "exec"), names)
    assert [trial["kept"] for trial in names["result"].sweep].count(True) == 1
    assert names["probabilities"].shape == names["margins"].shape == (4000,)


def test_what_the_program_alone_takes_is_told():
    source = PAGE.parents[1] / "src/cli/command"
    lists = re.findall(r'k(?:Read|Train)Options =([^;]*);', (source / "command.h").read_text(encoding="utf-8"))
    lists += re.findall(r"\.options = {k[^}]*", (source / "train.cc").read_text(encoding="utf-8"))
    names = {name for text in lists for name in "|".join(re.findall(r'"([^"]*)"', text)).split("|") if name}
    assert len(lists) == 3 and {"rate", "context", "state"} <= names
    taken = {*re.findall(r'^    {"(\w+)"', (PAGE.parents[1] / "python/src/train_options.cc").read_text(encoding="utf-8"), re.M)}
    told = {*re.findall(r"`--([a-z-]+)`", PAGE.read_text(encoding="utf-8"))}
    for name in names - {"keep-what"}:  # Its flag is --keep.
        assert (name.replace("-", "_") in taken) != (name in told), name


def test_the_package_is_typed_and_says_what_it_has():
    files = importlib.resources.files(thalweg)
    assert files.joinpath("py.typed").is_file()
    stubs = ast.parse(files.joinpath("_core.pyi").read_text(encoding="utf-8"))
    assert {"Group", "Job", "Rows", "SavedModel", "TrainEpoch"} <= {node.name for node in stubs.body
                                                                  if isinstance(node, ast.ClassDef)}
    for name in thalweg.__all__:
        assert getattr(thalweg, name).__doc__, name
