"""L1: judge the value behind a secret's name: `password = …`, `"token": …`, `PASS=…`.

Invariant: a name, a type, a version, an expression or a message in the place of the value is no secret; a plain word is
one only where programs are configured.
"""

import re

from tui_agent.store.redaction.candidate import Candidate
from tui_agent.store.redaction.shapes import has_shape
from tui_agent.store.redaction.values import (
    has_digit,
    is_random_letters,
    is_secret_in_pieces,
    is_secret_text,
    is_word_chain,
    looks_random,
)


def is_assigned(candidate: Candidate) -> bool:
    """Return True if the value behind a secret's name is the secret."""
    value, name, before = candidate.value, candidate.name, candidate.nearest(12)
    if _is_other_name(candidate, before, name):
        return False
    if re.search(r"secret[_-]?id$", name.lower()):
        return looks_random(value, 20) and not has_shape(value, "resource")
    if (
        has_shape(value.lstrip("-+").rstrip("*") or value, "placeholder")
        or has_shape(before, "counted")
        or has_shape(name, "property")
    ):
        return False
    if _is_number_or_sealed(candidate, name.lower()):
        return False
    if _quote(candidate):
        return _is_quoted_secret(value, name.lower())
    return _is_bare_secret(candidate, name, before)


def _quote(candidate: Candidate) -> str:
    return candidate.group("quote") or candidate.group("quote2")


def _sign(candidate: Candidate) -> str:
    """Return what stands between the name and its value."""
    return candidate.lead[len(candidate.name) :]


def _is_other_name(candidate: Candidate, before: str, name: str) -> bool:
    if before.endswith(":") and _sign(candidate) == ":":
        return True  # a piece of a name such as `arn:…:secret:db`
    return has_shape(before, "other-name") or (
        candidate.value.isidentifier() and name.lower() in candidate.value.lower()
    )


def _is_number_or_sealed(candidate: Candidate, name: str) -> bool:
    value, sign, people = candidate.value, _sign(candidate), has_shape(name, "chosen-by-people")
    if value.startswith("Ag") and len(value) >= 300:
        return True  # sealed for one cluster
    if "==" in sign and (len(value) < 8 or not is_secret_text(value)):
        return True
    if not _quote(candidate) and "\n" in sign and value.endswith(":"):
        return True  # the first name of a section, as `tokens:` is one
    if value.isdigit() and (len(value) > 12 or not people or name in ("pass", "pw")):
        return True
    if has_shape(value, "version") and not people:
        return True
    return _quote(candidate) == "`" and bool(set(value) & set("=* "))


def _is_quoted_secret(value: str, name: str) -> bool:
    """Return True if a text in quotes is a secret: not a template, a sentence, or a mere name."""
    named = has_shape(value, "resource") and not is_secret_in_pieces(value)
    if named or has_shape(value, "template", "path"):
        return False
    if name.startswith("license") and has_shape(value, "license"):
        return False
    if has_shape(name, "chosen-by-people"):
        return " " not in value or not is_message(value)
    return value.count(" ") <= 2 and not re.sub(r"[_ .:/-]", "", value).isalpha()


def is_message(value: str) -> bool:
    """Return True if words in quotes are a label or a message about a secret."""
    if value.count(" ") > 9 or has_shape(value, "message") or not re.search(r"[A-Za-z0-9]", value):
        return True
    first, *others = value.split()
    titled = first[:1].isupper() and not any(word[:1].isupper() for word in others)
    return titled and not has_digit(value)


def _is_bare_secret(candidate: Candidate, name: str, before: str) -> bool:
    value = candidate.value
    if not is_secret_in_pieces(value) and (
        "://" in value or has_shape(value, "expression", "resource", "path")
    ):
        return False
    if name.isupper() and candidate.lead.endswith("=") and _has_two_cases(value):
        return True
    if value[:1] in ("?", "+") and re.search(r"\$\{\w*$", before):
        return False
    if name.lower() in ("pass", "pw") and not re.search(r"[\w.-]\Z", before):
        return _is_short_name_secret(candidate)
    if value.isalpha() and has_shape(name.lower(), "chosen-by-people"):
        return _is_configured(candidate)
    return _is_bare_word_secret(value, name)


def _has_two_cases(value: str) -> bool:
    return len(value) >= 12 and any(c.islower() for c in value[1:]) and any(c.isupper() for c in value[1:])


def _is_bare_word_secret(value: str, name: str) -> bool:
    odd = any(not char.isalnum() and char not in "_-./" for char in value)
    if has_shape(name.lower(), "chosen-by-people"):
        chosen = has_digit(value) or odd or name.isupper() or is_word_chain(value)
        return chosen and not (value.isidentifier() and not has_digit(value))
    if has_shape(value, "numbered-name"):
        return False
    if name.isupper():
        return not value.isidentifier() or has_digit(value)
    return has_digit(value) and len(value) >= 12


def _is_short_name_secret(candidate: Candidate) -> bool:
    """Return True if `PASS=` or `pass:` belongs to a login, and is not the count or the outcome of tests."""
    value, name = candidate.value, candidate.group("name")
    if re.match(r"(?i)\d+[a-z%/]*$|test|\w*[(:/]", value):
        return False
    equals = _sign(candidate).strip("\"' ") == "="
    if equals and value.isalpha():
        return len(value) >= 8 and _is_configured(candidate)
    digits, letters = has_digit(value), any(char.isalpha() for char in value)
    odd = any(not char.isalnum() and char not in "_-./," for char in value)
    if equals:
        return letters and (digits or odd)
    cases = value != value.lower() and value != value.upper()
    return name.islower() and digits and letters and (odd or cases or _is_whole_line(candidate))


def _is_whole_line(candidate: Candidate) -> bool:
    """Return True if nothing else stands in the line, as in a file of settings: `pw: tiger2698`."""
    lead = candidate.nearest(80).rpartition("\n")[2]
    return (
        candidate.group("name") == "pw"
        and not lead.strip()
        and candidate.text_behind[:1] in ("", "\n", "\r")
        and candidate.value[-2:].isdigit()
    )


def _is_configured(candidate: Candidate) -> bool:
    """Return True if a plain word behind a password's name is the password: in code it would be a variable."""
    value, sign = candidate.value, _sign(candidate)
    if len(value) < 6 or '"' in sign or "'" in sign or value.isupper() or has_shape(value, "state"):
        return False
    line = candidate.nearest(360).rpartition("\n")[2]
    prefix = re.search(r"[\w.-]{0,60}$", line)
    name = (prefix.group() if prefix else "") + candidate.name
    lead = line[: len(line) + len(candidate.name) - len(name)][-300:]
    tail = candidate.text_behind.partition("\n")[0][:300]
    if (name.isupper() and "." not in name) or (name.startswith("--") and sign == "="):
        return True
    if "." not in name and (re.match(r";\s?[A-Za-z][\w ]{1,30}=", tail) or re.search(r"=[^;()]+;$", lead)):
        return True
    if (
        sign == "="
        and "." not in name
        and has_shape(lead + tail, "connection-field")
        and "," not in lead + tail
    ):
        return True
    return (
        not tail.strip()
        and (value.islower() or is_random_letters(value))
        and _is_among_settings(candidate, name, sign, lead)
    )


def _is_among_settings(candidate: Candidate, name: str, sign: str, lead: str) -> bool:
    if re.sub(r"^[+-]?\s*(?:-\s|export\s|set\s)?\s*", "", lead):
        return False
    if sign == "=" and "." not in name:  # code has blanks here, and a comma or a semicolon behind it
        return True
    if sign == "=" and not lead and name.count(".") >= 2 and name.islower():
        return not name.startswith(("self.", "this."))
    above = candidate.nearest(360)
    if sign.strip() == ":":
        section = f"{above}{candidate.lead}{candidate.value}{candidate.text_behind[:300]}"
        return has_shape(section, "login-field")
    return has_shape(above, "section-head")


def is_weakly_assigned(candidate: Candidate) -> bool:
    """Return True if the value behind a name such as `session` or `salt` was made by a generator."""
    value = candidate.value
    if candidate.nearest(1).isalpha() or has_shape(candidate.nearest(12), "counted"):
        return False
    return looks_random(value, 20) and not has_shape(value.rstrip("*"), "session-id")


def is_column_default(candidate: Candidate) -> bool:
    """Return True for the default of a column or a parameter that is named after a secret."""
    value = candidate.value
    if has_shape(value, "placeholder", "hash") or has_shape(candidate.nearest(12), "counted"):
        return False
    return not has_shape(candidate.name, "property") and _is_quoted_secret(
        value, candidate.group("name").lower()
    )
