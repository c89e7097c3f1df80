"""Simulated users: models that play a person at work with the agent, and orchestrators that guide their thoughts."""
