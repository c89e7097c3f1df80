"""Redaction of secrets, before anything is written.

Invariant: texts in, texts out. Neither clock nor environment is read, and no file except the bundled rules.
"""
