"""Folds: pure functions that build state from events. No I/O, no clock, no Textual.

Invariant: folding a log again gives the same views; `apply` is amortised O(1); a view is frozen plain data.
"""
