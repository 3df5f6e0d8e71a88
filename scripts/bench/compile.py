"""``skinny bench compile``: how the compiler scales. It parses and compiles sums of random cubic monomials.

Each size runs in a process of its own, so that the memory is its own, too.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any

from skinny.scripts.progress import counted

__all__ = ["bench_compile"]

SIZES = (100_000, 1_000_000)


def cubic_sum(leaves: int) -> str:
    """A sum of ``leaves / 3`` random monomials of degree 3 in 64 variables."""
    chance = random.Random(1)
    names = [f"x{n}" for n in range(64)]
    return " + ".join("*".join(chance.choices(names, k=3)) for _ in range(leaves // 3))


def _measure(leaves: int) -> dict[str, Any]:
    import resource
    import time

    from skinny.model.compiler.pipeline import compile_formula
    from skinny.model.formula.parse import parse_formula

    text = cubic_sum(leaves)
    began, worked = time.perf_counter(), time.process_time()
    outputs = parse_formula(text)
    parsed = time.perf_counter()
    compiled = compile_formula(outputs)
    return {
        "leaves": compiled.facts.leaves,
        "parse_seconds": parsed - began,
        "compile_seconds": time.perf_counter() - parsed,
        "cpu_seconds": time.process_time() - worked,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "length": len(compiled.program),
        "words": compiled.program.words,
        "textbook_length": compiled.facts.textbook,
    }


def bench_compile() -> list[dict[str, Any]]:
    """Seconds, memory and lengths of each size of formula, a row a size, each in a process of its own."""
    out = []
    for leaves in counted("sizes", SIZES):
        command = [sys.executable, "-m", "skinny.scripts.bench.compile", str(leaves)]
        finished = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        out.append(json.loads(finished.stdout))
    return out


if __name__ == "__main__":
    json.dump(_measure(int(sys.argv[1])), sys.stdout)
