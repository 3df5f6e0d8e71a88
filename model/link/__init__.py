"""The link between a host and a board, and the host's end of it."""
