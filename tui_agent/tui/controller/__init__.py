"""The app's side of the open session: start, input, questions, drawing, undo, and errors."""
