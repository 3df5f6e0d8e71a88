"""The simulators, and the C++ that drives them."""
