"""What a map says and what its index keeps, without secrets.

Invariant: a text is redacted before it is cut to its length; the redactor is loaded when a text could hold a secret, not
before, since an answer from a fresh index needs none.
"""

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from tui_agent.context.repomap.views import Symbol
from tui_agent.ports.redaction import RedactionOptions

FREE = frozenset("heading section id rule test label block stage target".split())  # noqa: SIM905
"""Kinds whose names are any text."""
_VALUE = re.compile(r"[\"'`=\d](?:(?<=[\"'`])|(?<==) ?\S*\d|(?<=\d)\w*\d\w*\d)")
"""What a signature with a value in it has: without one it names things only. It begins with the signs that one of its
kinds can begin with, which are found far quicker than one kind after the other."""


class _Redacting(Protocol):
    def suspects(self, raw: bytes) -> bool: ...
    def text(self, text: str) -> str: ...
    def content(self, data: bytes) -> bytes: ...


class Cleaner:
    """Redacts by the program's rules and the user's, and by the values of secret variables."""

    def __init__(self, options: RedactionOptions | None = None) -> None:
        self.options = options or RedactionOptions()
        self._values = [
            (value, value.encode("utf-8", "surrogateescape"))
            for value in map(str.strip, self.options.secrets.values())
        ]
        self._made: _Redacting | None = None

    @property
    def _redactor(self) -> _Redacting:
        if self._made is None:
            made: _Redacting = import_module("tui_agent.store.redaction.user_rules").configured_redactor(
                self.options
            )
            self._made = made
        return self._made

    def prepare(self) -> None:
        """Load what redacts, for many files."""
        assert self._redactor

    def shown(self, texts: list[str], kinds: Sequence[str]) -> list[str]:
        """Signatures of these kinds, redacted; each for itself, as in the file others stand between them. The same object
        where there is nothing to redact."""
        whole = bool(self.options.rules) or self._given_in(texts)
        looked = range(len(texts)) if whole else self._looked_at(texts, kinds)
        if not looked or not self._suspects("\n".join([texts[at] for at in looked])):
            return texts
        made = texts.copy()
        for at in looked:
            if self._suspects(made[at]):
                made[at] = self._redactor.text(made[at])
        return made

    def _looked_at(self, texts: Sequence[str], kinds: Sequence[str]) -> Sequence[int]:
        """The places of those that may have a value in them."""
        if _VALUE.search("\n".join(texts)):
            return [
                at
                for at, (text, kind) in enumerate(zip(texts, kinds, strict=True))
                if kind in FREE or _VALUE.search(text)
            ]
        return [] if FREE.isdisjoint(kinds) else [at for at, kind in enumerate(kinds) if kind in FREE]

    def _suspects(self, text: str) -> bool:
        return self._redactor.suspects(text.encode("utf-8", "replace"))

    def symbols(self, symbols: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
        """Symbols of an index that may have been built without these secrets."""
        if not self._values or not self._given_in([text for one in symbols for text in (one[0], *one[4:])]):
            return symbols
        text = self._redactor.text
        return tuple(
            one._replace(name=text(one.name), signature=text(one.signature), parent=text(one.parent))
            for one in symbols
        )

    def _given_in(self, texts: Sequence[str]) -> bool:
        joined = "\n".join(texts) if self._values else ""
        return any(value in joined for value, _ in self._values)

    def body(self, data: bytes) -> bytes:
        """A file of which words are kept: without the given values, and without what the user's rules find; words that a
        generator made are left out of them."""
        if self.options.rules:
            data = self._redactor.content(data)
        for _, value in self._values:
            if value in data:
                data = data.replace(value, b" ")
        return data


PLAIN = Cleaner()
"""Without values that are given."""
