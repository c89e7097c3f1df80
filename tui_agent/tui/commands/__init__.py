"""The handlers of the app's actions. Invariant: handlers read views, submit commands, or open something to look at."""
