"""Formulas, which a person writes as text or as Python expressions."""
