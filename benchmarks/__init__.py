"""Measurements of tui-agent and of other programs on the same machine. See `make bench` and benchmarks/README.md."""
