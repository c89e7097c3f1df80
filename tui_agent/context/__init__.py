"""The content of a request to the model: sections with budgets, and a manifest that records each section's size."""
