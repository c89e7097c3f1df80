"""The decision about a call: guards, rules, escalations and the profile over what the interpreter reports.

Invariant: pure; deny wins over ask, ask over allow, whatever the order in which they were found.
"""
