"""The parts of the app that control the open session: start, input, questions, screen updates, undo, and errors."""
