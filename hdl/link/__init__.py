"""Boards: a core behind a serial line."""
