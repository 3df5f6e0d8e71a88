"""Machines of finite depth: networks as one map of all their nodes, and the programs that solve them."""
