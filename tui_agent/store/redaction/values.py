"""Judges a value by its characters: is it a placeholder, an expression, a generated key or a password?

Invariant: placeholders, expressions, identifiers, hashes, paths and sentences are not secrets.
"""

import re

from tui_agent.store.redaction.shapes import has_shape

_HASH_PARTS = re.compile(
    r"(?:(?<![A-Za-z0-9])[-_:/]?[a-f0-9]{40}(?:[a-f0-9]{24})?|(?<=[A-Za-z0-9])[-_:/][a-f0-9]{32})(?![A-Za-z0-9])"
)
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def has_digit(value: str) -> bool:
    return any(char.isdigit() for char in value)


def has_both_cases(value: str) -> bool:
    return value != value.lower() and value != value.upper()


def looks_random(value: str, least: int = 16) -> bool:
    """Return True for a generated value of at least `least` characters that is not a hash, id, path or address."""
    if len(value) < least or has_shape(value, "placeholder"):
        return False
    padded = value.endswith("=") and len(value) % 4 == 0 and len(value) > 40
    if has_shape(value, "location") and not padded:
        return False
    value = _HASH_PARTS.sub("", value)
    if len(value) < least or has_shape(value, "hash", "uuid"):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    words = len(re.findall(r"[A-Za-z]{5,}", value))
    return digits >= 2 and letters >= 2 and len(set(value)) >= 8 and words * 7 < len(value)


def looks_issued(value: str) -> bool:
    """Return True if a key such as `sk-…` may be genuine. Return False for a placeholder such as `sk-EXAMPLE`."""
    rest = value[4:]
    return (
        (has_digit(rest) or (any(c.islower() for c in rest) and any(c.isupper() for c in rest)))
        and len(set(rest)) >= 4
        and len(set(value[-10:])) >= 3
        and "EXAMPLE" not in value
    )


def looks_chosen(value: str) -> bool:
    """Return True for a password or generated key, not for a plain word, name, number or path."""
    if has_shape(value, "placeholder", "template"):
        return False
    value = value.rstrip("])}>,;")
    if value.startswith(("-", "$", "/", "./", "~", "@", "(", "{", "!")):
        return False
    if not value or value[-1] in "-~/" or (value.isupper() and value.isidentifier()):
        return False
    odd = any(not char.isalnum() and char not in "_-./:,()" for char in value.rstrip(".,!?:;"))
    return any(char.isalpha() for char in value) and (has_digit(value) or odd or is_word_chain(value))


def is_word_chain(value: str) -> bool:
    """Return True for at least three words joined by hyphens (`correct-horse-battery`)."""
    return value.count("-") > 1 and value.replace("-", "").isalpha()


def is_secret_text(value: str) -> bool:
    """Return True if a quoted text in an expression is a secret, not a name."""
    return (
        looks_chosen(value)
        and " " not in value
        and not has_shape(value, "thing-name", "call-or-host", "algorithm")
    )


def is_random_letters(value: str) -> bool:
    """Return True for letters that look generated: capitals occur inside words (`zwreEwPcoB`)."""
    humps = _HUMPS.findall(value)
    return value.isalpha() and len(value) >= 8 and len(humps) >= 3 and len(value) <= 3 * len(humps)


def is_secret_in_pieces(value: str) -> bool:
    """Return True if a text with dots is one secret (`Xy7.kL9.pQ2w`), and not a name such as a module's."""
    if not has_shape(value, "pieces") or has_shape(value, "module-name", "location"):
        return False
    numbered = [piece for piece in value.split(".") if has_digit(piece)]
    if sum(re.search(r"\d[A-Za-z]", piece) is not None for piece in numbered) >= 2:
        return True
    return len(numbered) >= 2 and has_both_cases(value) and len(value) <= 24
