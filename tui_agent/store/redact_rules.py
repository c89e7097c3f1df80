"""L1: what a secret looks like: a first set of well-known formats and of the places where secrets stand.

Invariant: identifiers, hashes, UUIDs, commit ids, checksums of lock files and plain numbers match no rule.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

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
    r"(?:api[_-]?key|apikey|access[_-]?key|secret[_-]?key|private[_-]?key|auth[_-]?key|account[_-]?key"
    r"|secret|token|passwd|password|passphrase|credentials?)"
)
SECRET_KEY = re.compile(rf"(?i)[a-z0-9_.-]{{0,60}}{SECRET_WORD}")
"""A name whose value is a secret."""

_PLACEHOLDER = re.compile(
    r"(?i)[*x•.-]+|<.*|\$.*|%.*|\{.*|\[.*|(?:your|my|some|the|an?|test|example|dummy|fake|changeme|placeholder|todo)"
    r"[-_ ].*|changeme|none|null|true|false|undefined|required|optional|string|redacted.*"
)
_IN_CODE = re.compile(r"[(\[{<>$%*\\]|\.\w+\.|^(?:os|env|self|settings|config|process|request|args)\.")


def is_placeholder(value: str) -> bool:
    """Whether a value only stands where a secret would: `<token>`, `$TOKEN`, `your-key-here`, `****`."""
    return _PLACEHOLDER.fullmatch(value.strip()) is not None


def _assigned(match: re.Match[str]) -> bool:
    value = match["secret"]
    if is_placeholder(value) or value.isdigit():
        return False
    if match["quote"]:
        return not _IN_CODE.search(value)
    if _IN_CODE.search(value):
        return False
    digits = any(char.isdigit() for char in value)
    shouted = match["word"].isupper()
    return (shouted and not value.isidentifier()) or (digits and (shouted or len(value) >= 12))


def _not_placeholder(match: re.Match[str]) -> bool:
    return not is_placeholder(match["secret"])


def _mixed(match: re.Match[str]) -> bool:
    """Letters and digits both: words joined by hyphens are no key."""
    value = match.groupdict().get("secret") or match.group()
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)


def _rule(kind: str, triggers: str, pattern: str, judge: Judge = _always) -> Rule:
    return Rule(kind, tuple(triggers.split()), re.compile(pattern), judge)


_EDGE, _STOP = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"

RULES: tuple[Rule, ...] = (
    _rule(
        "private key",
        "-----begin",
        r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[A-Za-z0-9+/=\s\\:,.]|-(?!-{4})){40,}(?:-----END[ A-Z0-9]{0,50}-----)?",
    ),
    _rule("aws key id", "akia asia abia acca", rf"{_EDGE}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_STOP}"),
    _rule("github token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_EDGE}gh[pousr]_[A-Za-z0-9]{{30,255}}"),
    _rule("github token", "github_pat_", rf"{_EDGE}github_pat_[A-Za-z0-9_]{{22,255}}"),
    _rule(
        "gitlab token",
        "glpat- gldt- glrt- glptt- glcbt- gloas- glft-",
        rf"{_EDGE}gl(?:pat|dt|rt|ptt|cbt|oas|ft)-[A-Za-z0-9_.-]{{18,200}}",
    ),
    _rule("slack token", "xox xapp-", rf"{_EDGE}(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{{10,250}}"),
    _rule(
        "webhook address",
        "hooks.slack.com discord.com/api/webhooks discordapp.com/api/webhooks",
        r"(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)/(?P<secret>[A-Za-z0-9_/-]{16,200})",
    ),
    _rule("anthropic key", "sk-ant-", rf"{_EDGE}sk-ant-[A-Za-z0-9_-]{{16,250}}"),
    _rule("openai key", "sk-", rf"{_EDGE}sk-(?:[a-z0-9]{{2,12}}-)?[A-Za-z0-9_-]{{20,250}}", _mixed),
    _rule(
        "stripe key", "sk_ rk_ whsec_", rf"{_EDGE}(?:(?:sk|rk)_(?:live|test)_|whsec_)[A-Za-z0-9+/=]{{16,250}}"
    ),
    _rule("google key", "aiza", rf"{_EDGE}AIza[A-Za-z0-9_-]{{35}}"),
    _rule("google token", "ya29. gocspx-", rf"{_EDGE}(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{{20,500}}"),
    _rule("npm token", "npm_", rf"{_EDGE}npm_[A-Za-z0-9]{{30,60}}{_STOP}"),
    _rule("pypi token", "pypi-", rf"{_EDGE}pypi-[A-Za-z0-9_-]{{40,500}}"),
    _rule("hugging face token", "hf_", rf"{_EDGE}hf_[A-Za-z0-9]{{30,60}}"),
    _rule("sendgrid key", "sg.", rf"{_EDGE}SG\.[A-Za-z0-9_-]{{16,64}}\.[A-Za-z0-9_-]{{16,64}}"),
    _rule("telegram token", ":aa", rf"{_EDGE}[0-9]{{8,10}}:AA[A-Za-z0-9_-]{{32,34}}"),
    _rule(
        "json web token",
        "eyj",
        rf"{_EDGE}eyJ[A-Za-z0-9_-]{{10,2000}}\.eyJ[A-Za-z0-9_-]{{10,4000}}(?:\.[A-Za-z0-9_-]{{10,2000}})?",
    ),
    _rule(
        "authorization",
        "authorization",
        r"(?i)authorization[\"']{0,2}\s{0,3}[:=]\s{0,3}[\"']{0,2}(?:(?:bearer|basic|token|digest)\s{1,3})?"
        r"(?P<secret>[^\s\"',;]{8,4000})",
        _not_placeholder,
    ),
    _rule("bearer token", "bearer", r"(?i)bearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,4000})", _mixed),
    _rule(
        "password",
        "://",
        r"://[^\s/:@\"']{0,100}:(?P<secret>[^\s/@\"']{3,200})@",
        _not_placeholder,
    ),
    _rule(
        "secret",
        "key secret token passw credential passphrase",
        rf"(?i)(?P<word>{SECRET_WORD}[A-Za-z0-9_]{{0,20}})\\?[\"']?\s{{0,3}}(?::=|=>|[:=])\s{{0,3}}"
        r"(?P<quote>\\?[\"']?)(?P<secret>[^\s\"'`,;&)}\]]{8,4000})",
        _assigned,
    ),
    _rule(
        "secret",
        "--password --token --api-key --secret",
        r"--(?:password|token|api-key|secret)[ =]{1,3}[\"']?(?P<secret>[^\s\"'-][^\s\"']{5,4000})",
        _mixed,
    ),
)
