"""``skinny bench patterns``: means over the seeds, of what was really searched."""

import json

import pytest
from skinny.scripts.bench import patterns


def scores(grown, random, both, fixed):
    return {
        kind: dict.fromkeys((50, 36), value)
        for kind, value in zip(("grown", "random", "both", "fixed"), (grown, random, both, fixed), strict=True)
    }


def test_means_over_seeds_and_what_was_promised():
    rows = patterns.rows_of(
        {"abcde": [scores(0.9, 1.0, 1.0, 0.5), scores(0.7, 0.98, 0.97, 0.3)], "breast cancer": [scores(1, 1, 1, 1)]}
    )
    assert [(row["target"], row["budget"], row["seeds"]) for row in rows] == [
        ("abcde", 50, 2),
        ("abcde", 36, 2),
        ("breast cancer", 50, 1),
        ("breast cancer", 36, 1),
    ]
    assert [rows[0][kind] for kind in ("grown", "random", "both", "fixed")] == pytest.approx([0.8, 0.99, 0.985, 0.4])
    assert [row["met"] for row in rows] == [True, None, None, None]
    assert patterns.rows_of({"abcde": [scores(0.9, 0.99, 0.97, 1.0)]})[0]["met"] is False


def test_each_target_is_measured_once_a_seed(skinny, monkeypatch):
    seen = []

    def measure(name, seed, effort):
        seen.append((name, seed, effort))
        return scores(0.5, 0.25, 0.125, 0.75)

    monkeypatch.setattr(patterns, "of_target", measure)
    monkeypatch.setattr(patterns, "of_table", measure)
    code, out, _ = skinny("bench", "patterns", "--seeds", "2", "--json")
    assert code == 0
    assert seen == [(name, seed, 0.5) for seed in (0, 1) for name in (*patterns.TARGETS, *patterns.TABLES)]
    assert json.loads(out)["rows"][0]["grown"] == 0.5
    code, out, _ = skinny("bench", "patterns", "--seeds", "1")
    assert "0.2500" in out
    code, _, err = skinny("bench", "patterns", "--seeds", "0")
    assert (code, err) == (2, "skinny: error: --seeds and --effort must be above zero\n")


def test_a_target_and_a_table_are_measured():
    target = patterns.of_target("abc + def", 0, 0.02)
    table = patterns.of_table("breast cancer", 0, 0.02)
    for found in (target, table):
        assert list(found) == ["grown", "random", "both", "fixed"]
        assert all(list(values) == [50, 36] for values in found.values())
    assert all(value < 1 for found in target.values() for value in found.values())
    assert all(0.5 < value <= 1 for found in table.values() for value in found.values())
