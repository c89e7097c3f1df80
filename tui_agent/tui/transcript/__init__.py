"""The chat as one virtual, line-drawn widget. Invariant: cost follows what is on screen, not what was said."""
