"""Folds that compare two branches or two recordings."""
