"""Widgets shared by panes, modals and screens: rows, lists, fields and sheets."""
