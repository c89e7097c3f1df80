"""The content of a request to the model: sections with budgets, and a manifest of their sizes."""
