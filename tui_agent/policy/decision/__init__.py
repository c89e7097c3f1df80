"""Decides about a tool call.

The interpreter reports the call's effects. Guards, rules, escalations and the profile judge these effects.

Invariant: this package is pure, and the order of the judgements does not matter.
"""
