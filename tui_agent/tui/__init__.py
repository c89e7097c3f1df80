"""The full-screen app. Invariant: sees protocol, folds, config and the Session facade only."""
