"""Folds: functions that build a state by applying the events of a log one after the other.

Invariant: folds use no I/O, no clock and no Textual.
"""
