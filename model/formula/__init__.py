"""Formulas: what a person writes, as text or as Python expressions."""
