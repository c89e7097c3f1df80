"""L1: the checks that a rule can name, for what a pattern alone cannot tell.

Invariant: a check only refuses candidates; it never finds any.
"""

import re
from collections.abc import Callable, Mapping

from tui_agent.store.redaction.assignment import (
    is_assigned,
    is_column_default,
    is_message,
    is_weakly_assigned,
)
from tui_agent.store.redaction.candidate import Candidate
from tui_agent.store.redaction.code import is_default_text, is_in_secret_section, is_signing_key
from tui_agent.store.redaction.logins import is_login_option
from tui_agent.store.redaction.shapes import has_shape
from tui_agent.store.redaction.values import (
    has_both_cases,
    has_digit,
    is_mixed,
    is_secret_text,
    looks_chosen,
    looks_issued,
    looks_random,
)


def is_given(candidate: Candidate) -> bool:
    """Return True for anything but a placeholder, a template, a variable or another option."""
    value = candidate.value.strip()
    return not has_shape(value, "placeholder", "template") and value[:1] not in ("$", "{", "(", "@", "-")


def is_header_value(candidate: Candidate) -> bool:
    """Return True for a header's value: no expression, no word about it, no signature of a request."""
    value = candidate.value
    if has_shape(value.rstrip("*") or value, "placeholder") or value.startswith("AWS4-"):
        return False
    return not (value.isalpha() and len(value) < 20) and not has_shape(value, "call-or-variable")


def is_address_login(candidate: Candidate) -> bool:
    """Return True for the password of an address, except the default one of somebody's local test server."""
    value = candidate.value
    if value == "x-oauth-basic" or has_shape(value, "placeholder"):
        return False
    return not (candidate.group("user") == value and has_shape(candidate.text_behind, "own-host"))


def is_statement_password(candidate: Candidate) -> bool:
    """Return True for the password of a statement in SQL, and not for an assignment in a program."""
    lead = candidate.lead
    if lead[:1] in "iI" and not has_shape(candidate.nearest(200), "statement"):
        return False
    if lead.rstrip().startswith("=") or has_shape(candidate.value, "placeholder", "template"):
        return False
    return "=" not in lead or re.search(r"(?i)\bwith\s{1,3}$", candidate.nearest(8)) is not None


def is_mailgun_key(candidate: Candidate) -> bool:
    """Return True unless the text around says that `key-…` names a path, a cache entry or an element of a page."""
    before, behind = candidate.nearest(80), candidate.text_behind[:8]
    before = before[before.rfind("\n") + 1 :] + candidate.lead
    if re.match(r"[/:.-]\w", behind):
        return False
    if before[-1:] in ("-", "/", ".", ":") and not re.search(r"(?:api|:\d{1,6}):$", before):
        return False
    return not has_shape(before, "thing-before") and looks_issued(candidate.value)


def is_option_value(candidate: Candidate) -> bool:
    """Return True for a chosen value behind an option; within a word (`single-token text`) it needs a digit."""
    within = candidate.nearest(1).isalnum()
    if "bypass" in candidate.lead.lower():
        return False
    return looks_chosen(candidate.value) and (not within or has_digit(candidate.value))


def is_block_text(candidate: Candidate) -> bool:
    """Return True for the text of a block in YAML: no further names, no message."""
    first = candidate.value.split("\n")[0]
    return not re.match(r"[\w.-]{1,60}:(?:\s|$)", first) and (" " not in first or not is_message(first))


def is_setter_argument(candidate: Candidate) -> bool:
    """Return True unless the function that takes the text only works on one: `hash_password("hunter2")`."""
    return not has_shape(candidate.nearest(30), "works-on")


def is_login_argument(candidate: Candidate) -> bool:
    """Return True for the second of two texts in a call that signs in."""
    value = candidate.value
    if looks_random(value, 20):
        return True
    if not looks_chosen(value):
        return False
    signs_in = has_shape(candidate.lead, "sign-in-call")
    several_digits = sum(char.isdigit() for char in value) > 1
    return (signs_in and several_digits) or not re.fullmatch(r"[\w./:-]+", value)


def is_told(candidate: Candidate) -> bool:
    """Return True for a password within prose: letters, and digits or odd signs, and no well-known word with a number."""
    value = candidate.value.rstrip(".,!?:;)")
    if (
        len(value) < 6
        or has_shape(value, "algorithm")
        or "(" in value
        or value.count("/") > 1
        or set(value) & set("=*")
    ):
        return False
    if (has_shape(value, "numbered-name") and candidate.lead[:1] not in "pP") or "." in value[1:-1]:
        return False
    return looks_chosen(value) and (has_digit(value) or re.search(r"[!#%^*&@$]", value) is not None)


def is_mixed_case(candidate: Candidate) -> bool:
    """Return True for small and capital letters together with digits or the padding of Base64."""
    return has_both_cases(candidate.value) and any(char.isdigit() or char == "=" for char in candidate.value)


CHECKS: Mapping[str, Callable[[Candidate], bool]] = {
    "address-login": is_address_login,
    "assigned": is_assigned,
    "block-text": is_block_text,
    "call-argument": is_setter_argument,
    "chosen": lambda candidate: looks_chosen(candidate.value),
    "column-default": is_column_default,
    "default-text": is_default_text,
    "digit": lambda candidate: has_digit(candidate.value),
    "given": is_given,
    "header": is_header_value,
    "issued": lambda candidate: looks_issued(candidate.value),
    "login-call": is_login_argument,
    "login-option": is_login_option,
    "mailgun": is_mailgun_key,
    "mixed": lambda candidate: is_mixed(candidate.value),
    "mixed-case": is_mixed_case,
    "named-value": lambda candidate: not has_shape(candidate.name, "property"),
    "not-placeholder": lambda candidate: not has_shape(candidate.value, "placeholder"),
    "not-public": lambda candidate: candidate.value not in ("public", "private"),
    "option": is_option_value,
    "prose": is_told,
    "random": lambda candidate: looks_random(candidate.value),
    "random-20": lambda candidate: looks_random(candidate.value, 20),
    "random-mixed": lambda candidate: looks_random(candidate.value, 24) and has_both_cases(candidate.value),
    "section": is_in_secret_section,
    "secret-text": lambda candidate: is_secret_text(candidate.value),
    "signing-key": is_signing_key,
    "statement": is_statement_password,
    "weakly-assigned": is_weakly_assigned,
    "words": lambda candidate: len(set(candidate.value.split())) >= 8,
}
