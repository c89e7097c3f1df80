"""Runs of suites: the plan of a run, its cells (each is one run of a case under one configuration), and their results."""
