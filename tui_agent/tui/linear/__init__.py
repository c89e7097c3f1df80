"""The app without a screen: prints the session as plain lines, for screen readers and plain terminals."""
