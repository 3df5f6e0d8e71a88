"""The picture of ``skinny bench precision``."""

from skinny.scripts.bench.precision_picture import draw_errors

ROW = {"name": "f", "variables": 1, "bits": 16, "text_error": 1.0, "cycles": 9, "shortest": 8, "missed": ["ratio"]}


def test_what_has_no_format_and_what_is_off_the_scale_is_drawn(tmp_path):
    rows = [
        ROW | {"proven_ratio": 1.0, "shortest_ratio": 1e6},
        ROW | {"proven_ratio": None, "shortest_ratio": None, "variables": 2},
        ROW | {"proven_ratio": 0.0, "shortest_ratio": 0.0, "bits": 24},
        ROW | {"text_error": None, "proven_ratio": None, "shortest_ratio": None},
    ]
    draw_errors(rows, str(tmp_path / "p.png"))
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
