"""L1: redaction of secrets, before anything is written.

Invariant: texts in, texts out: no file, no clock, no environment is read here.
"""
