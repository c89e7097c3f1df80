"""Simulated users: models that play a person who works with the agent. An orchestrator decides what a simulated user
knows.
"""
