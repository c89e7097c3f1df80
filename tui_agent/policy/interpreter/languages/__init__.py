"""Readers for programs with a language of their own: sed, awk, jq, printf, find, xargs, fd and test.

Invariant: if a reader does not recognise every character of a text, it raises a doubt and does not guess.
"""
