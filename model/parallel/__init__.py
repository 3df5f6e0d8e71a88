"""Several cores for one inference: segments, their combination, and its timing."""
