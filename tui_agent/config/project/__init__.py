"""The project's folder: its git repository, its own files, and trust in them."""
