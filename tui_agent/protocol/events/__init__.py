"""Event payloads, one module per subject.

Classes are named in the past tense. New fields can be added, but existing fields never change.
"""
