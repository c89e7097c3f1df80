"""Access to models: clients, assembly of their streams, faults, prices, and the factory."""
