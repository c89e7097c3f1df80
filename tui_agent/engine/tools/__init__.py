"""Tools: registry, schemas and arguments, the policy gate, execution of calls and recording of results."""
