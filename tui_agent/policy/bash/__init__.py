"""The bash parser: exact for a proven subset of bash, with loose readings of other text for guards and rules that deny.

Invariant: pure; nothing here knows what a program does.
"""
