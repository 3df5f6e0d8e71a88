"""``skinny sweep``: tables and picture, and a sweep that is killed and goes on."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from dask.distributed import LocalCluster

WORDS = ("y = (a + 2*b)^3", "--box", "-1:1", "--rings", "fixed:12,fixed:16", "--threads", "1,4,17")
WORDS += ("--devices", "up5k,ecp5-25k", "--synthesis", "none", "-o", "cube")


@pytest.fixture(scope="module")
def scheduler():
    """The address of a scheduler on a free port, whose only worker is a thread of this process."""
    options = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with LocalCluster(1, processes=False, threads_per_worker=1, protocol="tcp", host="127.0.0.1", **options) as cluster:
        yield cluster.scheduler_address


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_all_points_and_the_best_of_them(skinny, folder, scheduler):
    code, out, err = skinny("sweep", *WORDS, "--scheduler", scheduler)
    assert code == 0
    points, best = table("cube/points.csv"), table("cube/front.csv")
    assert len(points) == 12
    assert [row for row in points if row["front"] == "True"] == best
    assert {row["device"] for row in best} == {"up5k", "ecp5-25k"}
    assert (folder / "cube" / "front.png").read_bytes()[1:4] == b"PNG"
    assert "4 points without figures: the number of threads must be 1 to 16, not 17" in out
    assert f"{len(best)} of 12 points are on the front, by estimates" in out
    assert out.endswith("cube: points.csv, front.csv, front.png, points.jsonl\n")
    assert "skinny: estimates: 12 of 12\n" in err
    code, out, _ = skinny("sweep", *WORDS, "--scheduler", scheduler, "--json")
    answer = json.loads(out)
    assert [str(row["lut"] or "") for row in answer["points"]] == [row["lut"] for row in points]
    assert answer["front"] == [row for row in answer["points"] if row["front"]]


def test_a_killed_sweep_goes_on_elsewhere_with_the_same_table(skinny, folder, scheduler):
    assert skinny("sweep", *WORDS[:-1], "whole", "--scheduler", scheduler)[0] == 0
    record = folder / "cube" / "points.jsonl"
    words = [sys.executable, "-c", "import sys; from skinny.scripts.cli import main; sys.exit(main())", "sweep", *WORDS]
    # Local workers, one, in a process of its own. It ends by itself when its parent is gone.
    running = subprocess.Popen(
        [*words, "--workers", "1"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**os.environ}
    )
    while running.poll() is None and not (record.is_file() and record.read_bytes().count(b"\n") > 2):
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = record.read_bytes()
    done = before[: before.rfind(b"\n") + 1]
    assert done.count(b"\n") > 2
    assert skinny("sweep", *WORDS, "--scheduler", scheduler)[0] == 0
    after = record.read_bytes()
    assert after.startswith(done)
    keys = [json.loads(line)["key"] for line in after.splitlines()]
    assert len(keys) == len(set(keys)) == 2 + 12
    for name in ("points.csv", "front.csv"):
        assert (folder / "cube" / name).read_bytes() == (folder / "whole" / name).read_bytes()


def test_a_sweep_of_what_is_learned(skinny, folder, scheduler):
    lines = [f"{x},{y},{'in' if x * x + y * y < 9 else 'out'}" for x in range(-4, 5) for y in range(-4, 5)]
    (folder / "disc.csv").write_text("x,y,where\n" + "\n".join(lines) + "\n")
    words = ("disc.csv", "--target", "where", "--budgets", "8,30", "--effort", "0.02", "--synthesis", "none", "-o", "d")
    code, out, _ = skinny("sweep", *words, "--scheduler", scheduler)
    points = table("d/points.csv")
    assert [row["budget"] for row in points] == ["8", "30"]
    assert all(float(row["cycles"]) <= int(row["budget"]) and 0 <= float(row["accuracy"]) <= 1 for row in points)
    # Cores with argmax have no estimate, so that cycles decide where nothing is synthesised.
    assert code == 0
    assert "2 points without figures: there are no estimates of cores with relu, argmax" in out
    assert "points are on the front, by cycles alone" in out


def test_where_no_point_can_be_the_table_says_why(skinny, folder, scheduler):
    code, out, err = skinny(
        "sweep", "y = a", "--rings", "prime:8191", "--threads", "17", "-o", "p", "--scheduler", scheduler
    )
    (row,) = table("p/points.csv")
    assert (code, out) == (1, "")
    assert row["reason"] == "the number of threads must be 1 to 16, not 17"
    assert f"no point of 1 could be ({os.path.join('p', 'points.csv')}): {row['reason']}\n" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("y = a", "--threads", "4,x"), "--threads: expected whole numbers with commas, found 'x'"),
        (("y = a", "--budgets", "3"), "--budgets is about what is learned from a table: give its column --target"),
        (("y = a", "--effort", "3"), "--effort is about what is learned from a table: give its column --target"),
        (("t.csv", "--target", "t", "--keep", "none"), "--keep is about formulas: what is learned goes without it"),
        (("t.csv", "--target", "t"), "t.csv: cannot be read"),
        (("y = a", "--devices", "up6k"), "unknown device 'up6k'"),
        (("y = a", "--workers", "0"), "the number of workers must be 1 to 1000, not 0"),
        (("y = a", "--box", "b=0:1"), "--box b=0:1: the program has no input 'b'"),
        (("y = a", "--workers", "2", "--scheduler", "tcp://127.0.0.1:9"), "not allowed with"),
    ],
)
def test_bad_options_are_said_in_one_line(skinny, folder, words, message):
    code, out, err = skinny("sweep", *words, "-o", "out")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
