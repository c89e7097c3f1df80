"""The decision about a tool call: guards, rules, escalations and the profile judge what the interpreter reports.

Invariant: this package is pure. Deny wins over ask, and ask over allow, whatever the order of the judgements.
"""
