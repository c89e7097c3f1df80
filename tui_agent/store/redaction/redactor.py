"""The redactor: finds the secrets in a text and covers them.

Invariant: redaction takes time linear in the text, and changes only secrets.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import accumulate, pairwise

from pydantic import JsonValue

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.secret_names import SECRET_NAME
from tui_agent.store.redaction.library import KeywordIndex, bundled_rules
from tui_agent.store.redaction.rule import Rule, compile_pattern
from tui_agent.store.redaction.shapes import has_shape
from tui_agent.store.redaction.spellings import spellings

MIN_TEXT = 8
"""Minimum length, in characters, of a text that is searched with the rules."""
MAX_REMEMBERED_LENGTH = 200
"""Maximum length of a text in the cache of texts without secrets, in characters."""
MAX_REMEMBERED = 4_096
"""Maximum number of texts in the cache of texts without secrets."""
MIN_SECRET = 8
"""Minimum length of a variable's value, in characters. Shorter values are not redacted."""
# Shorter values are often ordinary words.
_BINARY_HEAD = 8_192
"""Number of bytes at the start of a file to search for a NUL, to detect binary content."""
_LINE_END = r"(?:[ \t]*\\\r?\n|[ \t]+\\{3}(?:r\\)?n)"
"""Matches a backslash and a newline, in plain text or escaped in JSON."""
_CONTINUATION = rf"{_LINE_END}+[ \t]*"
_CONTINUED_LINE = rf"(?:[^\n]*{_LINE_END})+[^\n]*"
_BLANK_OR_QUOTE = re.compile(rb"[\s\"'`]")
"""Matches blanks and quotes, which end a word in a command line."""
_SCRIPT_OPTION = re.compile(rb"-\w*c")
"""Matches a shell's option for a script (`-c`)."""
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


@dataclass(frozen=True, slots=True)
class Hit:
    """A secret in a text: its position, the rule, and its description."""

    start: int
    end: int
    rule: str
    what: str


class Redactor:
    """Replaces secrets in texts by `[redacted: …]`: the matches of rules, and the values of secret variables.

    - `secrets`: maps variable names to values. A value is found in any common encoding.
    - `rules`: additional rules, before the bundled ones.
    - `disabled`: ids of rules to leave out.
    - `allowed`: function that returns True for a secret that is not replaced.
    - `is_secret_file`: function that returns True for the path of a file whose whole content is secret, such as `.env`.
    """

    def __init__(
        self,
        secrets: Mapping[str, str] | None = None,
        *,
        rules: Sequence[Rule] = (),
        disabled: Iterable[str] = (),
        allowed: Callable[[bytes], object] = lambda secret: False,
        is_secret_file: Callable[[str], bool] = lambda path: False,
    ) -> None:
        self.is_secret_file = is_secret_file
        self._index = partial(_index_of, tuple(rules), frozenset(disabled))
        self._allowed = allowed
        self._secrets: list[tuple[bytes, str]] = []
        self._clean: set[str] = set()
        """Cache of short texts without secrets. They recur in many events, such as names of tools and files."""
        self.learn(secrets or {})

    def learn(self, secrets: Mapping[str, str]) -> None:
        """Redact more secrets from now on, such as a new token. Can be called in any thread."""
        spelled = {
            spelling.encode("utf-8", "surrogateescape"): name
            for name, value in secrets.items()
            if len(value.strip()) >= MIN_SECRET
            for spelling in spellings(value.strip())
        }
        known = {**dict(self._secrets), **spelled}
        self._secrets = sorted(known.items(), key=lambda secret: (-len(secret[0]), secret[0]))
        self._clean = set()

    def suspects(self, raw: bytes) -> bool:
        """Return True if UTF-8 text (or JSON) may have a secret and must be examined."""
        return any(value in raw for value, _ in self._secrets) or self._index().may_match(raw)

    def redact_content(self, data: bytes) -> bytes:
        """Return a file's content without secrets. If it has no secrets, return `data` itself.

        In binary content, only the values of variables are found.
        """
        codec = _UTF_16.get(data[:2])
        if codec is None:
            binary = b"\0" in data[:_BINARY_HEAD]
            return replace_hits(data, self.hits(data, only_given=binary))
        try:
            text = data.decode(codec, "surrogatepass")
        except UnicodeDecodeError:
            return replace_hits(data, self.hits(data, only_given=True))
        clean = self.redact_text(text)
        return data if clean is text else clean.encode(codec, "surrogatepass")

    def hidden_values(self, data: bytes) -> dict[int, tuple[bytes, ...]]:
        """Return the secrets of a text file by their line in the redacted content, counted from 0."""
        codec = _UTF_16.get(data[:2])
        raw = data if codec is None else data.decode(codec, "replace").encode("utf-8", "surrogatepass")
        values: defaultdict[int, list[bytes]] = defaultdict(list)
        line = position = 0
        for hit in [] if b"\0" in raw[:_BINARY_HEAD] else self.hits(raw):
            line += raw.count(b"\n", position, hit.start)
            position = hit.end
            values[line].append(raw[hit.start : hit.end])
        return {number: tuple(hidden) for number, hidden in values.items()}

    def redact_text(self, text: str) -> str:
        """Return the text without its secrets, or the same object if it has none."""
        if text in self._clean:
            return text
        raw = text.encode("utf-8", "surrogatepass")
        clean = replace_hits(raw, self.hits(raw, only_given=len(text) < MIN_TEXT))
        if clean is not raw:
            return clean.decode("utf-8", "surrogatepass")
        if len(text) <= MAX_REMEMBERED_LENGTH:
            if len(self._clean) >= MAX_REMEMBERED:
                self._clean.clear()
            self._clean.add(text)
        return text

    def words(self, words: Sequence[str]) -> list[str]:
        """Return a command's words without secrets."""
        # An earlier word often shows that a word is a secret (`curl -u bob:…`), so the words are examined together.
        raw = [word.encode("utf-8", "surrogatepass") for word in words]
        whole = [
            word if _SCRIPT_OPTION.fullmatch(before) else _BLANK_OR_QUOTE.sub(b"!", word)
            for before, word in pairwise((b"", *raw))
        ]
        hits = merge_hits([*self.hits(b" ".join(raw)), *self.hits(b" ".join(whole))])
        starts = accumulate((len(word) + 1 for word in raw), initial=0)
        return [
            replace_hits(word, clip_hits(hits, start, start + len(word))).decode("utf-8", "surrogatepass")
            for start, word in zip(starts, raw, strict=False)
        ]

    def hits(self, raw: bytes, *, only_given: bool = False) -> list[Hit]:
        """Return the secrets in a text in order, with overlapping secrets merged.

        `only_given`: True to search only for values of variables.
        """
        found = list(self._given_hits(raw))
        if not only_given:
            found += [*self._rule_hits(raw), *self._continued_hits(raw)]
        return merge_hits(found)

    def _rule_hits(self, raw: bytes) -> Iterator[Hit]:
        for rule in self._index().candidates(raw):
            for start, end in rule.spans(raw):
                if not self._allowed(raw[start:end]):
                    yield Hit(start, end, rule.id, rule.what)

    def _continued_hits(self, raw: bytes) -> Iterator[Hit]:
        for line, starts, shifts in _joined_lines(raw):
            for hit in self._rule_hits(line):
                first, last = (shifts[bisect_right(starts, at) - 1] for at in (hit.start, hit.end - 1))
                yield replace(hit, start=hit.start + first, end=hit.end + last)

    def json(self, value: "JsonValue") -> "JsonValue":
        """Return a JSON value with every string redacted.

        A string under a key such as `password` is covered as a whole.
        """
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, list):
            return [self.json(item) for item in value]
        if isinstance(value, dict):
            return {self.redact_text(key): self._member(key, item) for key, item in value.items()}
        return value

    def _member(self, key: str, value: "JsonValue") -> "JsonValue":
        if key == "argv" and isinstance(value, list):
            words = [word for word in value if isinstance(word, str)]
            return [*self.words(words)] if len(words) == len(value) else self.json(value)
        if not isinstance(value, str) or len(value) < 4 or not SECRET_NAME.fullmatch(key):
            return self.json(value)
        clean = self.redact_text(value)
        whole = clean is not value and clean.startswith("[redacted: ") and clean.find("]") == len(clean) - 1
        return clean if whole or has_shape(value, "placeholder") else f"[redacted: {key.lower()}]"

    def _given_hits(self, raw: bytes) -> Iterator[Hit]:
        for value, name in self._secrets:
            at = raw.find(value)
            while at >= 0:
                yield Hit(at, at + len(value), name, name)
                at = raw.find(value, at + len(value))


@lru_cache(maxsize=4)
def _index_of(rules: tuple[Rule, ...], disabled: frozenset[str]) -> KeywordIndex:
    """Return the cached keyword index of these rules and the bundled rules, without the rules in `disabled`."""
    return KeywordIndex([rule for rule in (*rules, *bundled_rules()) if rule.id not in disabled])


def _joined_lines(raw: bytes) -> Iterator[tuple[bytes, Sequence[int], Sequence[int]]]:
    """Find commands that continue over several lines with backslashes. Yield each as (joined line, starts, shifts).

    The two lists have one number for each part of the joined line. `starts`: the part's offset in the joined line.
    `shifts`: the number to add to an offset in this part to get the offset in `raw`.
    """
    if b"\\" not in raw:
        return
    for line in compile_pattern(_CONTINUED_LINE).finditer(raw):
        joined, starts, shifts = bytearray(), [0], [line.start()]
        for joint in compile_pattern(_CONTINUATION).finditer(raw, *line.span()):
            joined += raw[starts[-1] + shifts[-1] : joint.start()]
            joined += b" " if b" " in joint.group() or b"\t" in joint.group() else b""
            starts.append(len(joined))
            shifts.append(joint.end() - len(joined))
        joined += raw[starts[-1] + shifts[-1] : line.end()]
        yield bytes(joined), starts, shifts


def merge_hits(hits: list[Hit]) -> list[Hit]:
    """Return the hits in order of position, with overlapping hits merged into one.

    A merged hit has the name of its first hit in the list `hits`.
    """
    merged: list[tuple[int, Hit]] = []
    for order, hit in sorted(enumerate(hits), key=lambda numbered: numbered[1].start):
        if merged and hit.start < merged[-1][1].end:
            last_order, last = merged.pop()
            order, named = min((last_order, last), (order, hit))
            hit = Hit(last.start, max(last.end, hit.end), named.rule, named.what)
        merged.append((order, hit))
    return [hit for _, hit in merged]


def clip_hits(hits: Iterable[Hit], start: int, end: int) -> list[Hit]:
    """Return the hits between the offsets `start` and `end`, cut to this range and relative to `start`."""
    return [
        replace(hit, start=max(hit.start - start, 0), end=min(hit.end, end) - start)
        for hit in hits
        if hit.start < end and hit.end > start
    ]


def replace_hits(raw: bytes, hits: Sequence[Hit]) -> bytes:
    """Return a text with each hit replaced by a mark, or the same object if there are no hits."""
    if not hits:
        return raw
    pieces, done = [], 0
    for hit in hits:
        pieces += [raw[done : hit.start], b"[redacted: ", hit.what.encode(), b"]"]
        done = hit.end
    return b"".join((*pieces, raw[done:]))
