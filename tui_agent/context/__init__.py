"""The context of a model: sections with budgets, and the manifest that records them."""
