"""The session as plain lines, for screen readers and plain terminals."""
