"""The passes of the compiler: a file for each, and each can be switched off."""
