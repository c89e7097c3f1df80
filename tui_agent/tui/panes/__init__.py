"""The parts of the main screen around the transcript. Invariant: they receive views and post intents; no I/O."""
