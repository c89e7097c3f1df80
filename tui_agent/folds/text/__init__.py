"""Pure text functions shared by folds and their callers: diffs, path patterns, word forms, labels."""
