"""Bounds: what values and errors of a program in fixed point can be."""
