"""The core, a component a file."""
