"""The compiler: from formulas to programs, and the proof that both are equal."""
