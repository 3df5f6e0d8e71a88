"""Upsets and random power-up: the outcomes of flipped and random bits of state."""
