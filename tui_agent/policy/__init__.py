"""What a call may do: rules over effects, profiles, and what a command line really does.

Invariant: `decide` is pure and never raises; what is not understood is never allowed; deny wins over ask, ask over
allow. What programs and places are is data (programs.toml, places.toml), not code.
"""
