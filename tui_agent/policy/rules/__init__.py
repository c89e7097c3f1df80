"""L3: rules that a person writes, the profiles, and what they say about files and command lines."""
