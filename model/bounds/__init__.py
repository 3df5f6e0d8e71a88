"""Bounds of the values and of the errors of a program in fixed point."""
