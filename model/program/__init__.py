"""Programs: straight-line instructions on a few registers, and the files that hold them."""
