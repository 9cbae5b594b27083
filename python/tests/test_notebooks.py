"""The code of each notebook, cell by cell."""

import json
import pathlib

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run(path, tmp_path, monkeypatch):
    if "import torch" in path.read_text(encoding="utf-8"):
        pytest.importorskip("torch", reason="python3-torch is not installed")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": path.stem}
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "notebooks are kept without outputs"
            exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 3
