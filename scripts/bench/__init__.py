"""``skinny bench``: benchmarks, a module each, of what the project promises."""
