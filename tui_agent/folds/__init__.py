"""Folds: pure functions that build a state by applying the events of a log one after the other.

Invariant: no I/O, no clock, no Textual. Folding a log again gives the same views; `apply` is amortised O(1); a view is
frozen plain data.
"""
