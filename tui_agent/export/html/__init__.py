"""Export of a session as one HTML file that needs no network and escapes all text of the session."""
