"""Powers: how a power of a factor is multiplied out where registers may be multiplied with registers."""

from __future__ import annotations

__all__ = ["power_steps"]

#: A longer run is never the shortest way.
LONGEST_RUN = 16


def power_steps(exponent: int) -> list[str]:
    """The multiplications that lead from the first power to ``exponent``, which is 2 or more, in the fewest cycles.

    ``run`` multiplies by the factor that the accumulator still holds, in one cycle, so it comes only at the beginning;
    ``square`` and ``times`` (by the first power, in a register) take two.
    """
    if exponent < 2:
        return []
    best: list[str] | None = None
    for bits in range(exponent.bit_length()):
        run = exponent >> bits
        if run > LONGEST_RUN:
            continue
        steps = ["run"] * (run - 1)
        for bit in reversed(range(bits)):
            steps += ["square", "times"] if exponent >> bit & 1 else ["square"]
        # Among equals squares come first, because a square may take over the register of its root.
        if best is None or _cycles(steps) <= _cycles(best):
            best = steps
    assert best is not None
    return best


def _cycles(steps: list[str]) -> int:
    return 2 * len(steps) - steps.count("run")
