"""Reports: figures that were worked out by hand, and files that hold them."""

import json

import numpy as np
import pytest
import skinny
from skinny.model.frontends.measure import LayerMeasure
from skinny.report import Report, stage

FACTS = {
    "model": "MLPClassifier <b>, 2 inputs",
    "kind": "classifier",
    "rows": 4,
    "ring": "fixed:12.9",
    "cycles": 17,
    "registers": 5,
    "notes": ["inputs that cannot matter: x3"],
}
LAYERS = [
    LayerMeasure("inputs", 2, -1.0, 1.0, 0, 0.5, 0.001, 0.0005),
    LayerMeasure("hidden layer 1", 4, 0.0, 8.0, 3, 1.0, 0.08, 0.01),
]


def test_figures_of_classifiers_are_parts_of_rows():
    found, wanted, labels = (np.array(list(text)) for text in ("abba", "abbb", "abab"))
    assert stage("RTL", found, wanted, labels, True) == ("RTL", 0.25 * 2, 0.75)
    assert stage("RTL", found, wanted, None, True).accuracy is None


def test_figures_of_regressors_are_r2_and_the_largest_difference():
    labels = np.array([1.0, 2, 3, 6])
    found = np.array([1.0, 2, 3, 4])
    made = stage("floats", found, labels, labels, False)
    assert made.accuracy == pytest.approx(1 - 4 / 14)
    assert made.agree == 2


def test_files_hold_all_figures(tmp_path):
    stages = [stage("floats", *[np.array([1, 0])] * 3, True), stage("RTL", *[np.array([1, 0])] * 3, True)]
    report = Report(FACTS, stages, LAYERS)
    report.save(tmp_path / "r.json")
    read = json.loads((tmp_path / "r.json").read_text())
    assert read["stages"][1] == {"name": "RTL", "accuracy": 1.0, "agree": 1.0}
    assert read["layers"][1]["largest_error"] == 0.08
    assert read["ring"] == "fixed:12.9"
    report.save(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    for text in ("MLPClassifier &lt;b&gt;", "100.00%", "hidden layer 1", "<svg", "2^3", "cannot matter: x3"):
        assert text in page
    assert '<meta name="viewport" content="width=device-width' in page  # or a phone shows it at a third of its size
    assert "logarithmic from 0.1%" in page
    assert "17 cycles a row" in repr(report)
    with pytest.raises(skinny.InputError, match=r"r\.txt: a report is written to a file that ends in \.html or \.json"):
        report.save(tmp_path / "r.txt")


def test_bars_are_logarithmic():
    """Half of the word is 90 % of three decades; an error of a hundredth is two thirds of six decades."""
    page = Report(FACTS, [], LAYERS)._repr_html_()
    assert f'width="{230 * (1 + np.log10(0.5) / 3):.1f}"' in page
    assert f'width="{230 * (1 - 2 / 6):.1f}"' in page


def test_without_a_format_there_is_no_plot():
    bare = [LayerMeasure("inputs", 2, -1.0, 1.0, None, None, None, None)]
    assert "<svg" not in Report(FACTS | {"ring": None}, [], bare)._repr_html_()
