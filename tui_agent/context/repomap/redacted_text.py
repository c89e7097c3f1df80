"""Redaction of all text in a repository map and in its index.

Invariant: a text is redacted before it is cut.
"""

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from tui_agent.context.repomap.map_results import Symbol
from tui_agent.ports.redaction import RedactionOptions

FREE_TEXT_KINDS = frozenset("heading section id rule test label block stage target".split())  # noqa: SIM905
"""Kinds of symbols that can have any text as their name, such as headings."""
_VALUE = re.compile(r"[\"'`=\d](?:(?<=[\"'`])|(?<==) ?[^\s=]*\d|(?<=\d)\w*\d\w*\d)")
"""Matches a signature that contains a value, and so possibly a secret."""


class _RedactorLike(Protocol):
    def suspects(self, raw: bytes) -> bool: ...
    def redact_text(self, text: str) -> str: ...
    def redact_content(self, data: bytes) -> bytes: ...


class Cleaner:
    """Redacts texts by the program's rules, by the user's rules, and by the values of secret variables."""

    def __init__(self, options: RedactionOptions | None = None) -> None:
        self.options = options or RedactionOptions()
        self._values = [
            (value, value.encode("utf-8", "surrogateescape"))
            for value in map(str.strip, self.options.secrets.values())
        ]
        self._loaded: _RedactorLike | None = None

    @property
    def _redactor(self) -> _RedactorLike:
        if self._loaded is None:
            redactor: _RedactorLike = import_module(
                "tui_agent.store.redaction.user_rules"
            ).configured_redactor(self.options)
            self._loaded = redactor
        return self._loaded

    def prepare(self) -> None:
        """Load the redactor in advance, before many files are read."""
        assert self._redactor

    def redact_signatures(self, texts: list[str], kinds: Sequence[str]) -> list[str]:
        """Return the redacted signatures. If nothing was redacted, return `texts` itself.

        `kinds`: the kinds of the symbols.
        """
        check_all = bool(self.options.rules) or self._contains_secret(texts)
        indexes = range(len(texts)) if check_all else self._value_indexes(texts, kinds)
        if not indexes or not self._suspects("\n".join([texts[index] for index in indexes])):
            return texts
        redacted = texts.copy()
        for index in indexes:
            if self._suspects(redacted[index]):
                redacted[index] = self._redactor.redact_text(redacted[index])
        return redacted

    def _value_indexes(self, texts: Sequence[str], kinds: Sequence[str]) -> Sequence[int]:
        """Return the indexes of texts that can contain a value, such as a default argument. Values can be secret."""
        if _VALUE.search("\n".join(texts)):
            return [
                index
                for index, (text, kind) in enumerate(zip(texts, kinds, strict=True))
                if kind in FREE_TEXT_KINDS or _VALUE.search(text)
            ]
        return (
            []
            if FREE_TEXT_KINDS.isdisjoint(kinds)
            else [index for index, kind in enumerate(kinds) if kind in FREE_TEXT_KINDS]
        )

    def _suspects(self, text: str) -> bool:
        return self._redactor.suspects(text.encode("utf-8", "replace"))

    def symbols(self, symbols: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
        """Redact the values of secrets that became known after the index was built."""
        if not self._values or not self._contains_secret(
            [text for symbol in symbols for text in (symbol[0], *symbol[4:])]
        ):
            return symbols
        text = self._redactor.redact_text
        return tuple(
            symbol._replace(
                name=text(symbol.name), signature=text(symbol.signature), parent=text(symbol.parent)
            )
            for symbol in symbols
        )

    def _contains_secret(self, texts: Sequence[str]) -> bool:
        joined = "\n".join(texts) if self._values else ""
        return any(value in joined for value, _ in self._values)

    def redact_body(self, data: bytes) -> bytes:
        """Redact secrets in a file's bytes before its words are indexed."""
        if self.options.rules:
            data = self._redactor.redact_content(data)
        for _, value in self._values:
            if value in data:
                data = data.replace(value, b" ")
        return data


PLAIN = Cleaner()
"""A `Cleaner` that knows no secret values."""
