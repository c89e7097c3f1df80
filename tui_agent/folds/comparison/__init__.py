"""L0: folds that compare two branches or two recordings."""
