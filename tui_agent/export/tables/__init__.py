"""Tables of all sessions for SQL queries."""
