"""Arithmetic, memories and multipliers, for any device or for a particular one."""
