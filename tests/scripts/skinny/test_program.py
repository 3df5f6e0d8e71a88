"""Programs as Python sees them: loops, from the front door."""

import skinny as front_door


def test_programs_run_as_loops(tmp_path):
    names = [f"x{u}" for u in range(40)]
    program = front_door.compile(" + ".join(names), inputs=names)
    rows = [[1] * 40, [1, *[0] * 39], [0] * 40]
    flat, rolled = (program.simulate(rows, "boolean", roll=roll, simulator="amaranth") for roll in (False, True))
    assert flat["results"] == rolled["results"] == {"y": [0, 1, 0]}
    assert rolled["cycles"] > flat["cycles"]  # the words that make the loop take cycles as well
    words = [program.verilog(str(tmp_path), "boolean", roll=roll, vectors=3)["words"] for roll in (False, True)]
    assert words == [41, 5]


def test_streams_run_as_loops():
    program = front_door.compile("y = x + " + " + ".join(f"x[t-{n}]" for n in range(1, 16)))
    samples = [[n] for n in range(20)]
    flat, rolled = (program.simulate_stream(samples, "modular:16", roll=r, simulator="amaranth") for r in (False, True))
    assert flat["results"] == rolled["results"] == {"y": [sum(range(n, n + 16)) for n in range(5)]}
    assert rolled["cycles"] > flat["cycles"]
