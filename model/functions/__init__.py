"""Functions on a box: formulas with functions become polynomials, with a proven bound of what that changes."""
