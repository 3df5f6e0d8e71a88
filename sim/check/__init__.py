"""Test benches: the stimulus of a run, the record that must follow from it, and the first divergence."""
