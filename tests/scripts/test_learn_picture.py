"""Pictures of learned programs show the weights, the counts and the points."""

import numpy as np
import pytest
import skinny
from skinny.model.program import text
from skinny.scripts.learn_picture import attention, draw_attention, draw_confusion, draw_curve, draw_explanation

PROGRAM = """\
skinny 1
width 3
inputs p0 p3
weight w[0] = 1/2
weight w[1] = -3
form f[0] = w[0]*p0 + w[1]*p3
form f[1] = w[1]*p0 + w[0]*p3
R2 = f[0]*R1
R2 = f[0]*R2
R0 = f[1]*R1
emit y = R0
end
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "p.skn").write_text(PROGRAM)
    return skinny.load(tmp_path / "p.skn").model


def test_forms_attend_to_the_pixels_that_they_weigh(program):
    forms = attention(program, np.array([0, 3]), 4)
    assert [weights.tolist() for _, weights in forms] == [[0.5, 0, 0, -3], [-3, 0, 0, 0.5]]
    assert text.dumps(program).count("form") == len(forms)


def test_pictures_are_drawn(program, tmp_path):
    draw_attention(program, np.array([0, 3]), (2, 2), str(tmp_path / "a.png"))
    draw_confusion(np.array(["a", "b"]), np.array(["a", "b", "b"]), np.array(["a", "a", "b"]), str(tmp_path / "b.png"))
    curve = [{"cycles": 20, "test": 0.9}, {"cycles": 10, "test": 0.7}]
    networks = [{"cycles": 18, "score": 0.8}, {"cycles": 9, "score": 0.6}]
    draw_curve(curve, networks, [("SVM", None, 0.95), ("L1", 40, 0.9)], True, str(tmp_path / "c.png"))
    images = (np.eye(2).ravel(), np.ones(4))
    draw_explanation(images, ["1", "2"], "y", np.array([0.5, 0, -1, 0]), (2, 2), str(tmp_path / "d.png"))
    names = ("a.png", "b.png", "c.png", "d.png")
    assert all((tmp_path / name).read_bytes()[1:4] == b"PNG" for name in names)
