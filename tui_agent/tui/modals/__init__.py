"""Sheets over the main screen that ask or show something.

Invariant: Esc always closes them, and typed text is never lost.
"""
