"""The engine: several cores that share one inference."""
