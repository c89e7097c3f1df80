"""What the actions of the registry do. Invariant: handlers read views, submit commands, open things to look at."""
