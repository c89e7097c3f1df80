"""The positive subsets of programs that have a language of their own: sed, awk, jq, find, xargs, fd, test.

Invariant: what a reader here does not recognise character by character is a doubt, never a guess.
"""
