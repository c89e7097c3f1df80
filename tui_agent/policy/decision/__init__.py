"""Decides about a tool call.

The interpreter reports its effects. Guards, rules, escalations and the profile judge them.

Invariant: this package is pure, and the order of the judgements does not matter.
"""
