"""Boards at the end of a line, real or simulated."""
