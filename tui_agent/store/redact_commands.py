"""L1: secrets on command lines and in calls of functions: what follows an option, a name, or a user.

Invariant: as `redact_rules`; an option counts only where its program (or its own name) says what follows.
"""

import re

from tui_agent.store.redact_rules import SECRET_WORD, TEMPLATE, Rule, is_placeholder, looks_random, rule

_VALUE = r"[\"']?(?P<secret>[^\s\"'$<|;-][^\s\"']{3,400})"
_LOGIN = r"[\"'](?P<secret>[^\s\"']{6,400})[\"']"


def thought_up(value: str) -> bool:
    """Whether a value is what a person thinks up or a generator makes, and no plain word, name, number or path."""
    if (
        is_placeholder(value)
        or TEMPLATE.search(value)
        or value.startswith(("-", "$", "/", "./", "~", "@", "(", "{", "!"))
    ):
        return False
    if value[-1] in "-~/":
        return False
    digits = any(char.isdigit() for char in value)
    letters = any(char.isalpha() for char in value)
    odd = any(not char.isalnum() and char not in "_-./:,()" for char in value.rstrip(".,!?:;"))
    chain = value.count("-") > 1 and value.replace("-", "").isalpha()
    return letters and (digits or odd or chain)


def _thought_up(match: re.Match[str]) -> bool:
    return thought_up(match["secret"])


def _given(match: re.Match[str]) -> bool:
    value = match["secret"]
    return not is_placeholder(value) and not TEMPLATE.search(value)


_OF_NAMES = re.compile(r"^[a-z]+-[a-z]+$|(?i:password|passwd|secret|token|key|user|project|name)")


def _secret_text(match: re.Match[str]) -> bool:
    """A text behind a name in quotes, or within a call."""
    value = match["secret"]
    return thought_up(value) and " " not in value and not _OF_NAMES.search(value)


def _random_or_odd(match: re.Match[str]) -> bool:
    value = match["secret"]
    return looks_random(value, 20) or (thought_up(value) and not re.fullmatch(r"[\w./:-]+", value))


COMMANDS: tuple[Rule, ...] = (
    rule(
        "secret",
        "--",
        r"(?i)--?(?:[a-z]{1,20}-){0,4}(?:password|passwd|passphrase|pass|pwd|token|api-?key|secret|access-key|secret-key"
        rf"|storepass|keypass|psk)[ =]{{1,3}}{_VALUE}",
        _thought_up,
        within=True,
        lines=1,
    ),
    rule(
        "password",
        "-storepass -keypass",
        rf"-(?:storepass|keypass|srcstorepass|deststorepass)\s{{1,3}}{_VALUE}",
        _given,
    ),
    rule("password", "pass:", r"(?<![\w])pass:(?P<secret>[^\s\"':|]{4,200})", _thought_up),
    rule(
        "password",
        "docker podman helm mongo mongosh mongodump zip unzip 7z az sqlcmd mariadb rabbitmqadmin ldapsearch ldapadd ldapmodify wpa_passphrase",
        r"\b(?:(?:docker|podman|helm|nerdctl)\b[^\n|;]{0,100}?\blogin\b[^\n|;]{0,200}?\s-p\s{0,2}"
        r"|mongo(?:sh|dump|restore|export|import)?\b[^\n|;]{0,200}?\s-p\s{1,2}|(?:zip|unzip|sqlcmd)\b[^\n|;]{0,100}?\s-P\s{0,2}"
        r"|7z[ar]?\b[^\n|;]{0,100}?\s-p|az\s{1,2}login\b[^\n|;]{0,200}?\s-p\s{1,2}|ldap(?:search|add|modify|delete|whoami)\b[^\n|;]{0,200}?\s-w\s{0,2}"
        rf"|wpa_passphrase\s{{1,2}}\S{{1,64}}\s{{1,2}}){_VALUE}",
        _given,
    ),
    rule(
        "password",
        "openssl",
        rf"\bopenssl\b[^\n|;]{{0,200}}?\s-(?:k|K|passin|passout)\s{{1,3}}(?!pass:|env:|file:){_VALUE}",
        _given,
    ),
    rule(
        "password",
        "smbclient rpcclient",
        r"\b(?:smbclient|rpcclient)\b[^\n|;]{0,200}?\s-U\s{0,3}[\"']?[^\s%]{1,60}%(?P<secret>[^\s\"']{4,200})",
        _given,
    ),
    rule(
        "password",
        "net",
        r"(?i)\bnet\s{1,3}use\s{1,3}\S{1,10}\s{1,3}\\\\\S{1,200}\s{1,3}(?P<secret>[^\s/]{4,200})",
        _given,
    ),
    rule(
        "password",
        "htpasswd",
        r"\bhtpasswd\s{1,3}-[a-zA-Z]{0,6}b[a-zA-Z]{0,6}\s{1,3}(?:\S{1,200}\s{1,3}){1,2}(?P<secret>[^\s\"']{4,200})(?=\s|$)",
        _given,
    ),
    rule(
        "password",
        "stdin sudo chpasswd passwd",
        r"\b(?:echo|printf)\s{1,3}(?:-[ne]{1,2}\s{1,3})?[\"']?(?:[\w.-]{1,40}:)?(?P<secret>[^\s\"'$:|][^\s\"':|]{3,200})[\"']?\s{0,3}\|\s{0,3}"
        r"(?:sudo\s{1,3}-S|sudo\s{1,3}chpasswd|chpasswd|passwd|[^\n|]{1,200}(?:--password-stdin|--with-token|-stdin))",
        _given,
        within=True,
        lines=1,
    ),
    rule(
        "password",
        "curl",
        r"\bcurl\b[^\n|;]{0,300}?\s-u\s{0,2}[\"']?[^\s:\"'/]{1,100}:(?P<secret>(?!//)[^\s\"'$][^\s\"']{2,200})",
        _given,
    ),
    rule(
        "secret",
        "secret",
        r"\bsecret\s{1,3}set\s{1,3}\S{1,100}[^\n|;]{0,100}?(?:--body|-b|--value)[ =]{1,3}[\"']?(?P<secret>[^\s\"'$][^\s\"']{3,400})",
        _given,
    ),
    rule(
        "password",
        "convertto-securestring",
        r"(?i)ConvertTo-SecureString\s{1,3}(?:-String\s{1,3})?[\"'](?P<secret>[^\s\"'$][^\s\"']{3,200})",
        _given,
    ),
    rule(
        "password",
        "send",
        r"\bsend\s{1,3}(?:--\s)?[\"'](?P<secret>[^\s\"'\\]{6,200})\\[rn][\"'][^\n]{0,40}pass",
        _given,
    ),
    rule(
        "secret",
        "key secret token pass pwd credential pat",
        rf"(?i)(?:\b(?:env|setx|setenv|export|arg)|\bset\s{{1,3}}-[a-z]{{1,4}})\s{{1,3}}[\w]{{0,60}}{SECRET_WORD}\w{{0,10}}\s{{1,3}}{_VALUE}",
        _thought_up,
        within=True,
        lines=1,
    ),
    rule(
        "secret",
        "key secret token pass pwd credential",
        rf"(?i){SECRET_WORD}[\"']\s{{0,3}},\s{{0,3}}[\"'`](?P<secret>[^\n\"'`]{{6,400}})[\"'`]",
        _secret_text,
        within=True,
        lines=1,
    ),
    rule(
        "secret",
        "key secret token pass pwd",
        rf"(?i){SECRET_WORD}\(\s{{0,3}}[\"'`](?P<secret>[^\n\"'`]{{6,400}})[\"'`]",
        _secret_text,
        within=True,
        lines=1,
    ),
    rule(
        "password",
        "auth( auth= login( connect( client( credentials(",
        rf"(?i)(?:\bauth\s{{0,2}}=\s{{0,2}}\(|\bauth\(|(?:BasicAuth|login|Credentials|connect|Client)\()\s{{0,2}}[bfru]?[\"'][^\"'\n]{{1,100}}[\"']\s{{0,2}},\s{{0,2}}[bfru]?{_LOGIN}",
        _random_or_odd,
        within=True,
        lines=1,
    ),
    rule(
        "login token",
        "login",
        r"(?i)\blogin\(\s{0,2}[\"'](?P<secret>[^\s\"']{20,400})[\"']",
        lambda match: looks_random(match["secret"], 20),
        within=True,
        lines=1,
    ),
    rule(
        "secret",
        "client(",
        r"(?i)client\(\s{0,2}[\"'][^\"'\n]{1,100}[\"']\s{0,2},\s{0,2}[\"'](?P<secret>[0-9a-f]{32,64})[\"']",
        within=True,
        lines=1,
    ),
)
