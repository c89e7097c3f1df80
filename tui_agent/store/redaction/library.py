"""The bundled redaction rules, and the search for rules that can match a text.

Invariant: no file is read before the first text is examined.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import re2

from tui_agent.store.redaction.fragments import expand, read_rules_file, rules_table
from tui_agent.store.redaction.rule import OPTIONS, Rule

_EXAMPLES = re.compile(r"(?m)^(?:not_)?examples = \[\n(?: .*\n)*\]\n")
_COUNTED, _COUNTS = b"token", b'tokens":'
"""The keyword `token`, and a text in which it is ignored. This text is in every event about model usage."""
_MAX_HITS = 100
"""After each series of this many hits, the search leaves out the words that it has already found."""
# Makes the search in the rest of the text faster.


@cache
def bundled_rules(*, with_examples: bool = False) -> tuple[Rule, ...]:
    """Return the bundled rules. Examples are left out by default, because parsing them is slow."""
    texts = [read_rules_file(family) for family in rules_table("fragments")["families"]]
    if not with_examples:
        texts = [_EXAMPLES.sub("", text) for text in texts]
    return tuple(Rule(**entry) for text in texts for entry in tomllib.loads(text)["rules"])


class KeywordIndex:
    """Finds the redaction rules with a keyword that occurs in a text."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        begun: dict[bytes, set[int]] = {}
        within: dict[bytes, set[int]] = {}
        for number, rule in enumerate(self._rules):
            for keyword in rule.keywords:
                words = begun if keyword[0] == "^" else within
                words.setdefault(keyword.removeprefix("^").encode(), set()).add(number)
        self._searches = [_WordSearch(within, ""), _WordSearch(begun, expand("{{edge}}"))]

    def may_match(self, raw: bytes) -> bool:
        """Return True if a rule may match the text. Return False if certainly no rule matches."""
        low = raw.lower()
        if low.count(_COUNTED) > low.count(_COUNTS):
            return True
        return any(search.uncounted.search(raw) for search in self._searches)

    def candidates(self, raw: bytes) -> list[Rule]:
        """Return the rules that can match a text, in order."""
        low = raw.lower()
        numbers = {number for search in self._searches for number in search.rules_of(raw, low)}
        return [self._rules[number] for number in sorted(numbers)]


class _WordSearch:
    """Finds many words in one pass."""

    def __init__(self, words: Mapping[bytes, set[int]], edge: str) -> None:
        self._edge = edge
        self._rules = words
        self._all = frozenset(words)
        self.uncounted = _words_pattern(edge, self._all - {_COUNTED})

    def rules_of(self, raw: bytes, low: bytes) -> set[int]:
        """Return the numbers of the rules whose words occur in `raw`.

        `low`: the same text in lower case.
        """
        found: set[bytes] = set()
        at, hits = 0, 0
        pattern = _words_pattern(self._edge, self._all)
        while match := pattern.search(raw, at):
            start, end = match.span(1)
            at, hits = start + 1, hits + 1
            if low[start:end] not in found:
                found.update(low[start:stop] for stop in range(start + 1, end + 1))
            if hits % _MAX_HITS == 0:  # so that a frequent word does not slow down the search
                pattern = _words_pattern(self._edge, self._all - found)
        return {number for word in self._all & found for number in self._rules[word]}


@lru_cache(maxsize=64)
def _words_pattern(edge: str, words: frozenset[bytes]) -> "re2._Regexp[bytes]":
    """Compile a pattern that finds these words. At each position, the longest word matches."""
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    either = "|".join(re2.escape(word.decode()) for word in longest_first) or r"[^\x00-\xff]"
    return re2.compile(f"(?i){edge}({either})".encode(), OPTIONS)
