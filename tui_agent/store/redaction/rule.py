"""L1: how a rule of redaction is applied: at the places where its matches can begin, found once for all rules.

Invariant: a text is read through a small, fixed number of times; what a rule looks at beyond that are bounded pieces
around its trigger words, so a line of megabytes costs no more for each character than a short one.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
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
_COLOURED = re.compile(r"m(?<=[0-9;\[]m)([a-z0-9]{1,3})")
_ESCAPED = re.compile(r"\\(?:[nrtbf]|u00[01][0-9a-f])([a-z0-9]{1,3})")
_LONG_TEXT = 100_000
"""Characters from which on only ASCII letters are made small: of others no rule speaks, and it is far quicker."""
_ASCII_LOW = str.maketrans(ascii_uppercase, ascii_lowercase)


@cache
def _made(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def always(match: re.Match[str]) -> bool:
    """The judge of a pattern that says enough."""
    return True


def in_low(text: str) -> str:
    """The text in lower case, each character at its own place."""
    if (
        len(text) > _LONG_TEXT and not text.isascii() and "\u212a" not in text
    ):  # a sign that is a k in lower case
        return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
    low = text.lower()
    return low if len(low) == len(text) else text.translate(_ASCII_LOW)


class Places:
    """Where words stand in a text in lower case; each is looked for once, also where pieces of the text are replaced."""

    __slots__ = (
        "_begun",
        "_changes",
        "_edged",
        "_found",
        "_heads",
        "_held",
        "_known",
        "_runs",
        "_words",
        "low",
    )

    def __init__(self, low: str) -> None:
        self.low = low
        self._heads: Set[str] | None = None
        self._edged: Set[str] = frozenset()
        self._runs: Set[bytes] = frozenset()
        self._words = ""
        """Each of the runs once, in a long text: what stands in none of them does not stand in the text."""
        self._found: dict[str, tuple[int, list[int]]] = {}
        self._begun: dict[str, tuple[int, list[int]]] = {}
        self._changes: list[Change] = []
        self._known: Set[str] = frozenset()
        """Words that were looked for before anything was replaced, and those of them that stood in the text."""
        self._held: Set[str] = frozenset()

    def replaced(self, spans: Sequence[tuple[int, int]], mark: str) -> None:
        """Put a mark in the place of pieces, which are apart and in order."""
        mark = in_low(mark)
        self.low = spliced(self.low, spans, mark)
        self._changes.append(Change(tuple(spans), mark))
        if self._heads is not None:
            runs = _runs_of(mark)
            self._runs |= runs
            self._words += _joined(runs) if self._words else ""
            self._heads |= _heads_of(runs)

    def heads(self) -> Set[str]:
        """Up to three characters with which words begin, where `formats.EDGE` sees one."""
        if self._heads is None:
            self._runs = _runs_of(self.low)
            self._words = _joined(self._runs) if len(self.low) > _LONG_TEXT else ""
            edged: set[str] = set()
            if "[" in self.low:
                edged.update(_COLOURED.findall(self.low))
            if "\\" in self.low:
                edged.update(_ESCAPED.findall(self.low))
            self._edged = _shorter(edged)
            self._heads = _heads_of(self._runs) | self._edged
        return self._heads

    def may_begin(self, word: str) -> bool:
        """Whether a word of the text may begin so; letters and digits in front of a sign are a word of their own."""
        heads, head, lead = self.heads(), _HEAD.match(word), _LEAD.match(word)
        if head is None or lead is None:
            return True
        if head.group() not in heads:
            return False
        if head.group() in self._edged:
            return True
        if lead.end() < len(word):
            return lead.group().encode() in self._runs
        return not self._words or f"\n{word}" in self._words

    def holds(self, word: str) -> bool:
        """Whether it stands in the text."""
        self.heads()
        if self._words and not all(piece in self._words for piece in _LEAD.findall(word)):
            return False
        return word in self.low

    def held(self, words: Set[str], covered: Mapping[str, Sequence[str]]) -> Set[str]:
        """Those of `words` that stand in the text; to be asked before anything is replaced.

        `covered` has the words by the shortest one that stands in each: what is not there is not looked for again.
        """
        self.heads()
        low = self.low
        self._known = words
        self._held = (
            {
                word
                for one, longer in covered.items()
                if self.holds(one)
                for word in longer
                if self.holds(word)
            }
            if self._words
            else {word for one, longer in covered.items() if one in low for word in longer if word in low}
        )
        return self._held

    def of(self, words: Iterable[str], *, begun: bool = False) -> list[int]:
        """In order; `begun`: where they may begin a word."""
        found = [self._all(word) for word in words if not begun or self.may_begin(word)]
        return found[0] if len(found) == 1 else sorted({at for one in found for at in one})

    def _all(self, word: str) -> list[int]:
        absent = word in self._known and word not in self._held
        since, found = self._found.get(word, (0 if absent else -1, []))
        changes = self._changes[since:] if since >= 0 else ()
        if since < 0 or any(one.makes(word) for one in changes):
            found = self._find(word)
        else:
            for one in changes:
                found = one.moved(found, len(word))
        self._found[word] = (len(self._changes), found)
        return found

    def _find(self, word: str) -> list[int]:
        low, found = self.low, []
        at = low.find(word)
        while at >= 0:
            found.append(at)
            at = low.find(word, at + 1)
        return found

    def begun(self, pattern: str) -> list[int]:
        """Where matches of a pattern begin, in order."""
        since, found = self._begun.get(pattern, (-1, []))
        changes = self._changes[since:] if since >= 0 else ()
        made = _made(pattern)
        if since < 0 or len(changes) > 1:
            found = [match.start() for match in made.finditer(self.low)]
        elif changes:
            found = changes[0].moved(found, _AROUND, _AROUND)
            near = changes[0].around(len(self.low))
            found += [one.start() for start, end in near for one in made.finditer(self.low, start, end)]
            found = sorted(set(found))
        self._begun[pattern] = (len(self._changes), found)
        return found


_AROUND = 64
"""Characters on each side of a mark in which words are looked for anew: more than any of them has."""
_LEAD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Change:
    """Pieces of a text that a mark took the place of."""

    spans: tuple[tuple[int, int], ...]
    mark: str

    def makes(self, word: str) -> bool:
        """Whether the word may stand in or at the mark."""
        return word in self.mark or "[" in word or "]" in word

    def moved(self, found: Sequence[int], before: int, behind: int = 0) -> list[int]:
        """Where words stand now that stood there and are whole: not within a piece, nor so near to one."""
        kept: list[int] = []
        at = shift = 0
        for start, end in self.spans:
            until = bisect_right(found, start - before, at)
            kept += [one + shift for one in found[at:until]] if shift else found[at:until]
            at = bisect_left(found, end + behind, until)
            shift += len(self.mark) - (end - start)
        kept += [one + shift for one in found[at:]]
        return kept

    def around(self, length: int) -> Iterator[tuple[int, int]]:
        """The pieces of the new text that `moved` left out, and what may follow them."""
        shift = 0
        for start, end in self.spans:
            begin = start + shift
            yield max(0, begin - 2 * _AROUND), min(length, begin + len(self.mark) + 2 * _AROUND)
            shift += len(self.mark) - (end - start)


def spliced(text: str, spans: Iterable[tuple[int, int]], mark: str) -> str:
    """The text with a mark in the place of pieces that are apart and in order."""
    pieces, done = [], 0
    for start, end in spans:
        pieces += [text[done:start], mark]
        done = end
    return "".join((*pieces, text[done:]))


def _runs_of(low: str) -> Set[bytes]:
    """All words of letters and digits."""
    return set(low.encode("utf-8", "surrogatepass").translate(_WORDS_ONLY).split())


def _joined(runs: Iterable[bytes]) -> str:
    return "\n" + b"\n".join(runs).decode() + "\n"


def _heads_of(runs: Iterable[bytes]) -> Set[str]:
    return _shorter({run[:3].decode() for run in runs})


def _shorter(heads: Set[str]) -> Set[str]:
    """Up to three characters, two and one."""
    return heads | {head[:2] for head in heads} | {head[:1] for head in heads}


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

    def spans(self, text: str, places: Places) -> list[tuple[int, int]]:
        """Where secrets of this kind stand, in order and apart."""
        found, done, pattern = [], 0, _made(self.shape)
        group = "secret" if "secret" in pattern.groupindex else 0
        for match in self._matches(pattern, text, places):
            start, end = match.span(group)
            if start >= done:
                found.append((start, end))
                done = end
        return found

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
        self._by_head: dict[str, set[tuple[str, int]]] = {}
        self._elsewhere: dict[str, set[int]] = {}
        for at, one in enumerate(self._rules):
            for word in one.triggers:
                head = _HEAD.match(word) if one.starts else None
                if head is None:
                    self._elsewhere.setdefault(word, set()).add(at)
                else:
                    self._by_head.setdefault(head.group(), set()).add((word, at))
        shortest = [
            word for word in self._elsewhere if not any(w in word for w in self._elsewhere if w != word)
        ]
        self._covered = {one: [word for word in self._elsewhere if one in word] for one in shortest}

    def candidates(self, places: Places) -> list[Rule]:
        """All rules with a trigger in this text, and few more, in order."""
        held = places.held(self._elsewhere.keys(), self._covered)
        found = {at for word in held for at in self._elsewhere[word]}
        for head in self._by_head.keys() & places.heads():
            found |= {at for word, at in self._by_head[head] if places.may_begin(word)}
        return [self._rules[at] for at in sorted(found)]


def _after_refused(match: re.Match[str]) -> int:
    """Where to look on behind a match that holds no secret."""
    if "secret" not in match.re.groupindex or match.end() - match.start("secret") > _SHORT_VALUE:
        return match.end()
    return match.start("secret")


EDGE = r"(?:(?<![A-Za-z0-9])|(?<=[0-9;\[]m)|(?<=\\[nrtbf])|(?<=\\u00[01][0-9A-Fa-f]))"
"""Where a word begins: not within another one, but right behind a colour of the terminal or an escaped line break."""
_BEGINS = re.compile(r"^(?P<flags>(?:\(\?[ims]{1,3}\))?)\\b")
"""A pattern that begins where a word does: that is said with `EDGE`, since `\b` sees none behind an escape."""


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
    pattern = _BEGINS.sub(lambda match: match["flags"] + EDGE, pattern)
    return Rule(kind, words, pattern, judge, not within, lines, begins)
