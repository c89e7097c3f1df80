"""L1: judge texts in programs and in sections of configuration files by the lines around them.

Invariant: a text counts only where it looks chosen or generated, since code is full of names in quotes.
"""

import re

from tui_agent.store.redaction.candidate import Candidate
from tui_agent.store.redaction.values import (
    describes_secret,
    is_placeholder,
    is_random_letters,
    is_secret_text,
    looks_chosen,
    looks_random,
)

_OTHERWISE = re.compile(
    r"(?i)(?:\|\|=?|\?\?=?|\?:|//=?|\bor|\belse|\.unwrap_or(?:_else)?\((?:\|\w?\|)?|OrElse(?:Get)?\((?:\(\)\s{0,2}->)?|\bby\s{1,2}lazy\s{0,2}\{"
    r"|::new\(\|\|)\s{0,3}(?:(?<!\w)[bfru])?$"
)
"""Ends in an operator or a call whose next operand is the value to use when there is no other."""
_LOOKUP = re.compile(
    r"(?i)(?:env\w{0,20}|environ\.get|fetch|\bget|get_?or_?default|get_?property|config|setting|lookup\w{0,10}|\bcmp\.Or|coalesce|non_?empty|variable)\("
    r"(?:[\w.]{1,40}\()?$"
)
"""Ends in a call that reads a variable or a setting: its second argument is the default."""
_SECOND_ARGUMENT = re.compile(r"\)?\s{0,3},\s{0,3}(?:default(?:Value)?\s{0,2}[=:]\s{0,2})?[bfru]?$")
_ASSIGNED = re.compile(r"[\])}]{0,3}(?:\s{0,2}[:=?]|\s{1,3}by\s|\s{0,3}(?:\|\||//|or\b|\.))")
_NAME = re.compile(r"[a-z]{2,20}(?:[-_][a-z]{2,20})*(?:[-_]?v?\d)?|0x[0-9A-Fa-f]+")
_SECTION = re.compile(
    r"(?i)[ \t]{0,20}[\"']?(?:[a-z]+[_-])?(?P<kind>secrets|passwords|credentials|tokens|api[_-]?keys)[\"']?:[ \t]{0,4}$"
)
_PUBLIC_NAME = re.compile(
    r"(?i)(?:region|provider|host|server|user|username|login|role|arn|version|kind|type|source|path|ref|zone|bucket|image|email|domain)$"
)
_PUBLIC_VALUE = re.compile(
    r"(?i)#?[\d.]{1,9}[a-z%]{0,4}|#[0-9a-f]{6,8}|arn:.*|.*://.*|[a-z]{2,20}(?:-[a-z]{2,20})*-v?\d{1,2}"
)
"""A measure, a colour, an address, one of several things with the same name."""


def is_default_text(candidate: Candidate) -> bool:
    """Return True for a text that is used when nothing else is given: `password = env("PW") or "hunter2"`."""
    way = candidate.group("way")
    if not _ASSIGNED.match(way) or describes_secret(candidate.group("name") + candidate.group("rest")):
        return False
    if candidate.has_group("second"):
        second = candidate.group("second")
        default = _OTHERWISE.search(second) or (_SECOND_ARGUMENT.fullmatch(second) and _LOOKUP.search(way))
    else:
        default = _OTHERWISE.search(way)
    return default is not None and is_signing_key(candidate)


def is_signing_key(candidate: Candidate) -> bool:
    """Return True for a secret text that is not the name of something, with or without a number at its end."""
    return is_secret_text(candidate.value) and not _NAME.fullmatch(candidate.value)


def is_in_secret_section(candidate: Candidate) -> bool:
    """Return True for a value in a section called `secrets:`, deeper than it, with nothing less deep between."""
    value, name = candidate.value, candidate.group("key")
    if (
        describes_secret(name)
        or _PUBLIC_NAME.search(name)
        or is_placeholder(value)
        or _PUBLIC_VALUE.fullmatch(value)
    ):
        return False
    generated = looks_random(value) or is_random_letters(value)
    if not generated and not looks_chosen(value):
        return False
    for line in reversed(candidate.text_before.rstrip("\n").split("\n")):
        depth = len(line) - len(line.lstrip(" \t"))
        if line.strip() and depth < len(candidate.group("indent")):
            section = _SECTION.fullmatch(line)
            return section is not None and (generated or section["kind"].lower() in ("secrets", "passwords"))
    return False
