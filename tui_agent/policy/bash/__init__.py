"""The bash parser: parses a subset of bash exactly, and guesses at the commands in any other text.

The exact parse can prove that a command line is harmless. The guesses ("loose readings") serve only guards, and `ask`
and `deny` rules.

Invariant: this package is pure; it has no knowledge of programs, only of bash.
"""
