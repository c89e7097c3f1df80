"""Tests and verifiers, run on copies of the workspace that an agent has worked in."""
