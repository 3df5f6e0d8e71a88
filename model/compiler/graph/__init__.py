"""Programs that hold values in registers: every named part of a formula is computed once."""
