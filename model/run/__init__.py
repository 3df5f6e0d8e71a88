"""Runs of programs on numbers: golden runs, traces, gradients, explanations."""
