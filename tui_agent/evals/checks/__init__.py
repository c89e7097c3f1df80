"""Tests and verifiers, run on copies of an agent's workspace."""
