"""Redaction of secrets, before anything is written.

Invariant: the result depends only on the text and the rules. No clock, environment or file is read, except the files
with the bundled rules.
"""
