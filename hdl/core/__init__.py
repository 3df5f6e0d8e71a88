"""The core: one component in each file."""
