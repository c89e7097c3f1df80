"""Event payloads, one module per subject. Classes are named in the past tense and frozen; new fields are only added."""
