"""A redaction rule: the pattern for one kind of secret, with examples that test the pattern.

Invariant: patterns are compiled by RE2, so matching takes time linear in the text.
"""

import math
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Annotated

import re2
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from tui_agent.protocol.secret_names import SECRET_NAME
from tui_agent.store.redaction.candidate import Candidate, CandidatePart
from tui_agent.store.redaction.fragments import expand, rules_table
from tui_agent.store.redaction.match_checks import CHECKS
from tui_agent.store.redaction.shapes import has_shape

MAX_PATTERN = 4_000
"""Maximum length of a pattern before its fragments are expanded, in characters."""
MAX_SKIPPED = 200
"""Maximum length of a rejected value, in bytes, for a rule to search inside the value for another match."""
Keyword = Annotated[str, StringConstraints(pattern=r"^\^?[^A-Z^]{1,40}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=8_000)]
OPTIONS = re2.Options()
OPTIONS.encoding = re2.Options.Encoding.LATIN1
OPTIONS.log_errors = False
OPTIONS.max_mem = 64 << 20


def _known_check(name: str) -> str:
    if name not in CHECKS:
        raise ValueError(f"there is no check {name[:60]!r}; the checks are {', '.join(CHECKS)}")
    return name


def _known_shape(name: str) -> str:
    if name not in rules_table("shapes"):
        raise ValueError(f"no shape in rules/shapes.toml is called {name[:60]!r}")
    return name


class Rule(BaseModel):
    """A redaction rule for one kind of secret.

    - `pattern`: regular expression. The text of its group `secret` (or `secret2`) is redacted; without these groups,
      the whole match.
    - `keywords`: words in lower case. Every text that the pattern matches contains one of them. With a leading `^`, the
      keyword must be at the start of a word.
    - `examples`: texts in which the secret is between `[[` and `]]`. `{{a-z0-9 20}}` is replaced by 20 such characters.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
    what: Annotated[str, StringConstraints(pattern=r"^[^\[\]\n]{1,60}$")]
    pattern: Annotated[str, StringConstraints(min_length=1, max_length=MAX_PATTERN)]
    keywords: Annotated[tuple[Keyword, ...], Field(min_length=1, max_length=60)]
    checks: tuple[Annotated[str, AfterValidator(_known_check)], ...] = ()
    unless: tuple[tuple[CandidatePart, Annotated[str, AfterValidator(_known_shape)]], ...] = ()
    """Conditions under which a match is not a secret, such as `("value", "placeholder")`.

    Each is a pair (part of the match, name of a shape). The shapes are in `rules/shapes.toml`.
    """
    entropy: Annotated[float, Field(ge=0, le=8)] | None = None
    """Minimum entropy of the secret, in bits per character."""
    examples: Annotated[tuple[Text, ...], Field(max_length=50)] = ()
    not_examples: Annotated[tuple[Text, ...], Field(max_length=50)] = ()

    @cached_property
    def _compiled(self) -> "tuple[re2._Regexp[bytes], Mapping[str, int]]":
        pattern = compile_pattern(expand(self.pattern))
        return pattern, {name.decode(): number for name, number in pattern.groupindex.items()}

    def spans(self, raw: bytes) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of each secret in a text, as byte offsets and in order."""
        return ((found.start, found.end) for found, refusal in self.judge_matches(raw) if not refusal)

    def judge_matches(self, raw: bytes) -> Iterator[tuple[Candidate, str]]:
        """Yield each match of the pattern, with the reason why it is not a secret. For a secret, the reason is empty."""
        pattern, groups = self._compiled
        at = 0
        while at <= len(raw) and (match := pattern.search(raw, at)):
            candidate = Candidate(match, groups)
            start, end = candidate.start, candidate.end
            refusal = self._refusal(candidate)
            yield candidate, refusal
            if refusal and end - start <= MAX_SKIPPED and start > match.start():
                end = start
            at = max(end, match.start() + 1)

    def _refusal(self, candidate: Candidate) -> str:
        if not candidate.value:
            return "the secret is empty"
        if not _is_secret_name(candidate):
            return f"{candidate.group('name')!r} is not the name of a secret"
        if self.entropy is not None and (bits := entropy(candidate.value)) < self.entropy:
            return f"the entropy is {bits:.1f}; at least {self.entropy:g} is required"
        for part, shape in self.unless:
            if has_shape(text := candidate.part(part), shape):
                return f"{part} {text[:60]!r} has the shape '{shape}'"
        failed = next((check for check in self.checks if not CHECKS[check](candidate)), None)
        return f"the check '{failed}' rejects {candidate.value[:60]!r}" if failed else ""


@cache
def compile_pattern(pattern: str) -> "re2._Regexp[bytes]":
    """Compile a pattern for bytes. Raise `ValueError` if RE2 refuses the pattern."""
    try:
        return re2.compile(pattern.encode(), OPTIONS)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace")
        missing = "; RE2 has no lookaround and no backreferences" if reason.startswith("invalid") else ""
        raise ValueError(f"RE2 rejects the pattern: {reason}{missing}") from error


def entropy(value: str) -> float:
    """Return the Shannon entropy of a text in bits per character."""
    counts = [value.count(char) for char in set(value)]
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def _is_secret_name(candidate: Candidate) -> bool:
    """Return False if the group `name` matched only a part of a longer word, such as `pass` in `compass`."""
    start, end = candidate.span_of("name")
    if start < 0:
        return True
    lead = candidate.raw[max(0, start - 30) : start].decode("latin-1")
    text = lead + candidate.raw[start : end + 2].decode("latin-1")
    return SECRET_NAME.match(text, len(lead)) is not None
