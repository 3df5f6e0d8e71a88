"""Streams from the command line and from Python, in the golden run and on the simulated core."""

import json
import random
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import skinny as front_door
from skinny import streams
from skinny.model.errors import CheckError, InputError
from skinny.scripts.cli import main

SMOOTHER = "state s = 1/2; let n = s + (x - s)/4; next s = n; y = n; z = x - n"
DIFFERENCE = "y = x - z[t-1]"
OSCILLATOR = "state s = 0; state c = 1; let a = s + c/8; next s = a; next c = c - a/8; y = a"
WEIGHTED = "weight k = 2 in 0:4; state s = 1; let n = s + k*x - z[t-1]; next s = n; y = n"
RING = ("--ring", "fixed:24.12")


@pytest.fixture
def work(tmp_path, monkeypatch, capsys):
    """The programs, samples of two streams, and the commands: a call gives (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("s", SMOOTHER), ("d", DIFFERENCE), ("o", OSCILLATOR), ("plain", "y = x"), ("w", WEIGHTED)):
        front_door.compile(text, keep="linear" if name == "s" else "linear,reversible").save(f"{name}.skn")
    chance = random.Random(1)
    for name in "ab":
        rows = [f"{chance.randrange(-99, 99)},{chance.randrange(-9, 9)}" for _ in range(9)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["x,z", *rows]) + "\n")
    (tmp_path / "short.csv").write_text("x,z\n1,2\n")

    def call(*words):
        code = main(words)
        return code, *capsys.readouterr()

    return call


def column(name, index):
    rows = [line.split(",") for line in Path(f"{name}.csv").read_text().split()[1:]]
    return [Fraction(row[index]) for row in rows]


def test_one_stream_and_several(work):
    """The states are exact here: a quarter of what is read is written out in fractions."""
    code, out, _ = work("run", "s.skn", "--ring", "exact", "--stream", "a.csv", "--stream", "b.csv", "--json")
    told = json.loads(out)
    assert (code, told["streams"], told["samples"], told["first"]) == (0, 2, 9, 1)
    for number, name in enumerate("ab"):
        s, expected = Fraction(1, 2), []
        for x in column(name, 0):
            s += (x - s) / 4
            expected.append((s, x - s))
        assert [Fraction(y) for y in told["outputs"]["y"][number]] == [y for y, _ in expected]
        assert [Fraction(z) for z in told["outputs"]["z"][number]] == [z for _, z in expected]
    code, alone, _ = work("run", "s.skn", "--ring", "exact", "--stream", "b.csv", "--json")
    assert json.loads(alone)["outputs"]["y"][0] == told["outputs"]["y"][1]


@pytest.mark.parametrize("pad", [(), ("--pad",)])
def test_a_window_waits_or_is_padded(work, pad):
    x, z = column("a", 0), [Fraction(0), *column("a", 1)]
    expected = [float(x[t] - z[t]) for t in range(0 if pad else 1, 9)]
    for command in ("run", "sim"):
        code, out, err = work(command, "d.skn", *RING, "--stream", "a.csv", *pad, "--json")
        told = json.loads(out)
        assert (code, told["first"]) == (0, 1 if pad else 2), err
        assert told["outputs" if command == "run" else "results"]["y"] == [expected]
    code, out, _ = work("run", "d.skn", *RING, "--stream", "a.csv", *pad)
    assert out.split("\n")[2].split() == [str(1 if pad else 2), str(expected[0])]


def test_the_core_runs_streams_as_the_golden_model(work):
    code, out, _ = work("run", "s.skn", *RING, "--stream", "a.csv", "--stream", "b.csv", "--json")
    golden = json.loads(out)["outputs"]
    code, out, err = work("sim", "s.skn", *RING, "--stream", "a.csv", "--stream", "b.csv", "--json")
    told = json.loads(out)
    assert (code, told["match"], told["streams"], told["room"]) == (0, True, 2, 4), err
    assert told["results"] == golden
    assert told["cycles_per_sample"] == told["cycles"] / 9
    code, out, _ = work("sim", "s.skn", *RING, "--stream", "a.csv")
    assert "all cycles match: 1 stream of 9 samples in" in out
    assert out.endswith("one stream alone has 1/4 of the core: 4 streams at once take the same cycles\n")
    code, out, _ = work("sim", "s.skn", *RING, "--random", "20", "--json")
    told = json.loads(out)
    assert (told["streams"], len(told["results"]["y"]), len(told["results"]["y"][3])) == (4, 4, 20)


def test_a_program_without_inputs_takes_a_number_of_samples(work):
    a, b, expected = 0, 4096, []
    for _ in range(50):
        a += (b * 512 + 2048) >> 12
        b -= (a * 512 + 2048) >> 12
        expected.append(a / 4096)
    for command, key in (("run", "outputs"), ("sim", "results")):
        code, out, err = work(command, "o.skn", *RING, "--stream", "50", "--json")
        assert (code, json.loads(out)[key]["y"]) == (0, [expected]), err


def test_a_difference_is_found(work, monkeypatch):
    right = streams.run_stream

    def wrong(*given, **options):
        found = right(*given, **options)
        found.outputs[0, -1, 0] += 1
        return found

    monkeypatch.setattr(streams, "run_stream", wrong)
    code, out, err = work("sim", "s.skn", *RING, "--stream", "a.csv", "--json")
    assert (code, json.loads(out)["match"]) == (1, False)
    assert "stream 1, sample 9, output y: the golden run gives" in err


def test_a_trace_is_of_a_sample(work):
    _, out, _ = work("run", "s.skn", *RING, "--stream", "a.csv", "--json")
    y = json.loads(out)["outputs"]["y"][0]
    _, out, _ = work("trace", "s.skn", *RING, "--stream", "a.csv", "--row", "5", "--json")
    told = json.loads(out)
    state = front_door.load("s.skn").states["s"]
    assert (told["row"], told["registers"][0][state], told["outputs"]["y"]) == (5, y[3], y[4])
    _, out, err = work("trace", "s.skn", *RING, "--stream", "a.csv", "--vcd", "all.vcd")
    assert "registers in each of 9 samples" in err
    assert Path("all.vcd").read_text().count("\n#") == 9 * (len(front_door.load("s.skn")) + 1)
    _, out, _ = work("trace", "d.skn", *RING, "--stream", "a.csv", "--json")
    assert json.loads(out)["row"] == 2


def weighted(x, z, gains, first):
    """``y`` from sample ``first`` on, where sample ``t`` has ``gains[t]``."""
    s, found = Fraction(1), []
    for t in range(first, len(x)):
        s += gains[t] * x[t] - (z[t - 1] if t else 0)
        found.append(s)
    return found


@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize("at", [{5: 3}, {1: 3}, {2: 3, 3: 0, 9: 1}, {4: 1, 8: 4}])
def test_weights_are_set_while_a_stream_runs(work, pad, at):
    x, z = column("a", 0), column("a", 1)
    gains = [2] * 9
    for number, gain in at.items():
        gains[number - 1 :] = [gain] * (10 - number)
    expected = weighted(x, z, gains, 0 if pad else 1)
    retunes = [word for number, gain in at.items() for word in ("--retune", f"{number}:k={gain}")]
    for command, key in (("run", "outputs"), ("sim", "results")):
        code, out, err = work(command, "w.skn", *RING, "--stream", "a.csv", *["--pad"] * pad, *retunes, "--json")
        assert (code, json.loads(out)[key]["y"]) == (0, [[float(y) for y in expected]]), err
    program, retune = front_door.load("w.skn"), {number: {"k": gain} for number, gain in at.items()}
    assert program.run_stream({"x": x, "z": z}, pad=pad, retune=retune) == expected


def test_weights_are_set_while_all_threads_run(work):
    code, out, err = work("sim", "w.skn", *RING, "--random", "40", "--retune", "7:k=0", "--retune", "30:k=4", "--json")
    assert (code, json.loads(out)["streams"]) == (0, 4), err


@pytest.mark.parametrize("name", ["s", "d", "o"])
def test_the_exported_test_bench_runs_streams(work, name):
    code, _, err = work("verilog", f"{name}.skn", *RING, "--vectors", "12", "-o", "design", "--json")
    assert code == 0, err
    told = json.loads(Path("design/manifest.json").read_text())["program"]
    assert told["inputs"] == {"s": ["x"], "d": ["x", "z"], "o": []}[name]
    assert [state["name"] for state in told["stream"]["states"]] == {"s": ["s"], "d": [], "o": ["s", "c"]}[name]
    assert told["stream"]["silent_vectors"] == (name == "d")
    subprocess.run(["iverilog", "-o", "bench", "skinny_core_tb.v", "skinny_core.v"], cwd="design", check=True)
    done = subprocess.run(["vvp", "-N", "bench"], cwd="design", capture_output=True, text=True)
    results = 24 if name == "s" else 12
    assert done.stdout.startswith(f"PASS: {results} results, "), done.stdout


def test_info_tells_states_and_window(work):
    _, out, _ = work("info", "s.skn", "--json")
    told = json.loads(out)
    assert (list(told["states"]), told["window"], told["samples"]) == (["s"], 0, ["x"])
    _, out, _ = work("info", "d.skn")
    assert "4 words" in out
    _, out, _ = work("info", "plain.skn")
    assert "window" not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run s.skn --inputs x=1", "one sample of a stream: give --stream FILE.csv in place of --inputs"),
        ("run s.skn", "one sample of a stream: give its samples with --stream"),
        ("run plain.skn --stream a.csv", "--stream needs a program that keeps something between runs"),
        ("run plain.skn --inputs x=1 --pad", "--pad needs a program that keeps something between runs"),
        ("run s.skn --stream a.csv --pad", "--pad fills a window, but the program has none"),
        ("run s.skn --stream a.csv --start 0,1,0", "streams go without --start"),
        ("run s.skn --stream a.csv --stream short.csv", "a.csv has 9 samples, but short.csv has 1"),
        ("run o.skn --stream a.csv", "--stream takes the number of samples, once"),
        ("sim s.skn --stream a.csv --lanes 2", "streams go without --lanes"),
        ("sim s.skn --threads 1 --stream a.csv --stream b.csv", "2 streams are too many: the core has room for 1"),
        ("trace s.skn --stream a.csv --stream b.csv", "a trace is of one stream"),
        ("trace d.skn --stream a.csv --row 1", "--row must be 2 to 9, not 1"),
        ("trace d.skn --stream short.csv", "the window is full with sample 2, but there are 1: pad fills it"),
        ("run d.skn --stream short.csv", "the window is full with sample 2, but there are 1: pad fills it"),
        ("sim d.skn --stream short.csv", "the window is full with sample 2, but there are 1: pad"),
        ("sim d.skn --random 1", "the window is full with sample 2, but there are 1: pad fills it"),
        ("explain s.skn --a x=1 --b x=2", "an explanation needs a program that keeps nothing between runs"),
        ("faults o.skn", "a campaign of upsets needs a program that keeps nothing between runs"),
        ("picture trace d.skn --inputs x=1,z=2 -o a.png", "a picture needs a program that keeps nothing between runs"),
    ],
)
def test_what_does_not_fit_is_refused(work, words, message):
    code, _, err = work(*words.split(), *RING)
    assert (code, message in err) == (2, True), err


def test_python_gives_lists(work):
    program = front_door.load("s.skn")
    x = column("a", 0)
    found = program.run_stream([[value] for value in x])
    assert program.run_stream({"x": x}) == found
    s = Fraction(1, 2)
    for value, y in zip(x, found["y"], strict=True):
        s += (value - s) / 4
        assert y == s
    both = program.run_stream(np.array([[[1], [2]], [[3], [4]]]))
    assert both["y"] == [program.run_stream([[1], [2]])["y"], program.run_stream([[3], [4]])["y"]]
    difference = front_door.load("d.skn")
    assert difference.inputs == ("x", "z")
    assert difference.run_stream([[1, 2], [5, 3], [9, 4]]) == [3, 6]
    assert difference.run_stream([[1, 2], [5, 3], [9, 4]], pad=True) == [1, 3, 6]
    assert len(front_door.load("o.skn").run_stream(5)) == 5


def test_states_of_formulas_in_python(work):
    s, x, before = front_door.variables("s x x[t-1]")
    n = s + (x - s) / 4
    program = front_door.compile({"y": n - before, "z": "2*s"}, states={"s": (Fraction(1, 2), n)})
    assert program.title == "state s = 1/2; next s = s + 1/4*(x - s); y = s + 1/4*(x - s) - x[t-1]; z = 2*s"
    same = front_door.compile("state s = 1/2; let n = s + (x - s)/4; next s = n; y = n - x[t-1]; z = 2*s")
    samples = [[1], [5], [-2], [0]]
    assert program.run_stream(samples) == same.run_stream(samples)
    assert program.states == same.states
    assert front_door.compile({"y": "x - x[t-1]"}).run_stream(samples) == [4, -7, 2]


def test_python_simulates_and_traces(work):
    program = front_door.load("s.skn")
    samples = [[1], [2], [3]]
    told = program.simulate_stream(samples, "fixed:24.12", simulator="amaranth")
    assert (told["match"], told["results"]) == (True, program.run_stream(samples, "fixed:24.12"))
    traced = program.trace([3], "fixed:24.12", before=samples[:2])
    assert traced.outputs["y"] == told["results"]["y"][2]
    assert front_door.load("d.skn").trace([1, 2], "fixed:24.12", pad=True).outputs == {"y": 1}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, d: s.run([1]), "a single run needs a program that keeps nothing between runs"),
        (lambda s, d: s.run_stream([[1]], pad=True), "pad fills a window, but the program has none"),
        (lambda s, d: s.run_stream([1]), "samples: a stream is wanted, not the words of one sample"),
        (lambda s, d: s.run_stream(np.zeros((1, 0, 1))), "samples: there is no row of values"),
        (lambda s, d: s.trace([1], start=[0, 1, 0]), "it goes without start"),
        (lambda s, d: d.trace([1, 2]), "the window is full with sample 2, not with 1"),
        (lambda s, d: s.simulate_stream([[1]], "fixed:8.4", random=3), "not both"),
        (lambda s, d: front_door.load("plain.skn").run_stream([[1]]), "but this one keeps nothing"),
        (lambda s, d: front_door.load("plain.skn").trace([1], before=[[1]]), "before needs a program that keeps"),
        (lambda s, d: front_door.compile("y = s", states={"s": (0, "s")}), "states are part of the text of a formula"),
        (lambda s, d: front_door.compile({"y": "s"}, states=[1]), "states must be a dict of pairs"),
        (lambda s, d: front_door.compile({"y": "s"}, states={"s": (1, "s", 2)}), "state 's': expected its first value"),
        (lambda s, d: front_door.compile({"y": "s"}, states={"s t": (1, "s")}), "the name of a state must be a text"),
        (lambda s, d: front_door.compile({"y": "state q = 0; next q = x; y = q"}), "are given as states="),
        (lambda s, d: front_door.compile({"y": "s"}, states={"s": (0, "s")}, inputs="x"), "it goes without inputs"),
        (lambda s, d: front_door.load("o.skn").run_stream(0), "the number of samples must be at least 1, not 0"),
    ],
)
def test_python_refuses(work, call, message):
    with pytest.raises((InputError, CheckError), match=message):
        call(front_door.load("s.skn"), front_door.load("d.skn"))
