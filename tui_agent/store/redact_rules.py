"""L1: what a secret looks like: a first set of well-known formats and of the places where secrets stand.

Invariant: identifiers, hashes, UUIDs, commit ids, checksums of lock files and plain numbers match no rule.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from tui_agent.store.redact_formats import EDGE, formats

Judge = Callable[[re.Match[str]], bool]


def _always(match: re.Match[str]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret. `triggers` are lower-case words, one of which is in every text that the pattern matches.

    The group `secret` (the whole match where there is none) is replaced if `judge` agrees.
    """

    kind: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    judge: Judge = _always
    starts: bool = False
    """Every match begins a word, and with one of the triggers."""

    def apply(self, text: str) -> str:
        """The text with every secret of this kind replaced."""
        return self.pattern.sub(self._replace, text)

    def _replace(self, match: re.Match[str]) -> str:
        if not self.judge(match):
            return match.group()
        if "secret" not in self.pattern.groupindex:
            return f"[redacted: {self.kind}]"
        start, end = (edge - match.start() for edge in match.span("secret"))
        whole = match.group()
        return f"{whole[:start]}[redacted: {self.kind}]{whole[end:]}"


SECRET_WORD = (
    r"(?:api[_-]?key|apikey|access[_-]?key|secret[_-]?key|private[_-]?key|auth[_-]?key|account[_-]?key|app[_-]?key"
    r"|signing[_-]?key|encryption[_-]?key|master[_-]?key|shared[_-]?key|service[_-]?key|license[_-]?key|storage[_-]?key"
    r"|secret|token|passwd|password|passphrase|passcode|passwort|pwd|credentials?|connection[_-]?string)"
)
SECRET_KEY = re.compile(rf"(?i)[a-z0-9_.-]{{0,60}}{SECRET_WORD}")
"""A name whose value is a secret."""
_WEAK_WORD = r"(?:auth|key|salt|session(?:[_-]?id)?|sid|sig|signature|cookie|pat|dsn|hmac|bearer|jwt|login|nonce|pepper|pin|otp|seed)"
"""A name whose value may be one: then it must look random."""

_PLACEHOLDER = re.compile(
    r"(?i)[*x•.-]+|<.*|\$.*|%.*|\{.*|\[.*|(?:your|my|some|the|an?|test|example|dummy|fake|changeme|placeholder|todo)"
    r"[-_ ].*|changeme|none|null|true|false|undefined|required|optional|string|redacted.*"
)
_IN_CODE = re.compile(r"[(\[{<>$%*\\]|\.\w+\.|^(?:os|env|self|settings|config|process|request|args)\.")


def is_placeholder(value: str) -> bool:
    """Whether a value only stands where a secret would: `<token>`, `$TOKEN`, `your-key-here`, `****`."""
    return _PLACEHOLDER.fullmatch(value.strip()) is not None


_HASH = re.compile(
    r"(?i)(?:[a-f0-9]{32}|[a-f0-9]{40}|[a-f0-9]{56}|[a-f0-9]{64}|[a-f0-9]{96}|[a-f0-9]{128})|(?:sha|md5)[-:0-9].*"
)
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLACE = re.compile(
    r"(?i)(?:[a-z][a-z0-9+.-]*:)?//|^[./~]|^[a-z]:\\\\|\.(?:py|js|ts|json|pem|txt|html?|ya?ml|toml|md|go|rs|com|org|net|io)$"
)
_COUNTED = re.compile(
    r"(?i)(?<![a-z])(?:max|min|num|total|count|next|prev|page|input|output|prompt|completion|cached?|public|primary|foreign|sort|partition)[_-]?$"
)


_TELLS_OF = re.compile(
    r"(?i)(?:field|name|type|count|id|url|uri|file|path|length|policy|expiry|expires|ttl|size|limit|hint|label|input|icon"
    r"|prefix|header|env|var|except|version|algorithm|mode|format|length)s?$"
)
"""The end of a name that holds something about a secret, not the secret."""


def looks_random(value: str, least: int = 16) -> bool:
    """Whether a value is made by a generator: long, of letters and digits mixed, no hash, id, path or address."""
    if len(value) < least or is_placeholder(value) or _PLACE.search(value):
        return False
    if _HASH.fullmatch(value) or _UUID.fullmatch(value):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    words = len(re.findall(r"[A-Za-z]{5,}", value))
    return digits >= 2 and letters >= 2 and len(set(value)) >= 8 and words * 7 < len(value)


def _assigned(match: re.Match[str]) -> bool:
    value = match["secret"]
    before = match.string[max(0, match.start() - 12) : match.start()]
    if is_placeholder(value) or value.isdigit() or _COUNTED.search(before) or _TELLS_OF.search(match["word"]):
        return False
    if _IN_CODE.search(value) and not (match["quote"] and looks_random(value, 12)):
        return False
    if match["quote"]:
        words = value.replace("_", "").isalpha()
        return not words or "pass" in match["word"].lower() or "pwd" in match["word"].lower()
    if "://" in value:
        return False
    digits = any(char.isdigit() for char in value)
    odd = any(not char.isalnum() and char not in "_-./" for char in value)
    shouted = match["word"].isupper()
    if "pass" in match["word"].lower() or "pwd" in match["word"].lower():
        return (digits or odd or shouted) and not (value.isidentifier() and not digits)
    return (shouted and not value.isidentifier()) or (digits and (shouted or len(value) >= 12))


def _weakly_assigned(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 12) : match.start()]
    return looks_random(match["secret"], 20) and not _COUNTED.search(before)


def _random(match: re.Match[str]) -> bool:
    return looks_random(match["secret"])


def _not_placeholder(match: re.Match[str]) -> bool:
    return not is_placeholder(match["secret"])


def _mixed(match: re.Match[str]) -> bool:
    """Letters and digits both: words joined by hyphens are no key."""
    value = match.groupdict().get("secret") or match.group()
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)


def _mixed_case(match: re.Match[str]) -> bool:
    value = match["secret"]
    return (
        any(c.isupper() for c in value)
        and any(c.islower() for c in value)
        and any(c.isdigit() or c == "=" for c in value)
    )


def _issued(match: re.Match[str]) -> bool:
    """Letters and digits both behind the beginning; a run of one character or a word stands for a key only."""
    value = match.group()
    mixed = any(c.islower() for c in value[4:]) and any(c.isupper() for c in value[4:])
    return (
        (mixed or any(c.isdigit() for c in value[4:])) and len(set(value[4:])) >= 4 and "EXAMPLE" not in value
    )


def _rule(kind: str, triggers: str, pattern: str, judge: Judge = _always, *, within: bool = False) -> Rule:
    """`within`: its triggers may stand in the middle of a word, as in `DB_PASSWORD`."""
    return Rule(kind, tuple(triggers.split()), re.compile(pattern), judge, not within)


_STOP = r"(?![A-Za-z0-9])"

RULES: tuple[Rule, ...] = (
    _rule(
        "private key",
        "-----begin",
        r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[A-Za-z0-9+/=\s\\:,.]|-(?!-{4})){40,}(?:-----END[ A-Z0-9]{0,50}-----)?",
    ),
    _rule(
        "aws key id",
        "akia asia abia acca a3t",
        rf"{EDGE}(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{{16}}{_STOP}",
        lambda match: not match.group().endswith("EXAMPLE"),
    ),
    _rule(
        "putty key",
        "private-lines:",
        r"Private-Lines: \d{1,4}\s{1,2}(?P<secret>(?:[A-Za-z0-9+/=]{1,80}\s{1,2}){1,200})",
    ),
    _rule(
        "webhook address",
        "hooks.slack.com discord.com/api/webhooks discordapp.com/api/webhooks webhookb2",
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks"
        r"|\.webhook\.office\.com/webhookb2)/(?P<secret>[A-Za-z0-9_/@-]{16,300})",
    ),
    _rule("openai key", "sk-", rf"{EDGE}sk-(?:[a-z0-9]{{2,12}}-)?[A-Za-z0-9_-]{{20,250}}", _mixed),
    _rule(
        "json web token",
        "eyj",
        rf"{EDGE}eyJ[A-Za-z0-9_-]{{10,2000}}\.eyJ[A-Za-z0-9_-]{{10,4000}}(?:\.[A-Za-z0-9_-]{{10,2000}})?",
    ),
    _rule(
        "authorization",
        "authorization",
        r"(?i)authorization[\"']{0,2}\s{0,3}[:=]\s{0,3}[\"']{0,2}(?:(?:bearer|basic|token|digest)\s{1,3})?"
        r"(?P<secret>[^\s\"',;]{8,4000})",
        _not_placeholder,
    ),
    _rule("bearer token", "bearer", r"(?i)bearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,4000})", _mixed),
    _rule("basic login", "basic", r"(?i)\bbasic\s{1,3}(?P<secret>[A-Za-z0-9+/]{12,4000}={0,2})", _mixed_case),
    _rule(
        "header",
        "x-api-key x-auth x-amz-security private-token cookie x-access x-csrf x-vault job-token api-key:",
        r"(?i)(?:x-api-key|x-auth-[a-z]{1,12}|x-auth|x-amz-security-token|private-token|job-token|x-access-token"
        r"|x-vault-token|x-csrf-token|api-key)[\"']?\s{0,3}:\s{0,3}[\"']?(?P<secret>[^\s\"',;]{8,4000})",
        _not_placeholder,
    ),
    _rule(
        "cookie",
        "cookie",
        r"(?i)cookie[\"']?\s{0,3}:\s{0,3}[\"']?[^\n=;]{1,60}=(?P<secret>[^\s\"';,]{16,4000})",
        _random,
    ),
    _rule(
        "password",
        "://",
        r"://[^\s/:@\"'<>]{0,100}:(?P<secret>[^\s/@\"'<>]{3,200})@",
        _not_placeholder,
    ),
    _rule(
        "address parameter",
        "access_token refresh_token id_token token api_key apikey key= sig= signature x-amz client_secret secret= password pwd auth= code=",
        r"(?i)[?&](?:access_token|refresh_token|id_token|token|api_?key|key|sig|signature|x-amz-signature|client_secret"
        r"|x-amz-security-token|x-amz-credential|secret|password|pwd|auth|code)=(?P<secret>[^\s&#\"'<>]{6,2000})",
        _not_placeholder,
    ),
    _rule(
        "secret",
        "key secret token pass pwd credential connection",
        rf"(?i)(?P<word>{SECRET_WORD}(?:s|[0-9]{{1,3}}|[_-][A-Za-z0-9_]{{1,20}}|(?-i:[A-Z][A-Za-z0-9]{{1,20}}))?)\\?[\"']?\s{{0,3}}(?::=|=>|[:=])\s{{0,3}}"
        r"(?P<quote>\\?[\"']?)(?P<secret>[^\s\"'`,;&)}\]]{6,4000})",
        _assigned,
        within=True,
    ),
    _rule(
        "secret",
        "salt hmac jwt cookie dsn pepper signature session_id sessionid _auth key otp",
        rf"(?i)(?<![a-z]){_WEAK_WORD}[\"']?\s{{0,3}}(?::=|=>|[:=])\s{{0,3}}[\"']?(?P<secret>[A-Za-z0-9+/=_.~!@#$%^*-]{{20,4000}})",
        _weakly_assigned,
    ),
    _rule(
        "password",
        "password identified",
        r"(?i)(?:identified by|(?:with|set|encrypted) password|\bpassword)\s{1,3}(?P<quote>['\"])(?P<secret>[^'\"\s]{4,200})['\"]",
        _not_placeholder,
    ),
    _rule(
        "password",
        "machine password",
        r"(?i)\bmachine\s{1,3}\S{1,200}\s{1,3}login\s{1,3}\S{1,200}\s{1,3}password\s{1,3}(?P<secret>\S{4,400})",
        _not_placeholder,
    ),
    _rule(
        "secret",
        "password passwd pass pwd token api-key apikey secret auth-token access-key client-secret",
        r"--(?:password|passwd|pass|pwd|token|api-key|apikey|secret|auth-token|access-key|secret-key|client-secret)"
        r"[ =]{1,3}[\"']?(?P<secret>[^\s\"'$<-][^\s\"']{5,4000})",
        _mixed,
    ),
    _rule(
        "password",
        "curl wget http",
        r"\b(?:curl|wget|http)\b[^\n|;]{0,300}?\s(?:-u|--user)[ =]{0,2}[\"']?[^\s:\"']{1,100}:(?P<secret>(?!//)[^\s\"'$]{3,200})",
        _not_placeholder,
    ),
    _rule(
        "password",
        "sshpass mysql redis-cli mysqldump",
        r"\b(?:sshpass\s{1,3}-p|mysql(?:dump)?\b[^\n|;]{0,200}?\s-p|redis-cli\b[^\n|;]{0,200}?\s-a)\s{0,2}[\"']?"
        r"(?P<secret>[^\s\"'$-][^\s\"']{3,200})",
        _not_placeholder,
    ),
    _rule(
        "password hash",
        "$1$ $2a$ $2b$ $2y$ $5$ $6$ $y$ $apr1$ $argon2",
        r"\$(?:1|2[aby]|5|6|y|apr1|argon2(?:id|i|d))\$[A-Za-z0-9./$,=+]{20,200}",
    ),
    _rule(
        "password",
        "password secret token key",
        r"(?i)(?:password|secret|token|api-?key)\"\s{1,4}value=\"(?P<secret>[^\"\s]{4,400})\"",
        _not_placeholder,
    ),
    _rule(
        "kubernetes secret",
        "kind:",
        r"(?is)\bkind:\s{0,3}[\"']?secret\b.{0,400}?\bdata:(?P<secret>(?:\s{1,12}[\w.-]{1,80}:\s{0,3}[\"']?[A-Za-z0-9+/]{6,4000}={0,2}[\"']?){1,50})",
    ),
    _rule(
        "key data",
        "client-key-data",
        r"client-key-data:\s{0,3}(?P<secret>[A-Za-z0-9+/=]{40,8000})",
    ),
    _rule(
        "login data",
        '"auth"',
        r"\"auth\"\s{0,3}:\s{0,3}\"(?P<secret>[A-Za-z0-9+/]{12,2000}={0,2})\"",
    ),
    *(Rule(kind, triggers, pattern, _issued, starts) for kind, triggers, pattern, starts in formats()),
)
