"""Event payloads, one module per subject. Named in the past tense; frozen; new fields are only added."""
