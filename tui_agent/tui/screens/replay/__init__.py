"""The replay screen: a recorded session as it was at any of its events, with a timeline."""
