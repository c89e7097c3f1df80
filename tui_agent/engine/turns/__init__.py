"""Turns: their start and end, the loop inside a turn, agents and delegates."""
