"""The payloads of events, one module a subject. Past tense; frozen; additive."""
