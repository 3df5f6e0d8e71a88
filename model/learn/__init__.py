"""Learning: from a table of data to a skinny program. Fits only; estimators and commands are in scripts/."""
