"""What a simulation must show, and how it is compared."""
