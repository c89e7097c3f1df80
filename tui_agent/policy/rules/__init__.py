"""The rules that users write, and the hosts that they name."""
