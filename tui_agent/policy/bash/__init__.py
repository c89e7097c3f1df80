"""The bash parser: parses a subset of bash exactly, and guesses at the commands in any other text.

The exact parse can prove that a command line is harmless. The guesses ("loose readings") prove nothing. They serve only
to refuse a command or to ask about it.

Invariant: this package is pure, and it knows no programs.
"""
