"""The picture of a sweep: a panel a device, and every point with figures in it."""

import pytest
from skinny.scripts.sweep_picture import draw_front

ROW = {"device": "up5k", "lut": 300, "cells": 700, "inferences_per_second": 1e6, "cycles": 7.0, "figures": "estimate"}


@pytest.mark.parametrize("quality", [{}, {"error": 0.1}, {"accuracy": 0.9}, {"r2": -0.5}])
def test_points_are_drawn_with_their_quality(tmp_path, monkeypatch, quality):
    figures = []
    monkeypatch.setattr("skinny.scripts.sweep_picture.save_picture", lambda figure, file: figures.append(figure))
    rows = [
        ROW | quality | {"front": True},
        ROW | quality | {"front": False, "cells": 800},
        ROW | quality | {"front": True, "device": "ecp5-25k", "cells": None},
        ROW | quality | {"front": False, "figures": None, "lut": None, "inferences_per_second": None},
    ]
    draw_front(rows, str(tmp_path / "p.png"))
    panels = [axes for axes in figures[0].axes if axes.get_title()]
    assert [(axes.get_title(), axes.get_xlabel()) for axes in panels] == [("up5k", "logic cells"), ("ecp5-25k", "LUT")]
    drawn = [[tuple(place) for part in axes.collections for place in part.get_offsets().tolist()] for axes in panels]
    assert drawn == [[(800, 1e6), (700, 1e6)], [(300, 1e6)]]
    assert [[text.get_text() for text in axes.texts] for axes in panels] == [["1"], ["2"]]
    names = {"error": "proven error", "accuracy": "accuracy on test rows", "r2": "R² on test rows"}
    assert figures[0].axes[-1].get_ylabel() == next((names[name] for name in quality), "cycles")


def test_without_figures_accuracy_is_drawn_against_cycles(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr("skinny.scripts.sweep_picture.save_picture", lambda figure, file: figures.append(figure))
    row = {"device": "up5k", "accuracy": 0.9, "cycles": 30, "figures": None, "front": True}
    draw_front([row, row | {"cycles": 40, "front": False}, row | {"cycles": None}], str(tmp_path / "p.png"))
    axes = figures[0].axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("cycles", "accuracy on test rows")
    assert [part.get_offsets().tolist() for part in axes.collections] == [[[40, 0.9]], [[30, 0.9]]]
