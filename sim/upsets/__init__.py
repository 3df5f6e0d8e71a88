"""Upsets and random power-up: what becomes of flipped bits."""
