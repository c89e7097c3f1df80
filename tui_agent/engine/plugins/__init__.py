"""Protection of the engine from the code of plugins."""
