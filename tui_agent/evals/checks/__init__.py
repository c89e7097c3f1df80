"""Tests and verifiers, run on copies of a cell's workspace."""
