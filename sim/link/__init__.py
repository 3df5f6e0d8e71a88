"""Boards at the end of a serial line, real or simulated."""
