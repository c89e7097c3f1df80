"""Folds, pure functions of events. No I/O, no clock, no Textual.

Invariant: folding a log again gives the same views; `apply` is amortised O(1); a view is frozen plain data.
"""
