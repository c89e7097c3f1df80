"""Themes: colour roles, symbols, and the settings that the first frame needs."""
