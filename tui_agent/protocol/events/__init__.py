"""Event payloads, one module per subject.

Classes are frozen and named in the past tense. New fields may be added, but no field is removed or changed.
"""
