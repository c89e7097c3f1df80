"""The context of a model's request: sections with budgets, and the manifest that records each section's size."""
