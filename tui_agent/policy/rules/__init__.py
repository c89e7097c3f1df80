"""The grammar of the user's rules, and the hosts that they name."""
