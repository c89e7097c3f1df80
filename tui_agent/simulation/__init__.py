"""Simulated users: models that play a person who works with the agent, and orchestration of what they do when."""
