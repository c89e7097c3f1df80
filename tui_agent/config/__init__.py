"""Typed configuration: settings merged from several layers, paths of files, and the start options."""
