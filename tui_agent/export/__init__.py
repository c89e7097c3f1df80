"""Exports of sessions as files for other people and programs. Importing this package imports none of its modules."""
