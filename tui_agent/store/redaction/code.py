"""L1: judge texts in programs and in sections of configuration files by the lines around them.

Invariant: a text counts only where it looks chosen or generated, since code is full of names in quotes.
"""

import re

from tui_agent.store.redaction.candidate import Candidate
from tui_agent.store.redaction.shapes import has_shape
from tui_agent.store.redaction.values import (
    is_random_letters,
    is_secret_text,
    looks_chosen,
    looks_random,
)


def is_default_text(candidate: Candidate) -> bool:
    """Return True for a text that is used when nothing else is given: `password = env("PW") or "hunter2"`."""
    way, second = candidate.group("way"), candidate.group("second")
    if not has_shape(way, "assigned-with") or has_shape(candidate.name, "property"):
        return False
    looked_up = has_shape(second, "second-argument") and has_shape(way, "lookup")
    return (looked_up or has_shape(second or way, "otherwise")) and is_signing_key(candidate)


def is_signing_key(candidate: Candidate) -> bool:
    """Return True for a secret text that is not the name of something, with or without a number at its end."""
    return is_secret_text(candidate.value) and not has_shape(candidate.value, "plain-name")


def is_in_secret_section(candidate: Candidate) -> bool:
    """Return True for a value in a section called `secrets:`, deeper than it, with nothing less deep between."""
    value, name = candidate.value, candidate.group("key")
    if has_shape(name, "property", "public-name") or has_shape(value, "placeholder", "public-value"):
        return False
    generated = looks_random(value) or is_random_letters(value)
    if not generated and not looks_chosen(value):
        return False
    for line in reversed(candidate.nearest().rstrip("\n").split("\n")):
        depth = len(line) - len(line.lstrip(" \t"))
        if line.strip() and depth < len(candidate.group("indent")):
            people = re.search(r"(?i)(?:secrets|passwords)[\"']?:", line)
            return has_shape(line, "secret-section") and bool(generated or people)
    return False
