"""The parts of the main screen around the transcript. Invariant: they take views and post intents; no I/O."""
