"""L1: redaction of secrets, before anything is written.

Invariant: linear in the text (no pattern backtracks over what another one of its repeats could match), and cheap
where there is nothing: each rule's pattern runs only on a text that holds one of its trigger words.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, cast
from urllib.parse import quote, quote_plus

from tui_agent.secret_words import SECRET_KEY
from tui_agent.store.redaction.code import CODE
from tui_agent.store.redaction.commands import COMMANDS
from tui_agent.store.redaction.logins import LOGINS
from tui_agent.store.redaction.rule import Index, Places, Rule, in_low, spliced
from tui_agent.store.redaction.rules import ISSUED, RULES
from tui_agent.store.redaction.texts import KEYS, TEXTS
from tui_agent.store.redaction.values import is_placeholder

if TYPE_CHECKING:
    from pydantic import JsonValue

LEAST = 8
"""Characters of the shortest text in which a secret is looked for by its shape."""
REPEATED = 200
"""Characters of a text up to which it is remembered that it holds no secret."""
REMEMBERED = 4_096
"""So many of them."""
MIN_SECRET = 8
"""Characters from which on the value of a secret variable is looked for: shorter ones are words."""


_EDGES = (rb"(?<![a-z0-9]", rb"(?<=\\[nrtbf]", rb"(?<=[0-9;\[]m", rb"(?<=\\u00[01][0-9a-f]")
"""Where a word begins in JSON text: behind an escaped line break or a colour of the terminal too. Open, since the word's
first letter stands in it: a pattern that begins with letters is found far quicker than one that looks back first."""
_MARK = re.compile(r"\[redacted: [^\[\]]{1,80}\]")
_BINARY_HEAD = 8_192
"""Bytes in which a NUL says that a content is no text."""
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class Redactor:
    """Replaces what looks like a secret, and the given secrets, by `[redacted: kind]`.

    `rules` None means the built-in set. `secrets` maps names of variables to their values; a value is found wherever
    it stands, and its name tells in the text what stood there; `given` are the same.
    """

    def __init__(self, rules: Sequence[Rule] | None = None, secrets: Mapping[str, str] | None = None) -> None:
        self._rules = (
            (*KEYS, *ISSUED, *TEXTS, *RULES, *LOGINS, *COMMANDS, *CODE) if rules is None else tuple(rules)
        )
        self.given = dict(secrets or {})
        named = [(value.strip(), name) for name, value in self.given.items()]
        spelled = {
            spelling: name
            for value, name in named
            if len(value) >= MIN_SECRET
            for spelling in spellings(value)
        }
        self._secrets = tuple(sorted(spelled.items(), key=_longest_first))
        sieve = _sieve(self._rules)
        given = set(self._given_bytes())
        self._triggers = tuple(sorted(_shortest(sieve.words | given) if given else sieve.words))
        self._starts = sieve.starts
        self._index = sieve.index
        self._clean: set[str] = set()
        """Short texts in which nothing was found. They stay so as long as this object lives, for its rules and secrets
        do not change. The names of tools, models and files stand in every event; no secret is kept here."""

    def _given_bytes(self) -> Iterator[bytes]:
        for value, _ in self._secrets:
            yield value.encode("utf-8", "surrogateescape").lower()
            yield json.dumps(value, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape").lower()

    def suspects(self, raw: bytes) -> bool:
        """Whether JSON or other text in UTF-8 may hold a secret: False is certain, True only asks for a closer look."""
        low = raw.lower()
        for word in self._triggers:  # a plain loop: this runs for every event
            if word in low and (word != b"token" or low.count(b"token") > low.count(b'tokens":')):
                return True
        return self._starts is not None and self._starts.search(low) is not None

    def content(self, data: bytes) -> bytes:
        """What a file holds, without its secrets; the same object where there is none.

        In what is no text only the given secrets are looked for.
        """
        codec = _UTF_16.get(data[:2])
        if codec is None and b"\0" in data[:_BINARY_HEAD]:
            return self._without_given(data)
        if codec is None and not self.suspects(data):
            return data
        codec = codec or "utf-8"
        errors = "surrogateescape" if codec == "utf-8" else "surrogatepass"
        try:
            text = data.decode(codec, errors)
        except UnicodeDecodeError:
            return self._without_given(data)
        made = self.text(text)
        return data if made is text or made == text else made.encode(codec, errors)

    def _without_given(self, data: bytes) -> bytes:
        for value, name in self._secrets:
            raw = value.encode("utf-8", "surrogateescape")
            if raw in data:
                data = data.replace(raw, f"[redacted: {name}]".encode())
        return data

    def text(self, text: str) -> str:
        """The text without its secrets; the same object where there is none."""
        if len(text) > REPEATED:
            return self._without(text)
        if text in self._clean:
            return text
        made = self._without(text)
        if made is text:
            if len(self._clean) >= REMEMBERED:
                self._clean.clear()
            self._clean.add(text)
        return made

    def _without(self, text: str) -> str:
        for value, name in self._secrets:
            if value in text:
                text = text.replace(value, f"[redacted: {name}]")
        if len(text) < LEAST:
            return text
        places = Places(in_low(text))
        for rule in self._index.candidates(places):
            if spans := rule.spans(text, places):
                mark = f"[redacted: {rule.kind}]"
                text = spliced(text, spans, mark)
                places.replaced(spans, mark)
        return text

    def json(self, value: "JsonValue") -> "JsonValue":
        """A JSON value with every string redacted; a string under a key like `password` goes whole."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.json(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self._member(key, item) for key, item in value.items()}
        return value

    def _member(self, key: str, value: "JsonValue") -> "JsonValue":
        if isinstance(value, str) and len(value) >= 4 and SECRET_KEY.fullmatch(key):
            made = self.text(value)
            return made if is_placeholder(value) or _MARK.fullmatch(made) else f"[redacted: {key.lower()}]"
        return self.json(value)


@dataclass(frozen=True)
class _Sieve:
    """What tells of a set of rules whether one of them may find something."""

    words: frozenset[bytes]
    """Triggers that may stand anywhere, without those in which another one stands."""
    starts: re.Pattern[bytes] | None
    """Triggers with which every match begins."""
    index: Index


@lru_cache(maxsize=4)
def _sieve(rules: tuple[Rule, ...]) -> _Sieve:
    """Made once for the rules of a process: it takes several milliseconds."""
    anywhere = {
        word.encode() for rule in rules for word in rule.triggers if not rule.starts and word[0].isalnum()
    }
    triggers = {(word, rule.starts) for rule in rules for word in rule.triggers}
    begun = {word.encode() for word, starts in triggers if starts and word[0].isalnum()}
    signed = {word.encode() for word, _ in triggers if not word[0].isalnum()}
    starts = re.compile(_any_of(begun | signed, begun)) if begun | signed else None
    return _Sieve(frozenset(_shortest(anywhere)), starts, Index(rules))


def spellings(value: str) -> Iterator[str]:
    """The ways in which programs write the value of a variable: as it is, in addresses, in base64 at every offset, in
    hexadecimal digits."""
    raw = value.encode("utf-8", "surrogateescape")
    yield value
    yield quote(raw, safe="")
    yield quote(raw)
    yield quote_plus(raw)
    yield raw.hex()
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + raw).decode()
        begin = (0, 2, 3)[offset]  # what the bytes before it share with it is not its own
        end = len(coded.rstrip("=")) - (1 if (offset + len(raw)) % 3 else 0)
        for alphabet in (None, str.maketrans("+/", "-_")):
            yield coded[begin:end] if alphabet is None else coded[begin:end].translate(alphabet)


def _shortest(words: Set[bytes]) -> Iterable[bytes]:
    """Without those in which another one of them stands."""
    return (word for word in words if not any(other in word for other in words if other != word))


def _any_of(words: Iterable[bytes], begun: set[bytes]) -> bytes:
    """A pattern that finds any of these words, those of `begun` where a word begins; common beginnings are read once,
    which is far quicker than one word after the other. Words of both kinds begin with different characters."""
    root: dict[bytes, dict[bytes, object]] = {}
    for word in words:
        node = root
        for at in range(len(word)):
            node = cast("dict[bytes, dict[bytes, object]]", node.setdefault(word[at : at + 1], {}))
        node[b""] = {}
    edged = {word[:1] for word in begun}
    return b"|".join(
        re.escape(char) + (_edge(char) if char in edged else b"") + _group(_pattern(_below(root, char)))
        for char in sorted(root)
    )


def _below(node: Mapping[bytes, object], char: bytes) -> Mapping[bytes, object]:
    return cast("Mapping[bytes, object]", node[char])


def _group(pattern: bytes) -> bytes:
    return b"(?:" + pattern + b")" if b"|" in pattern else pattern


def _edge(char: bytes) -> bytes:
    return b"(?:" + b"|".join(look + re.escape(char) + b")" for look in _EDGES) + b")"


def _pattern(node: Mapping[bytes, object]) -> bytes:
    if b"" in node:
        return b""
    ways = [re.escape(char) + _pattern(_below(node, char)) for char in sorted(node)]
    return ways[0] if len(ways) == 1 else b"(?:" + b"|".join(ways) + b")"


def _longest_first(secret: tuple[str, str]) -> tuple[int, str]:
    return -len(secret[0]), secret[0]
