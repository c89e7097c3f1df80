"""Sheets over the main screen that ask the user something or show something.

Invariant: Esc always closes a sheet, and typed text is never lost.
"""
