"""L1: what a secret looks like: a first set of well-known formats and of the places where secrets stand.

Invariant: identifiers, hashes, UUIDs, commit ids, checksums of lock files and plain numbers match no rule.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tui_agent.store.redact_formats import EDGE, formats

Judge = Callable[[re.Match[str]], bool]


def _always(match: re.Match[str]) -> bool:
    return True


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


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
    lines: int = 0
    """So many lines from the one in which a trigger stands hold the whole match; 0: any number."""

    def apply(self, text: str, low: str) -> str:
        """The text with every secret of this kind replaced. `low` is the text in lower case."""
        if not self.lines or len(low) != len(text):
            return self.pattern.sub(self._replace, text)
        pieces, done = [], 0
        for start, end in self._near(low):
            pieces += [text[done:start], self.pattern.sub(self._replace, text[start:end])]
            done = end
        return "".join((*pieces, text[done:])) if pieces else text

    def _near(self, low: str) -> Iterator[tuple[int, int]]:
        """The places where the lines around triggers begin and end, in order and apart."""
        found = sorted({low.rfind("\n", 0, at) + 1 for word in self.triggers for at in _places(low, word)})
        begun = ended = -1
        for start in found:
            end = start
            for _ in range(self.lines):
                end = low.find("\n", end) + 1 or len(low) + 1
                if end > len(low):
                    break
            end = min(end, len(low))
            if start > ended:
                if begun >= 0:
                    yield begun, ended
                begun = start
            ended = max(end, ended)
        if begun >= 0:
            yield begun, ended

    def _replace(self, match: re.Match[str]) -> str:
        if not self.judge(match):
            return match.group()
        if "secret" not in self.pattern.groupindex:
            return f"[redacted: {self.kind}]"
        start, end = (edge - match.start() for edge in match.span("secret"))
        whole = match.group()
        return f"{whole[:start]}[redacted: {self.kind}]{whole[end:]}"


SECRET_WORD = (
    r"(?:(?=[acehlmpst])(?:api[_-]?key|apikey|access[_-]?key|secret[_-]?key|private[_-]?key|auth[_-]?key|account[_-]?key|app[_-]?key"
    r"|signing[_-]?key|encryption[_-]?key|master[_-]?key|shared[_-]?key|service[_-]?key|license[_-]?key|storage[_-]?key"
    r"|admin[_-]?key|hash[_-]?key|secret|token|passwd|password|pass[_-]?phrase|passcode|passwort|pwd|credentials?"
    r"|connection[_-]?string|psk|(?<![a-z0-9])pass|(?-i:(?<=[a-z])Pass)|(?<![a-z0-9])pat|mnemonic))"
)
SECRET_KEY = re.compile(rf"(?i)[a-z0-9_.-]{{0,60}}{SECRET_WORD}")
"""A name whose value is a secret."""
_WEAK_WORD = r"(?:auth|key|salt|session(?:[_-]?id)?|sid|cookie|dsn|hmac|bearer|jwt|login|pepper|pin|otp|seed)"
"""A name whose value may be one: then it must look random."""

_PLACEHOLDER = re.compile(
    r"(?i)[*x•.…-]+|<.*|\$(?:[A-Z_]+$|[({]).*|%(?:[(]|\w+%).*|\{.*|\[.*|(?:your|my|some|the|an?|test|example|dummy|fake|changeme|placeholder|todo|insert|enter|replace)"
    r"[-_ ].*|changeme|change[-_]?it|none|null|true|false|undefined|required|optional|string|redacted.*|sk-\.+|\w{2,6}[-_][x*.]{3,}.*"
    r"|(?:user|db|the|my|your|new|old)?[-_]?(?:password|passwd|passphrase|pass|pwd|pw|secret|token|credentials?)|.*EXAMPLE(?:KEY)?"
)
_IN_CODE = re.compile(
    r"[(\[{<>\\]|^[$%*!&|]|\$[({]|%[(s]|\.\w+\.|^(?:os|env|self|settings|config|process|request|args|this|var|local|module|data)\.|^=|\w\.\w+[!=]="
)
"""An expression, where no quotes say that it is a text."""
TEMPLATE = re.compile(r"\$[({]|\{\{|%\(|^%\w+%$|^\$\w+$|<[^>]*>|^\{[\w.]*\}$|^#\{")
"""A text in quotes that stands for another one."""


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
    if len(value) < least or is_placeholder(value):
        return False
    if _PLACE.search(value) and not (value.endswith("=") and len(value) % 4 == 0 and len(value) > 40):
        return False
    if _HASH.fullmatch(value) or _UUID.fullmatch(value) or value.startswith(("pk_live_", "pk_test_")):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    words = len(re.findall(r"[A-Za-z]{5,}", value))
    return digits >= 2 and letters >= 2 and len(set(value)) >= 8 and words * 7 < len(value)


_NAMED = re.compile(r"pass|pwd|psk|pin")
"""The name of what people think up: it may be a word."""


def _assigned(match: re.Match[str]) -> bool:
    value, word = match["secret"], match["word"].lower()
    before = match.string[max(0, match.start() - 12) : match.start()]
    if is_placeholder(value) or _COUNTED.search(before) or _TELLS_OF.search(match["word"]):
        return False
    if value.isdigit() and (len(value) > 12 or not _NAMED.search(word) or word == "pass"):
        return False
    if match["quote"] == "`" and set(value) & set("=*"):
        return False
    if match["quote"]:
        return _quoted(value, word)
    if "://" in value or _IN_CODE.search(value) or _NAME_OF.fullmatch(value):
        return False
    if match["word"].isupper() and match.string[match.start("secret") - 1] == "=" and _two_cases(value):
        return True
    if word == "pass" and match.string[max(0, match.start() - 1)] not in "_-.":
        return False
    return _bare(value, match["word"])


_NAME_OF = re.compile(
    r"\w+(?:\.\w+){2,}|\w+\[.*\]|pk_(?:live|test)_.*|[a-z]+(?:-[a-z]+)*-(?:password|passwd|token|secret|secrets|key)"
)
"""A class, a type, or a thing that is named after what it holds."""


def _quoted(value: str, word: str) -> bool:
    """Whether a text in quotes behind a secret's name is one: not a template, a sentence, or a mere name."""
    if TEMPLATE.search(value) or value.count(" ") > 2 or _NAME_OF.fullmatch(value):
        return False
    if _NAMED.search(word):
        return True
    return not re.sub(r"[_ .:/-]", "", value).isalpha()


def _two_cases(value: str) -> bool:
    return len(value) >= 12 and any(c.islower() for c in value[1:]) and any(c.isupper() for c in value[1:])


def _bare(value: str, word: str) -> bool:
    """Whether a word behind a secret's name is one."""
    digits = any(char.isdigit() for char in value)
    odd = any(not char.isalnum() and char not in "_-./" for char in value)
    shouted = word.isupper()
    if _NAMED.search(word.lower()):
        chain = value.count("-") > 1 and value.replace("-", "").isalpha()
        return (digits or odd or shouted or chain) and not (value.isidentifier() and not digits)
    return (shouted and not value.isidentifier()) or (digits and (shouted or len(value) >= 12))


def _weakly_assigned(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 12) : match.start()]
    return looks_random(match["secret"], 20) and not _COUNTED.search(before)


def _random(match: re.Match[str]) -> bool:
    return looks_random(match["secret"])


def _not_placeholder(match: re.Match[str]) -> bool:
    return not is_placeholder(match["secret"])


def _in_header(match: re.Match[str]) -> bool:
    """A value, no expression that gives one."""
    value = match["secret"]
    return not is_placeholder(value) and not re.search(
        r"[(\[{<]|^(?:self|request|os|env|settings|config)\.", value
    )


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


_TYPED = r"(?:(?::|\s{1,3}as)\s{0,3}[\w.\[\]|?<>]{1,40}\s{0,3}(?==\s{0,3}[\"']))?"
"""A type between a name and its value, which must be a text."""


def rule(
    kind: str,
    triggers: str,
    pattern: str,
    judge: Judge = _always,
    *,
    within: bool = False,
    lines: int = 0,
) -> Rule:
    """`within`: its triggers may stand in the middle of a word, as in `DB_PASSWORD`."""
    return Rule(kind, tuple(triggers.split()), re.compile(pattern), judge, not within, lines)


_STOP = r"(?![A-Za-z0-9])"

RULES: tuple[Rule, ...] = (
    rule(
        "private key",
        "-----begin",
        r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[A-Za-z0-9+/=\s\\:,.]|-(?!-{4})){40,}(?:-----END[ A-Z0-9]{0,50}-----)?",
    ),
    rule(
        "aws key id",
        "akia asia abia acca a3t",
        rf"{EDGE}(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{{16}}{_STOP}",
        lambda match: not match.group().endswith("EXAMPLE"),
    ),
    rule(
        "putty key",
        "private-lines:",
        r"Private-Lines: \d{1,4}\s{1,2}(?P<secret>(?:[A-Za-z0-9+/=]{1,80}\s{1,2}){1,200})",
    ),
    rule(
        "webhook address",
        "hooks.slack.com discord.com/api/webhooks discordapp.com/api/webhooks webhookb2",
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks"
        r"|\.webhook\.office\.com/webhookb2)/(?P<secret>[A-Za-z0-9_/@-]{16,300})",
    ),
    rule("openai key", "sk-", rf"{EDGE}sk-(?!ant-)(?:[a-z0-9]{{2,12}}-)?[A-Za-z0-9_-]{{20,250}}", _mixed),
    rule(
        "json web token",
        "eyj",
        rf"{EDGE}eyJ[A-Za-z0-9_-]{{10,2000}}\.eyJ[A-Za-z0-9_-]{{10,4000}}(?:\.[A-Za-z0-9_-]{{10,2000}})?",
    ),
    rule(
        "authorization",
        "authorization",
        r"(?i)authorization[\"']{0,2}\s{0,3}[:=]\s{0,3}[\"']{0,2}(?:(?:bearer|basic|token|digest)\s{1,3})?"
        r"(?P<secret>[^\s\"',;]{8,4000})",
        _in_header,
    ),
    rule("bearer token", "bearer", r"(?i)bearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,4000})", _mixed),
    rule("basic login", "basic", r"(?i)\bbasic\s{1,3}(?P<secret>[A-Za-z0-9+/]{12,4000}={0,2})", _mixed_case),
    rule(
        "header",
        "x-api-key x-auth x-amz-security private-token cookie x-access x-csrf x-vault job-token api-key:",
        r"(?i)(?:x-api-key|x-auth-[a-z]{1,12}|x-auth|x-amz-security-token|private-token|job-token|x-access-token"
        r"|x-vault-token|x-csrf-token|api-key)[\"']?\s{0,3}:\s{0,3}[\"']?(?P<secret>[^\s\"',;]{8,4000})",
        _in_header,
    ),
    rule(
        "cookie",
        "cookie",
        r"(?i)cookie[\"']?\s{0,3}:\s{0,3}[\"']?[^\n=;]{1,60}=(?P<secret>[^\s\"';,]{16,4000})",
        _random,
    ),
    rule(
        "password",
        "://",
        r"://[^\s/:@\"'<>]{0,100}:(?P<secret>[^\s/\"'<>`]{3,200})@",
        _not_placeholder,
    ),
    rule("token", "://", r"://(?P<secret>[A-Za-z0-9_-]{20,200})(?::x-oauth-basic|:)?@", _mixed),
    rule(
        "address parameter",
        "access_token refresh_token id_token token api_key apikey key= sig= signature x-amz client_secret secret= password pwd auth= code=",
        r"(?i)[?&](?:access_token|refresh_token|id_token|token|api_?key|key|sig|signature|x-amz-signature|client_secret"
        r"|x-amz-security-token|x-amz-credential|secret|password|pwd|auth|code)=(?P<secret>[^\s&#\"'<>]{6,2000})",
        _not_placeholder,
    ),
    rule(
        "secret",
        "key secret token pass pwd credential connection psk pat mnemonic",
        rf"(?i)(?P<word>{SECRET_WORD}(?:s|[0-9]{{1,3}}|[_-][A-Za-z0-9_]{{1,20}}|(?-i:[A-Z][a-z0-9][A-Za-z0-9]{{0,20}}))?)"
        rf"(?:\x1b\[[0-9;]{{0,10}}m|&quot;|[\u200b-\u200d]|\\?[\"']|\])*{_TYPED}\s{{0,3}}(?::=|=>|<-|[:=])\s{{0,6}}(?:\x1b\[[0-9;]{{0,10}}m)?"
        r"(?:[>|][+-]?\n\s{1,12})?\[?(?:[bfru@]{1,2}(?=[\"']))?"
        r"(?:(?P<quote>\\?[\"'`“]|&quot;)(?=(?P<text>[^\n\"'`”]{4,4000}?)(?:\\?[\"'`”]|&quot;))|)"
        r"(?P<secret>(?(text)(?P=text)|[^\s\"'`“,;&)}\]<]{6,4000}))",
        _assigned,
        within=True,
        lines=3,
    ),
    rule(
        "secret",
        "salt hmac jwt cookie dsn pepper signature session_id sessionid _auth key otp",
        rf"(?i)(?<![a-z]){_WEAK_WORD}[\"']?\s{{0,3}}(?::=|=>|[:=])\s{{0,3}}[\"']?(?P<secret>[A-Za-z0-9+/=_.~!@#$%^*-]{{20,4000}})",
        _weakly_assigned,
        lines=2,
    ),
    rule(
        "password",
        "password identified",
        r"(?i)(?:identified by|(?:with|set|encrypted) password|\bpassword)\s{1,3}(?P<quote>['\"])(?P<secret>[^'\"\s]{4,200})['\"]",
        _not_placeholder,
    ),
    rule(
        "password",
        "machine password",
        r"(?i)\bmachine\s{1,3}\S{1,200}\s{1,3}login\s{1,3}\S{1,200}\s{1,3}password\s{1,3}(?P<secret>\S{4,400})",
        _not_placeholder,
    ),
    rule(
        "secret",
        "password passwd pass pwd token api-key apikey secret auth-token access-key client-secret",
        r"--(?:password|passwd|pass|pwd|token|api-key|apikey|secret|auth-token|access-key|secret-key|client-secret)"
        r"[ =]{1,3}[\"']?(?P<secret>[^\s\"'$<-][^\s\"']{5,4000})",
        _mixed,
    ),
    rule(
        "password",
        "curl wget http",
        r"\b(?:curl|wget|http)\b[^\n|;]{0,300}?\s(?:-u|--user)[ =]{0,2}[\"']?[^\s:\"']{1,100}:(?P<secret>(?!//)[^\s\"'$][^\s\"']{2,200})",
        _not_placeholder,
    ),
    rule(
        "password",
        "sshpass mysql redis-cli mysqldump",
        r"\b(?:sshpass\s{1,3}-p|mysql(?:dump)?\b[^\n|;]{0,200}?\s-p|redis-cli\b[^\n|;]{0,200}?\s-a)\s{0,2}[\"']?"
        r"(?P<secret>[^\s\"'$-][^\s\"']{3,200})",
        _not_placeholder,
    ),
    rule(
        "password hash",
        "$1$ $2a$ $2b$ $2y$ $5$ $6$ $y$ $apr1$ $argon2",
        r"\$(?:1|2[aby]|5|6|y|apr1|argon2(?:id|i|d))\$[A-Za-z0-9./$,=+]{20,200}",
    ),
    rule(
        "password",
        "password secret token key",
        r"(?i)(?:password|secret|token|api-?key)\"\s{1,4}value=\"(?P<secret>[^\"\s]{4,400})\"",
        _not_placeholder,
    ),
    rule(
        "kubernetes secret",
        "kind:",
        r"(?is)\bkind:\s{0,3}[\"']?secret\b.{0,400}?\bdata:(?P<secret>(?:\s{1,12}[\w.-]{1,80}:\s{0,3}[\"']?[A-Za-z0-9+/]{6,4000}={0,2}[\"']?){1,50})",
    ),
    rule(
        "key data",
        "client-key-data",
        r"client-key-data:\s{0,3}(?P<secret>[A-Za-z0-9+/=]{40,8000})",
    ),
    rule(
        "login data",
        '"auth"',
        r"\"auth\"\s{0,3}:\s{0,3}\"(?P<secret>[A-Za-z0-9+/]{12,2000}={0,2})\"",
    ),
    *(Rule(kind, triggers, pattern, _issued, starts) for kind, triggers, pattern, starts in formats()),
)
