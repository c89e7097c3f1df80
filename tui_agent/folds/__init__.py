"""Folds: functions that build a state by applying the events of a log one after the other.

Invariant: folds use no I/O, no clock and no Textual. Folding the same log again gives the same views. `apply` takes
amortised constant time. A view is frozen plain data.
"""
