"""Event payloads, one module per subject.

Classes are frozen and named in the past tense. New fields can be added, but no field is removed or changed.
"""
