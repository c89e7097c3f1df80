"""Sessions as files for other people and other programs. Importing it does nothing."""
