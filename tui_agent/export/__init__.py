"""Exports of sessions as files for other people and programs."""
