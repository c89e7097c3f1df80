"""Mutation: the code is broken on purpose, one small place at a time, and the tests must notice."""
