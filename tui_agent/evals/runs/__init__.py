"""Runs of suites: plans, cells (each is one run of a case under one configuration), and results."""
