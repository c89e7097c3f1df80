"""The bash parser: parses a subset of bash exactly, and guesses at the commands in any other text.

The exact parse can prove that a command line is harmless. The guesses ("loose readings") cannot. They are used only for
guards, `ask` rules and `deny` rules.

Invariant: this package is pure. It has no knowledge of programs, only of bash.
"""
