"""Verilog of a core, with all that is needed to use it without Python."""
