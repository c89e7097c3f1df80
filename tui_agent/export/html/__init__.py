"""A session as one HTML file that reads without network, and in which nothing foreign is markup."""
