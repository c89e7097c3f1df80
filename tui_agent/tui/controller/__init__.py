"""The open session as the app drives it: start, input, questions, drawing, undo, and errors."""
