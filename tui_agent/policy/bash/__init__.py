"""The bash parser: parses a subset of bash exactly, and guesses at the commands in any other text.

The exact parse can prove that a command line is harmless. The guesses ("loose readings") prove nothing: only guards,
`ask` rules and `deny` rules use them.

Invariant: this package is pure. It knows bash, but no programs.
"""
