"""One request to a model: its messages, the stream, retries, and the agents that use it."""
