"""L4: keeping an agent's history within its model's window."""
