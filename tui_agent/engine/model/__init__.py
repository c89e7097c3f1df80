"""Requests to a model: messages, streaming, retries, and the agents that use them."""
