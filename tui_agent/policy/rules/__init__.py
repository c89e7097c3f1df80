"""The grammar of the user's rules, and the comparison of hosts with rules."""
