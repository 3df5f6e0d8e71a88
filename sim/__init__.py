"""Simulation of the core: builds, engines, benches and checks."""

__all__ = ["SIMULATORS"]

#: What can simulate a core; here, because a command line lists them without loading any.
SIMULATORS = ("verilator", "bulk", "amaranth")
