"""The picture of cycles against registers has a panel for each function."""

from skinny.scripts.bench.registers_picture import STYLES, draw_registers


def test_the_picture_is_a_png(tmp_path):
    rows = [
        {"formula": name, "keep": keep, "registers": width, "cycles": 100 // width}
        for name in ("one", "two")
        for keep in STYLES
        for width in (3, 8, 1024)
    ]
    path = tmp_path / "picture.png"
    draw_registers(rows, str(path))
    assert path.read_bytes().startswith(b"\x89PNG")
