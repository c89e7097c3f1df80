"""Folds: pure functions that build a state by applying the events of a log one after the other.

Invariant: no I/O, no clock, no Textual. Folding the same log again gives the same views; `apply` takes amortised
constant time; a view is frozen plain data.
"""
