"""The checks for conditions that no pattern can express. A rule names its checks.

Invariant: a check can only reject a candidate.
"""

import re
from collections.abc import Callable, Mapping

from tui_agent.store.redaction.assignment import is_assigned, is_quoted_secret
from tui_agent.store.redaction.candidate import Candidate
from tui_agent.store.redaction.shapes import has_shape
from tui_agent.store.redaction.values import (
    has_both_cases,
    has_digit,
    is_random_letters,
    is_secret_text,
    looks_chosen,
    looks_issued,
    looks_random,
)


def is_written_out(candidate: Candidate) -> bool:
    """Return True if the text contains the value itself. A placeholder, template, reference or message does not."""
    value = candidate.value.strip()
    return not has_shape(value, "placeholder", "template", "reference") and not _is_quoted_message(candidate)


def is_chosen(candidate: Candidate) -> bool:
    """Return True if the candidate's value looks like a password or a generated key."""
    return looks_chosen(candidate.value) and not _is_quoted_message(candidate)


def _is_quoted_message(candidate: Candidate) -> bool:
    value = candidate.value
    return " " in value and candidate.lead[-1:] in ("'", '"') and has_shape(value, "message")


def is_address_login(candidate: Candidate) -> bool:
    """Return False for the default login of a local test server (`postgres:postgres@localhost`), otherwise True."""
    return candidate.group("user") != candidate.value or not has_shape(candidate.text_after, "own-host")


def is_statement_password(candidate: Candidate) -> bool:
    """Return True for the password in an SQL statement, but not for an assignment in a program."""
    lead = candidate.lead
    if lead[:1] in "iI" and not has_shape(candidate.preceding_text(200), "statement"):
        return False
    return "=" not in lead or re.search(r"(?i)\bwith\s{1,3}$", candidate.preceding_text(8)) is not None


def is_mailgun_key(candidate: Candidate) -> bool:
    """Return True if `key-…` is a Mailgun key, and not a part of a path, cache entry or page element.

    The text before the key decides.
    """
    return not has_shape(candidate.line_before(80) + candidate.lead, "thing-before")


def is_option_value(candidate: Candidate) -> bool:
    """Return True if the value of a command-line option is a password or key."""
    # After a letter or digit, the option can be the end of a word (`single-token text`). Then the value must contain a
    # digit.
    return is_chosen(candidate) and (has_digit(candidate.value) or not candidate.preceding_text(1).isalnum())


def is_block_text(candidate: Candidate) -> bool:
    """Return True if the text below a YAML key can be a secret: it has no keys of its own and is not a message."""
    first = candidate.value.split("\n")[0]
    return not re.match(r"[\w.-]{1,60}:(?:\s|$)", first) and (
        " " not in first or not has_shape(first, "message")
    )


def is_login_argument(candidate: Candidate) -> bool:
    """Return True for a password in a call that signs in, as in `login("ada", "…")`."""
    value = candidate.value
    if looks_random(value, 20):
        return True
    if not looks_chosen(value):
        return False
    signs_in = has_shape(candidate.lead, "sign-in-call")
    several_digits = sum(char.isdigit() for char in value) > 1
    return (signs_in and several_digits) or not re.fullmatch(r"[\w./:-]+", value)


def is_prose_password(candidate: Candidate) -> bool:
    """Return True if a value in prose is a password: it has letters, and also digits or special characters.

    Numbered words such as `level2` are not passwords.
    """
    value = candidate.value.rstrip(".,!?:;)")
    if has_shape(value, "algorithm", "not-told"):
        return False
    if has_shape(value, "numbered-name") and candidate.lead[:1] not in "pP":
        return False
    return looks_chosen(value) and (has_digit(value) or re.search(r"[!#%^*&@$]", value) is not None)


def is_login_option(candidate: Candidate) -> bool:
    """Return True for the password in `-u user:password` and similar options."""
    # Other programs use `-u` for names and numbers (`docker run --user node:node`, `-u 1000:1000`).
    value, option = candidate.value, candidate.group("option")
    line = candidate.line_before(400) + candidate.lead.partition(option)[0]
    if option[-1] in "aA" and not option.startswith("--"):
        return has_shape(line + option, "signs-in-by-a")
    if has_shape(line, "signs-in"):
        return True
    if has_shape(line, "other-user") or has_shape(value, "other-user-value"):
        return False
    return looks_chosen(value) and has_digit(value)


def is_default_text(candidate: Candidate) -> bool:
    """Return True if the value is a default in code, such as `hunter2` in `password = env("PW") or "hunter2"`."""
    way, second = candidate.group("way"), candidate.group("second")
    if not has_shape(way, "assigned-with"):
        return False
    looked_up = has_shape(second, "second-argument") and has_shape(way, "lookup")
    return (looked_up or has_shape(second or way, "otherwise")) and is_signing_key(candidate)


def is_signing_key(candidate: Candidate) -> bool:
    """Return True for a value that looks like a secret, not like a plain name (`dev-key-1`)."""
    return is_secret_text(candidate.value) and not has_shape(candidate.value, "plain-name")


def is_in_secret_section(candidate: Candidate) -> bool:
    """Return True for a secret value that is indented below a heading such as `secrets:`."""
    value, name = candidate.value, candidate.group("key")
    if has_shape(name, "property", "public-name"):
        return False
    generated = looks_random(value) or is_random_letters(value)
    if not generated and not looks_chosen(value):
        return False
    for line in reversed(candidate.preceding_text().rstrip("\n").split("\n")):
        depth = len(line) - len(line.lstrip(" \t"))
        if line.strip() and depth < len(candidate.group("indent")):
            people = re.search(r"(?i)(?:secrets|passwords)[\"']?:", line)
            return has_shape(line, "secret-section") and bool(generated or people)
    return False


CHECKS: Mapping[str, Callable[[Candidate], bool]] = {
    "address-login": is_address_login,
    "assigned": is_assigned,
    "block-text": is_block_text,
    "chosen": is_chosen,
    "column-default": lambda candidate: is_quoted_secret(candidate.value, candidate.group("name").lower()),
    "default-text": is_default_text,
    "digit": lambda candidate: has_digit(candidate.value),
    "given": is_written_out,
    "issued": lambda candidate: looks_issued(candidate.value),
    "login-call": is_login_argument,
    "login-option": is_login_option,
    "mailgun": is_mailgun_key,
    "mixed": lambda candidate: has_shape(candidate.value, "mixed"),
    "mixed-case": lambda candidate: has_shape(candidate.value, "mixed-case"),
    "not-placeholder": lambda candidate: not has_shape(candidate.value, "placeholder"),
    "option": is_option_value,
    "prose": is_prose_password,
    "random": lambda candidate: looks_random(candidate.value),
    "random-20": lambda candidate: looks_random(candidate.value, 20),
    "random-mixed": lambda candidate: looks_random(candidate.value, 24) and has_both_cases(candidate.value),
    "section": is_in_secret_section,
    "secret-text": lambda candidate: is_secret_text(candidate.value),
    "signing-key": is_signing_key,
    "statement": is_statement_password,
    "words": lambda candidate: len(set(candidate.value.split())) >= 8,
}
