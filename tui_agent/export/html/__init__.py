"""Export of a session as one HTML file that needs no network and in which no foreign text is markup."""
