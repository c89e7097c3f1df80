"""L1: how a rule of redaction is applied: at the places where its matches can begin, found once for all rules.

Invariant: a text is read through a small, fixed number of times; what a rule looks at beyond that are bounded pieces
around its trigger words, so a line of megabytes costs no more for each character than a short one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase, ascii_uppercase, digits

Judge = Callable[[re.Match[str]], bool]
BEFORE, AFTER = 400, 5_000
"""Characters around a trigger in which a match is looked for, where nothing says more exactly where it begins. No
pattern matches more than `AFTER`, but for the keys of several lines."""
_SHORT_VALUE = 200
"""Characters of a value that is no secret, but in which the name of another one may stand."""
_HEAD = re.compile(r"[a-z0-9]{1,3}")
_WORDS_ONLY = bytes(code if chr(code) in ascii_lowercase + digits else 32 for code in range(256))
_COLOURED = re.compile(r"[0-9;\[]m([a-z0-9]{1,3})")
_ESCAPED = re.compile(r"\\(?:[nrtbf]|u00[01][0-9a-f])([a-z0-9]{1,3})")
_ASCII_LOW = str.maketrans(ascii_uppercase, ascii_lowercase)


@cache
def _made(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def always(match: re.Match[str]) -> bool:
    """The judge of a pattern that says enough."""
    return True


def in_low(text: str) -> str:
    """The text in lower case, each character at its own place."""
    low = text.lower()
    return low if len(low) == len(text) else text.translate(_ASCII_LOW)


class Places:
    """Where words stand in a text in lower case; each is looked for once."""

    __slots__ = ("_begun", "_found", "_heads", "low")

    def __init__(self, low: str) -> None:
        self.low = low
        self._heads: Set[str] | None = None
        self._found: dict[str, list[int]] = {}
        self._begun: dict[str, list[int]] = {}

    def heads(self) -> Set[str]:
        """Up to three characters with which words begin, where `redact_formats.EDGE` sees one."""
        if self._heads is None:
            words = self.low.encode("utf-8", "surrogatepass").translate(_WORDS_ONLY).split()
            heads = {word[:3].decode() for word in set(words)}
            if "[" in self.low:
                heads.update(_COLOURED.findall(self.low))
            if "\\" in self.low:
                heads.update(_ESCAPED.findall(self.low))
            self._heads = heads | {head[:2] for head in heads} | {head[:1] for head in heads}
        return self._heads

    def of(self, words: Iterable[str], *, begun: bool = False) -> list[int]:
        """In order; `begun`: where they may begin a word."""
        heads = self.heads() if begun else ()
        found = [
            self._found[word] if word in self._found else self._find(word)
            for word in words
            if not begun or (head := _HEAD.match(word)) is None or head.group() in heads
        ]
        return found[0] if len(found) == 1 else sorted({at for one in found for at in one})

    def _find(self, word: str) -> list[int]:
        low, found = self.low, []
        at = low.find(word)
        while at >= 0:
            found.append(at)
            at = low.find(word, at + 1)
        self._found[word] = found
        return found

    def begun(self, pattern: str) -> list[int]:
        """Where matches of a pattern begin, in order."""
        found = self._begun.get(pattern)
        if found is None:
            found = self._begun[pattern] = [match.start() for match in _made(pattern).finditer(self.low)]
        return found


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret. `triggers` are lower-case words, one of which is in every text that the pattern matches.

    The group `secret` (the whole match where there is none) is replaced if `judge` agrees.
    """

    kind: str
    triggers: tuple[str, ...]
    shape: str
    """The pattern, which is made once a text may hold this kind."""
    judge: Judge = always
    starts: bool = False
    """Every match begins with one of the triggers, and those of letters begin a word."""
    lines: int = 0
    """So many lines from the one in which a trigger stands hold the whole match; 0: any number."""
    begins: str = ""
    """A pattern that finds in lower case every place where a match can begin."""

    def apply(self, text: str, places: Places) -> str:
        """The text with every secret of this kind replaced; the same object where there is none."""
        pieces, done, pattern = [], 0, _made(self.shape)
        group = "secret" if "secret" in pattern.groupindex else 0
        for match in self._matches(pattern, text, places):
            start, end = match.span(group)
            if start >= done:
                pieces += [text[done:start], f"[redacted: {self.kind}]"]
                done = end
        return "".join((*pieces, text[done:])) if pieces else text

    def _matches(self, pattern: re.Pattern[str], text: str, places: Places) -> Iterator[re.Match[str]]:
        if not self.begins and not self.starts:
            for start, end in self._near(places):
                yield from (one for one in pattern.finditer(text, start, end) if self.judge(one))
            return
        at = 0
        for begin in places.begun(self.begins) if self.begins else places.of(self.triggers, begun=True):
            if begin >= at and (match := pattern.match(text, begin)):
                if self.judge(match):
                    yield match
                    at = match.end()
                else:
                    at = _after_refused(match)

    def _near(self, places: Places) -> Iterator[tuple[int, int]]:
        """The pieces around triggers, in order and apart."""
        begun = ended = -1
        for at in places.of(self.triggers):
            start, end = max(0, at - BEFORE), min(len(places.low), at + AFTER)
            if self.lines:
                start, end = self._lines(places.low, at, start, end)
            if start > ended:
                if begun >= 0:
                    yield begun, ended
                begun = start
            ended = max(end, ended)
        if begun >= 0:
            yield begun, ended

    def _lines(self, low: str, at: int, start: int, end: int) -> tuple[int, int]:
        start, stop = max(start, low.rfind("\n", start, at) + 1), at
        for _ in range(self.lines):
            stop = low.find("\n", stop, end) + 1
            if not stop:
                return start, end
        return start, stop


class Index:
    """Which rules may find something in a text."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self._by_head: dict[str, set[int]] = {}
        self._elsewhere: dict[str, set[int]] = {}
        for at, one in enumerate(self._rules):
            for word in one.triggers:
                head = _HEAD.match(word) if one.starts else None
                table = self._elsewhere if head is None else self._by_head
                table.setdefault(word if head is None else head.group(), set()).add(at)
        shortest = [
            word for word in self._elsewhere if not any(w in word for w in self._elsewhere if w != word)
        ]
        self._covered = {one: [word for word in self._elsewhere if one in word] for one in shortest}

    def candidates(self, places: Places) -> list[Rule]:
        """All rules with a trigger in this text, and few more, in order."""
        low = places.low
        held = [word for one, words in self._covered.items() if one in low for word in words if word in low]
        found = {at for word in held for at in self._elsewhere[word]}
        for head in self._by_head.keys() & places.heads():
            found |= self._by_head[head]
        return [self._rules[at] for at in sorted(found)]


def _after_refused(match: re.Match[str]) -> int:
    """Where to look on behind a match that holds no secret."""
    if "secret" not in match.re.groupindex or match.end() - match.start("secret") > _SHORT_VALUE:
        return match.end()
    return match.start("secret")


def rule(
    kind: str,
    triggers: str | tuple[str, ...],
    pattern: str,
    judge: Judge = always,
    *,
    within: bool = False,
    lines: int = 0,
    begins: str = "",
) -> Rule:
    """`within`: its triggers may stand in the middle of a word, as in `DB_PASSWORD`, and matches begin elsewhere."""
    words = tuple(triggers.split()) if isinstance(triggers, str) else triggers
    return Rule(kind, words, pattern, judge, not within, lines, begins)
