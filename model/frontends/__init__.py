"""Front ends: trained models of other libraries become formulas."""
