"""Delegates: agents that work on a task for another agent, in the same log."""
