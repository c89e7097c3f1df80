"""Readers for programs with a language of their own: sed, awk, jq, printf, find, xargs, fd and test.

Invariant: text that a reader does not recognise character by character is a doubt, never a guess.
"""
