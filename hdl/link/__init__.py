"""The link: a core behind a serial line, and the boards that carry it."""
