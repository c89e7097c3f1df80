"""Sheets over the main screen that ask or show something. Invariant: Esc always closes, and nothing typed is lost."""
