"""The examples of docs/python.md, one after the other."""

import pathlib
import re

PAGE = pathlib.Path(__file__).parents[2] / "docs/python.md"


def test_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) >= 5
    names = {"__name__": "docs"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert "held-out auc" in capsys.readouterr().out
