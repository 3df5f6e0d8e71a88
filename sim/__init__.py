"""Simulation of cores, engines and boards: builds, simulators, test benches and checks; and the FPGA flow."""

__all__ = ["SIMULATORS"]

#: The names of the simulators. They are here, because a command line lists them without loading any.
SIMULATORS = ("verilator", "bulk", "amaranth")
