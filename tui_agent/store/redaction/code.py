"""L1: secrets in programs: what stands where nothing else is given, what keys sign with, and sections of files that hold
secrets and nothing else.

Invariant: as `rules`; a text counts only where it looks thought up or made, since code is full of names in quotes.
"""

import re

from tui_agent.secret_words import SECRET_WORD
from tui_agent.store.redaction.rule import Rule, rule
from tui_agent.store.redaction.values import (
    WORDS,
    is_placeholder,
    looks_random,
    plain_made,
    secret_text,
    tells_of,
    thought_up,
)

_TEXT = r"[\"'`](?P<secret>[^\n\"'`]{6,400})[\"'`]"
_OR = re.compile(
    r"(?i)(?:\|\|=?|\?\?=?|\?:|//=?|\bor|\belse|\.unwrap_or(?:_else)?\((?:\|\w?\|)?|OrElse(?:Get)?\((?:\(\)\s{0,2}->)?|\bby\s{1,2}lazy\s{0,2}\{"
    r"|::new\(\|\|)\s{0,3}(?:(?<!\w)[bfru])?$"
)
"""What stands before a text that is taken where nothing else is given."""
_READS = re.compile(
    r"(?i)(?:env\w{0,20}|environ\.get|fetch|\bget|get_?or_?default|get_?property|config|setting|lookup\w{0,10}|\bcmp\.Or|coalesce|non_?empty|variable)\("
    r"(?:[\w.]{1,40}\()?$"
)
"""What reads a variable or a setting: the second of its arguments is what it gives where there is none."""
_SECOND = re.compile(r"\)?\s{0,3},\s{0,3}(?:default(?:Value)?\s{0,2}[=:]\s{0,2})?[bfru]?$")
_ASSIGNED = re.compile(r"[\])}]{0,3}(?:\s{0,2}[:=?]|\s{1,3}by\s|\s{0,3}(?:\|\||//|or\b|\.))")


def _default(match: re.Match[str]) -> bool:
    """A text in the place of what was not given; what is said of a secret is none."""
    way, second = match["way"], match["second"]
    if second is None:
        default = _OR.search(way)
    else:
        default = _OR.search(second) or (_SECOND.fullmatch(second) and _READS.search(way))
    return (
        bool(default)
        and _ASSIGNED.match(way) is not None
        and not tells_of(match["name"])
        and _made_up(match["secret"])
    )


_NAME = re.compile(r"[a-z]{2,20}(?:[-_][a-z]{2,20})*(?:[-_]?v?\d)?|0x[0-9A-Fa-f]+")


def _made_up(value: str) -> bool:
    """No name of a thing, which may have a figure at its end."""
    return secret_text(value) and not _NAME.fullmatch(value)


def _signs(match: re.Match[str]) -> bool:
    return _made_up(match["secret"])


_HEADER = re.compile(
    r"(?i)[ \t]{0,20}[\"']?(?:[a-z]+[_-])?(?P<what>secrets|passwords|credentials|tokens|api[_-]?keys)[\"']?:[ \t]{0,4}$"
)
_FAR = 3_000
_ABOUT = re.compile(
    r"(?i)(?:region|provider|host|server|user|username|login|role|arn|version|kind|type|source|path|ref|zone|bucket|image|email|domain)$"
)
_NO_SECRET = re.compile(
    r"(?i)#?[\d.]{1,9}[a-z%]{0,4}|#[0-9a-f]{6,8}|arn:.*|.*://.*|[a-z]{2,20}(?:-[a-z]{2,20})*-v?\d{1,2}"
)
"""A measure, a colour, an address, one of several things with the same name."""


def _of_section(match: re.Match[str]) -> bool:
    """Below `secrets:`, deeper than it, with nothing less deep between."""
    value, name, at = match["secret"], match["name"], match.start()
    if tells_of(name) or _ABOUT.search(name) or is_placeholder(value) or _NO_SECRET.fullmatch(value):
        return False
    made = looks_random(value) or plain_made(value)
    if not made and not thought_up(value):
        return False
    for line in reversed(match.string[max(0, at - _FAR) : at].rstrip("\n").split("\n")):
        lead = len(line) - len(line.lstrip(" \t"))
        if line.strip() and lead < len(match["indent"]):
            header = _HEADER.fullmatch(line)
            return header is not None and (made or header["what"].lower() in ("secrets", "passwords"))
    return False


CODE: tuple[Rule, ...] = (
    rule(
        "secret",
        "key secret token pass pw credential",
        rf"(?i)(?P<name>{SECRET_WORD}\w{{0,20}})[\"']?(?P<way>[^\n\"'`;#,]{{2,100}}+)"
        rf"(?:(?<!\|\|)(?<!\|\|\s)(?<!\?[?:])(?<!\?[?:]\s)(?<!\sor\s)[\"'][\w.:/-]{{1,60}}[\"'](?P<second>[^\n\"'`;#]{{1,60}}+))?{_TEXT}",
        _default,
        within=True,
        begins=WORDS,
    ),
    rule(
        "secret",
        "jwt. createhmac( hmac.new( securitykey( secretkeyspec( signwith( signingkey( hmacshakeyfor( hs256( hmac(",
        r"(?i)(?:\bjwt\.(?:sign|verify|encode|decode)|createHmac|\bhmac\.new|SymmetricSecurityKey|SecretKeySpec|signWith|verifyWith"
        r"|setSigningKey|hmacShaKeyFor|HS256|hash_hmac)\((?:(?<!hmac\.new\()[^\n\"'`;)]{1,60})?(?:[\"'`](?:sha|md|hs|aes)[\w-]{1,12}[\"'`]\s{0,2},\s{0,3}[^\n\"'`;)]{0,40})?"
        rf"[bfru]?{_TEXT}",
        _signs,
        within=True,
        begins=(
            r"jwt\.(?:sign|verify|encode|decode)|createhmac|hmac\.new|symmetricsecuritykey|secretkeyspec|signwith|verifywith|setsigningkey"
            r"|hmacshakeyfor|hs256|hash_hmac"
        ),
    ),
    rule(
        "secret",
        "secrets: passwords: credentials: tokens: keys:",
        r"(?m)^(?P<indent>[ \t]{1,20})[\"']?(?P<name>[\w.-]{1,60})[\"']?:[ \t]{1,8}(?P<quote>[\"']?)(?P<secret>[^\s\"'#{}\[\]|>&*!$][^\s\"']{5,400})(?P=quote),?[ \t]{0,4}(?:#[^\n]{0,200})?$",
        _of_section,
        within=True,
        lines=30,
    ),
    rule(
        "password",
        "ansible_",
        r"(?i)\bansible_(?:\w{1,20}_)?pass(?:word)?\s{0,2}[:=]\s{0,3}(?P<quote>[\"']?)(?P<secret>[^\s\"'{!$<|>\[][^\s\"']{3,200})(?P=quote)",
        lambda match: not is_placeholder(match["secret"]),
    ),
)
