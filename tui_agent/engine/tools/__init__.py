"""Tools: registry, schemas and arguments; the policy gate; running a call and recording its result."""
