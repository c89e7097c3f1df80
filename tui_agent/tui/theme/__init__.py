"""L7: themes: colour roles, symbols, and what the first frame needs of them."""
