"""Redaction of secrets, before anything is written.

Invariant: the result depends only on the text and the rules.
"""
