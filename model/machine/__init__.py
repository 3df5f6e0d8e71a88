"""The machine: instruction set, assembler and cycle model of the core."""
