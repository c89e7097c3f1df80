"""Redaction of secrets, before anything is written.

Invariant: texts in, texts out: no clock and no environment is read here, and no file but the bundled rules.
"""
