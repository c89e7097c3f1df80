"""L1: one rule of redaction: which texts are a secret, and the examples that prove it.

Invariant: a pattern is compiled by RE2, whose running time is linear in the text, so no rule can backtrack without end.
"""

import math
import random
import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Annotated

import re2
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator

from tui_agent.secret_words import SECRET_WORD
from tui_agent.store.redaction.candidate import Candidate
from tui_agent.store.redaction.checks import CHECKS
from tui_agent.store.redaction.fragments import expand

MAX_PATTERN = 4_000
"""Characters of a pattern before its fragments are filled in."""
MAX_SKIPPED = 200
"""Characters of a refused value in which the name of another secret may stand."""
Keyword = Annotated[str, StringConstraints(pattern=r"^\^?[^A-Z^]{1,40}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=8_000)]
_GENERATED = re.compile(r"\{\{(\S+) (\d{1,4})\}\}")
_SECRET_NAME = re.compile(rf"(?i){SECRET_WORD}")
OPTIONS = re2.Options()
OPTIONS.encoding = re2.Options.Encoding.LATIN1
OPTIONS.log_errors = False
OPTIONS.max_mem = 64 << 20


def _known_check(name: str) -> str:
    if name not in CHECKS:
        raise ValueError(f"the checks are {', '.join(CHECKS)}")
    return name


class Rule(BaseModel):
    """One kind of secret. A pattern's group `secret` (or `secret2`, or the whole match) is what is covered.

    `keywords` are in lower case; one of them is in every text that the pattern matches; after `^` it begins a word.
    In `examples` the secret stands between `[[` and `]]`; `{{a-z0-9 20}}` is replaced by 20 such characters.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
    what: Annotated[str, StringConstraints(pattern=r"^[^\[\]\n]{1,60}$")]
    pattern: Annotated[str, StringConstraints(min_length=1, max_length=MAX_PATTERN)]
    keywords: Annotated[tuple[Keyword, ...], Field(min_length=1, max_length=60)]
    checks: tuple[Annotated[str, AfterValidator(_known_check)], ...] = ()
    entropy: Annotated[float, Field(ge=0, le=8)] | None = None
    """Bits per character that the secret must have at least."""
    examples: Annotated[tuple[Text, ...], Field(max_length=50)] = ()
    not_examples: Annotated[tuple[Text, ...], Field(max_length=50)] = ()

    @field_validator("pattern")
    @classmethod
    def _check_fragments(cls, pattern: str) -> str:
        expand(pattern)
        return pattern

    @cached_property
    def _compiled(self) -> "tuple[re2._Regexp[bytes], Mapping[str, int]]":
        pattern = compile_pattern(expand(self.pattern))
        return pattern, {name.decode(): number for name, number in pattern.groupindex.items()}

    def spans(self, raw: bytes) -> Iterator[tuple[int, int]]:
        """Yield the bytes of each secret, in order."""
        pattern, groups = self._compiled
        at = 0
        while at <= len(raw) and (match := pattern.search(raw, at)):
            candidate = Candidate(raw, match.span, groups)
            start, end = candidate.start, candidate.end
            if self._accepts(candidate):
                yield start, end
            elif end - start <= MAX_SKIPPED and start > match.start():
                end = start
            at = max(end, match.start() + 1)

    def _accepts(self, candidate: Candidate) -> bool:
        if candidate.has_group("name") and not _is_secret_name(candidate):
            return False
        if self.entropy is not None and entropy(candidate.value) < self.entropy:
            return False
        return all(CHECKS[check](candidate) for check in self.checks)

    def failed_example(self) -> str | None:
        """Return the first example that the rule gets wrong, or None."""
        for example in self.examples:
            text = example_text(example, self.id)
            raw = text.replace("[[", "").replace("]]", "").encode()
            if _marked(raw, list(self.spans(raw))) != text.encode():
                return example
        for example in self.not_examples:
            raw = example_text(example, self.id).encode()
            if next(self.spans(raw), None) is not None:
                return example
        return None


@cache
def compile_pattern(pattern: str) -> "re2._Regexp[bytes]":
    """Compile a pattern for bytes. Raises `ValueError` with RE2's reason."""
    try:
        return re2.compile(pattern.encode(), OPTIONS)
    except re2.error as error:
        reason = error.args[0]
        raise ValueError(f"RE2 refuses the pattern: {reason.decode('utf-8', 'replace')}") from error


def entropy(value: str) -> float:
    """Return Shannon's entropy of a text in bits per character."""
    counts = [value.count(char) for char in set(value)]
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def example_text(example: str, seed: str) -> str:
    """Replace each `{{a-z0-9 20}}` by characters drawn from `seed`, from each range and sign of the class in turn."""
    source = random.Random(seed)

    def draw(match: re.Match[str]) -> str:
        ranges = re.findall(r"(.)(?:-(.))?", match[1])
        bounds = [(ord(first), ord(last or first)) for first, last in ranges]
        return "".join(chr(source.randint(*bounds[at % len(bounds)])) for at in range(int(match[2])))

    return _GENERATED.sub(draw, example)


def _marked(raw: bytes, spans: list[tuple[int, int]]) -> bytes:
    """Return a text with each span between `[[` and `]]`, as in an example."""
    for start, end in reversed(spans):
        raw = b"%b[[%b]]%b" % (raw[:start], raw[start:end], raw[end:])
    return raw


def _is_secret_name(candidate: Candidate) -> bool:
    """Return True if the group `name` is the name of a secret where it stands: `pass` is one, in `compass` it is none."""
    start, end = candidate.span_of("name")
    lead = candidate.raw[max(0, start - 30) : start].decode("latin-1")
    text = lead + candidate.raw[start : end + 2].decode("latin-1")
    return _SECRET_NAME.match(text, len(lead)) is not None
