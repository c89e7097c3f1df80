"""Checks values that are assigned to a secret's name: `password = …`, `"token": …`, `PASS=…`.

Invariant: a value that is a name, type, version, expression or message is not a secret.
"""

import re

from tui_agent.store.redaction.candidate import Candidate
from tui_agent.store.redaction.shapes import has_shape
from tui_agent.store.redaction.values import (
    has_both_cases,
    has_digit,
    is_random_letters,
    is_secret_in_pieces,
    is_secret_text,
    is_word_chain,
    looks_random,
)


def is_assigned(candidate: Candidate) -> bool:
    """Return True if the value after a name such as `password =` is a secret, not a type, expression or message."""
    value, name, before = candidate.value, candidate.name, candidate.preceding_text(12)
    if _is_other_name(candidate, before, name):
        return False
    if re.search(r"secret[_-]?id$", name.lower()):
        return looks_random(value, 20) and not has_shape(value, "resource")
    if has_shape(value.lstrip("-+"), "placeholder") or has_shape(name, "property"):
        return False
    if has_shape(before, "counted") or _is_number_or_sealed(candidate, name.lower()):
        return False
    if _quote(candidate):
        return is_quoted_secret(value, name.lower())
    return _is_bare_secret(candidate, name, before)


def _quote(candidate: Candidate) -> str:
    return candidate.group("quote") or candidate.group("quote2")


def _sign(candidate: Candidate) -> str:
    return candidate.lead[len(candidate.name) :]


def _is_other_name(candidate: Candidate, before: str, name: str) -> bool:
    if before.endswith(":") and _sign(candidate) == ":":
        return True  # a part of a name such as `arn:…:secret:db`
    return has_shape(before, "other-name") or (
        candidate.value.isidentifier() and name.lower() in candidate.value.lower()
    )


def _is_number_or_sealed(candidate: Candidate, name: str) -> bool:
    value, sign, quote = candidate.value, _sign(candidate), _quote(candidate)
    people = has_shape(name, "chosen-by-people")
    return (
        has_shape(value, "sealed")
        or ("==" in sign and (len(value) < 8 or not is_secret_text(value)))
        or (
            not quote and "\n" in sign and value.endswith(":")
        )  # the first key of a section such as `tokens:`
        or (value.isdigit() and (len(value) > 12 or not people or name in ("pass", "pw")))
        or (not people and has_shape(value, "version"))
        or (quote == "`" and bool(set(value) & set("=* ")))
    )


def is_quoted_secret(value: str, name: str) -> bool:
    """Return True if a quoted text assigned to a secret's name is a secret, not a template, sentence or name."""
    named = has_shape(value, "resource") and not is_secret_in_pieces(value)
    if named or has_shape(value, "template", "path"):
        return False
    if name.startswith("license") and has_shape(value, "license"):
        return False
    if has_shape(name, "chosen-by-people"):
        return " " not in value or not has_shape(value, "message")
    return value.count(" ") <= 2 and not re.sub(r"[_ .:/-]", "", value).isalpha()


def _is_bare_secret(candidate: Candidate, name: str, before: str) -> bool:
    value = candidate.value
    if not is_secret_in_pieces(value) and (
        "://" in value or has_shape(value, "expression", "resource", "path")
    ):
        return False
    if name.isupper() and candidate.lead.endswith("=") and len(value) >= 12 and has_both_cases(value[1:]):
        return True
    if value[:1] in ("?", "+") and re.search(r"\$\{\w*$", before):
        return False
    if name.lower() in ("pass", "pw") and not re.search(r"[\w.-]\Z", before):
        return _is_short_name_secret(candidate)
    if value.isalpha() and has_shape(name.lower(), "chosen-by-people"):
        return _is_configured(candidate)
    return _is_bare_word_secret(value, name)


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
    """Return True if the value after `PASS=` or `pass:` is a password, not a number of passed tests or a result."""
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
    return name.islower() and digits and letters and (odd or has_both_cases(value))


def _is_configured(candidate: Candidate) -> bool:
    """Return True if an unquoted word after a name such as `password:` is a password, not a variable in code."""
    value, sign = candidate.value, _sign(candidate)
    if len(value) < 6 or '"' in sign or "'" in sign or value.isupper() or has_shape(value, "state"):
        return False
    line = candidate.line_before(360)
    prefix = re.search(r"[\w.-]{0,60}$", line)
    name = (prefix.group() if prefix else "") + candidate.name
    lead = line[: len(line) + len(candidate.name) - len(name)][-300:]
    tail = candidate.text_after.partition("\n")[0][:300]
    is_setting = not tail.strip() and (value.islower() or is_random_letters(value))
    if is_setting and _is_among_settings(candidate, name, sign, lead):
        return True
    option = name.startswith("--") and sign == "="
    if "." in name or option:
        return option
    fields = lead + tail
    return (
        name.isupper()
        or has_shape(tail, "next-field")
        or has_shape(lead, "field-before")
        or (sign == "=" and "," not in fields and has_shape(fields, "connection-field"))
    )


def _is_among_settings(candidate: Candidate, name: str, sign: str, lead: str) -> bool:
    if re.sub(r"^[+-]?\s*(?:-\s|export\s|set\s)?\s*", "", lead):
        return False
    if sign == "=" and "." not in name:  # code would have blanks around it, and a comma or semicolon after it
        return True
    if sign == "=" and not lead and name.count(".") >= 2 and name.islower():
        return not name.startswith(("self.", "this."))
    above = candidate.preceding_text(360)
    if sign.strip() == ":":
        section = f"{above}{candidate.lead}{candidate.value}{candidate.text_after[:300]}"
        return has_shape(section, "login-field")
    return has_shape(above, "section-head")
