"""``skinny bench learn``: what is measured is kept, summed up and not measured again."""

import json

import numpy as np
import pytest
from skinny.model.errors import CheckError
from skinny.scripts.bench import learn


def measured(split, ours, network, name="iris"):
    point = {"budget": 25, "cycles": 25, "setting": "linear", "ours": ours, "fixed": ours - 0.01}
    rivals = {"logistic": [20, 0.9], "tree": [None, 0.8 + split / 10]}
    return {
        "set": name,
        "split": split,
        "effort": 0.25,
        "points": [point],
        "network": {"25": network},
        "rivals": rivals,
        "simulated": 38 if split == 0 else 0,
        "seconds": 1.0,
    }


def test_means_and_errors_of_paired_differences():
    found = [measured(0, 0.98, 0.95), measured(1, 0.96, 0.91), measured(2, 0.97, 0.96)]
    answer = learn.summary(found)
    (row,) = answer["rows"]
    assert row["ours"] == pytest.approx(0.97)
    assert row["fixed"] == pytest.approx(0.96)
    # Differences 0.03, 0.05, 0.01: a deviation of 0.02.
    assert row["ahead"]["network"] == pytest.approx([0.03, 0.02 / 3**0.5])
    # Of the tree 0.8, 0.9, 1.0: differences 0.18, 0.06, -0.03.
    assert row["ahead"]["tree"] == pytest.approx([0.07, np.std([0.18, 0.06, -0.03], ddof=1) / 3**0.5])
    assert (row["promised"], row["met"]) == (0.96, True)
    assert answer["rivals"][1] == {
        "set": "iris",
        "rival": "tree",
        "cycles": None,
        "score": pytest.approx(0.9),
        "score_error": pytest.approx(0.1 / 3**0.5),
    }
    assert answer["simulated"] == [{"set": "iris", "rows": 38}]


def test_what_is_known_is_not_measured_again(skinny, folder, monkeypatch):
    seen = []

    def measure(name, data, split, effort):
        seen.append((name, split, effort))
        return measured(split, 0.9, 0.9, name)

    monkeypatch.setattr(learn, "measure", measure)
    words = ("bench", "learn", "--only", "iris,wine", "--quick", "-o", "kept.jsonl")
    assert skinny(*words, "--splits", "1")[0] == 0
    assert seen == [("wine", 0, 0.25), ("iris", 0, 0.25)]
    code, out, _ = skinny(*words)
    assert code == 0
    assert "+0.00 ± 0.00" in out
    assert seen[2:] == [("wine", 1, 0.25), ("iris", 1, 0.25)]
    assert "90.00" in out
    assert len((folder / "kept.jsonl").read_text().splitlines()) == 4
    code, out, _ = skinny(*words, "--json")
    assert len(seen) == 4
    assert [row["set"] for row in json.loads(out)["rows"]] == ["wine", "iris"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--only", "iris,zoo"), "there is no set 'zoo'; there are digits (images)"),
        (("--splits", "0"), "--splits must be 1 or more, not 0"),
        (("--only", "iris", "-o", "p.skn"), "p.skn: this is no file of skinny bench learn"),
    ],
)
def test_bad_options_are_said(skinny, words, message):
    code, out, err = skinny("bench", "learn", *words)
    assert (code, out) == (2, "")
    assert message in err


def test_a_core_that_decides_otherwise_is_found():
    class Wrong:
        classes_ = np.array(["a", "b"])

        def simulate(self, rows):
            return {"results": {"class": [0, 1, 1]}}

        def predict(self, rows):
            return np.array(["a", "b", "a"])

    with pytest.raises(CheckError, match=r"^test row 3: the simulated core and the estimator differ$"):
        learn._simulate(Wrong(), np.zeros((3, 1)))


def test_a_small_set_is_measured():
    from skinny.scripts.bench.learn_sets import SETS

    found = learn.measure("iris", SETS["iris"]._replace(budgets=(25,)), 1, 0.02)
    assert [point["budget"] for point in found["points"]] == [None, 25]
    assert set(found["network"]) == {"None", "25"}
    assert found["points"][1]["ours"] > 0.8
    # Of every split the test rows are simulated with the program of each budget.
    assert found["simulated"] == 2 * 38
    assert learn.summary([found])["rows"][1]["ahead"]["network"][1] is None
