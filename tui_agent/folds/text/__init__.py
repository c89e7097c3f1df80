"""Pure text functions that folds and their callers share: diffs, patterns, word forms, labels."""
