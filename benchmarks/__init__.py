"""Measurements of the product beside others on the same machine. See `make bench` and benchmarks/README.md."""
