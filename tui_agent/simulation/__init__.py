"""Simulated users: models that play a person at work with the agent. Orchestrators guide their thoughts."""
