"""The decision about a tool call: guards, rules, escalations and the profile judge what the interpreter reports.

Invariant: this package is pure, and the order of the judgements does not matter.
"""
