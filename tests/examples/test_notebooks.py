"""The notebooks of the examples: their cells run, and print what stands below them, numbers to 5 %.

Made anew with ``jupyter nbconvert --to notebook --execute --inplace``, where Jupyter is installed."""

import json
import re
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot as plt

NUMBER = re.compile(r"[0-9][0-9,]*\.?[0-9]*")
EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(path.relative_to(EXAMPLES) for path in EXAMPLES.glob("*/*.ipynb"))


def read(path):
    """The cells of a notebook that hold code."""
    cells = json.loads((EXAMPLES / path).read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def expect_alike(seen, shown):
    """The same text with nearly the same numbers: a program that gets shorter makes no page untrue."""
    assert NUMBER.sub("#", seen) == NUMBER.sub("#", shown)
    numbers = [[float(found.replace(",", "")) for found in NUMBER.findall(text)] for text in (seen, shown)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.05)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=str)
def test_cells_run_and_print_what_they_show(path, tmp_path, monkeypatch):
    """Cells with the tag ``slow``, which take more than a few seconds, are left out; no other cell needs them."""
    place = tmp_path / "example"
    shutil.copytree(EXAMPLES / path.parent, place)
    monkeypatch.chdir(place)
    matplotlib.use("Agg")
    names = {"__name__": "__main__"}
    for cell in read(path):
        if "slow" not in cell["metadata"].get("tags", []):
            seen = StringIO()
            with redirect_stdout(seen):
                exec(compile("".join(cell["source"]), str(path), "exec"), names)
            shown = [part["text"] for part in cell["outputs"] if part["output_type"] == "stream"]
            expect_alike(seen.getvalue(), "".join("".join(text) for text in shown))
    plt.close("all")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=str)
def test_every_cell_was_run_without_a_complaint(path):
    cells = read(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        for part in cell["outputs"]:
            assert part["output_type"] != "error"
            assert part.get("name") != "stderr"
            assert "/tmp/" not in json.dumps(part)
