"""Everything that speaks to a model: clients, the assembler of their streams, faults, prices, the factory."""
