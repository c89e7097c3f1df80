"""Summaries that replace old messages: their messages, facts, text and size."""
