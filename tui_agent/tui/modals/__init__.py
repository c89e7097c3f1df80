"""What lies over the main screen and asks or shows. Invariant: Esc always closes, and nothing typed is lost."""
