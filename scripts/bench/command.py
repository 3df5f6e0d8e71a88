"""``skinny bench``: what the project promises, measured here and now."""

from __future__ import annotations

import argparse
from typing import Any

from skinny.scripts.common import Parser, add_command, print_json, print_table

from . import estimate, fpga, functions, learn, loops, patterns, power_up, precision, promises

__all__ = ["register"]

DETAILS = """\
example:
  $ skinny bench golden
  $ skinny bench lengths --json
  $ skinny bench parallel
"""


def register(commands: Any) -> None:
    parser: Parser = commands.add_parser(
        "bench",
        help="measure what the project promises",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    benches = parser.add_subparsers(title="benchmarks", metavar="BENCHMARK", required=True, dest="bench")
    add_command(benches, "lengths", lengths, "program lengths against the tables they must meet", DETAILS)
    add_command(benches, "compile", compile_times, "time and memory of the compiler on 10^5 and 10^6 leaves", DETAILS)
    add_command(benches, "golden", golden, "the golden run against a bare numpy loop", DETAILS)
    add_command(benches, "sim", sim, "cycles a second of the simulators", DETAILS)
    add_command(benches, "parallel", parallel, "one inference of 20,000 steps on 1, 2, 4 and 8 lanes", DETAILS)
    fpga.register(benches)
    estimate.register(benches)
    power_up.register(benches)
    precision.register(benches)
    functions.register(benches)
    learn.register(benches)
    patterns.register(benches)
    promises.register(benches)
    loops.register(benches)


def lengths(args: argparse.Namespace) -> None:
    from .lengths import bench_lengths

    rows, promised = bench_lengths(), promises.bench_promises()
    if args.json:
        print_json({"lengths": rows, "promises": promised})
    else:
        for table in (rows, promised):
            print_table(list(table[0]), [list(row.values()) for row in table])


def compile_times(args: argparse.Namespace) -> None:
    from .compile import bench_compile

    rows = bench_compile()
    ratio = rows[1]["cpu_seconds"] / rows[0]["cpu_seconds"]
    if args.json:
        print_json({"sizes": rows, "ratio": ratio})
    else:
        shown = [[f"{v:.2f}" if isinstance(v, float) else f"{v:,}" for v in row.values()] for row in rows]
        print_table(list(rows[0]), shown)
        print_table(("", ""), [("ten times the leaves, times the seconds", f"{ratio:.1f}")])


def golden(args: argparse.Namespace) -> None:
    from .golden import bench_golden

    measured = bench_golden()
    if args.json:
        print_json(measured)
    else:
        rows = [(key, f"{value:.3f}" if isinstance(value, float) else f"{value:,}") for key, value in measured.items()]
        print_table(("golden run, modular:32", ""), rows)


def parallel(args: argparse.Namespace) -> None:
    from .parallel import bench_parallel

    rows = bench_parallel()
    if args.json:
        print_json({"lanes": rows})
    else:
        shown = [[f"{v:.2f}" if isinstance(v, float) else v for v in row.values()] for row in rows]
        print_table(list(rows[0]), shown)


def sim(args: argparse.Namespace) -> None:
    from .sim import bench_sim

    measured = bench_sim()
    if args.json:
        print_json(measured)
    else:
        rows = [(key, f"{value:,.2f}" if isinstance(value, float) else f"{value:,}") for key, value in measured.items()]
        print_table(("simulators, fixed:16.8, 4 threads", ""), rows)
