"""Typed configuration: layers (nearest wins), paths, and the options of one start."""
