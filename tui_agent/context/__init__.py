"""What a model is shown: sections with budgets, and the manifest that records them."""
