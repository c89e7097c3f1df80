"""Themes: colour roles, symbols, and what the first frame needs of them."""
