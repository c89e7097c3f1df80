"""Runs of suites: their plan, their cells, and the results of the cells."""
