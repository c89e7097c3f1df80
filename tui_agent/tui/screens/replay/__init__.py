"""A recorded session as it was at any event, with a line to move on."""
