"""Prepares an event's payload for its log line: redacts secrets, and moves long texts to blobs.

Invariant: a text is cut (with a note) only if it exceeds 8 KB in a field that cannot be a blob.
"""

import re
from dataclasses import replace
from functools import cache
from typing import TypeAlias, TypeVar, get_args

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, from_json, to_json

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.events.model import ModelDelta
from tui_agent.protocol.frozen_model import FrozenModel, Payload
from tui_agent.protocol.stored_text import BlobText
from tui_agent.store.blobs import (
    CONTAINER_MARKER,
    MAX_INLINE_TEXT_BYTES,
    PREVIEW_CHARS,
    TEXT_MARKER,
    BlobStore,
    fits_bytes,
    replace_lone_surrogates,
)
from tui_agent.store.redaction.redactor import Redactor

ModelT = TypeVar("ModelT", bound=FrozenModel)
PayloadValue: TypeAlias = "str | FrozenModel | tuple[PayloadValue, ...] | dict[str, JsonValue] | list[JsonValue] | int | float | None"

_VERBATIM = frozenset(
    """kind blob_sha256 digest before after commit prefix_digest call_id request_id question_id queue_id run_id
    provider_id parent_crc session""".split()  # noqa: SIM905 - read as prose
)
"""Names of the payload fields to copy unchanged: they contain identifiers and hashes."""
_UNREDACTED = frozenset(("signature", "opaque"))
"""Names of the payload fields that are never redacted. A provider needs them back unchanged."""

_TEXT_LIMITS = (MAX_INLINE_TEXT_BYTES, 2_048, 512, 128)
"""Maximum sizes in bytes of a text inside an event.

If the event is too long for a line, the next smaller size is tried.
"""
_CUT_NOTE_BYTES = 80
_HARMLESS = re.compile(rb'"path":|\\"path\\":|"tokenizer":|"first_token_ms":|"policy":"bypass"')
"""Matches frequent harmless text, such as `"tokenizer":`, that contains a keyword of a redaction rule."""


class Shrinker:
    """Prepares payloads for one session's log. Raises `StoreFull` if a blob cannot be stored."""

    def __init__(self, blobs: BlobStore, redactor: Redactor) -> None:
        self._blobs = blobs
        self._redactor = redactor

    def prepare(self, payload: Payload, max_bytes: int) -> bytes:
        """Return the payload as JSON of at most `max_bytes` bytes, with long texts moved to blobs."""
        # Most payloads are short and contain nothing suspicious. For them, one search in the JSON text is enough.
        raw = dump_json(payload)
        if raw is not None and len(raw) < MAX_INLINE_TEXT_BYTES and not self._needs_walk(raw):
            return raw
        for limit in _TEXT_LIMITS:
            raw = self._dump_shrunk(payload, _Walk(limit))
            if len(raw) <= max_bytes:
                return raw
        raw = self._dump_shrunk(payload, _Walk(_TEXT_LIMITS[-1], containers=True))
        return raw if len(raw) <= max_bytes else self._store_payload(payload.kind, raw)

    def _dump_shrunk(self, payload: Payload, walk: "_Walk") -> bytes:
        shrunk = self._shrink_model(payload, walk)
        return shrunk.__pydantic_serializer__.to_json(shrunk, warnings=False)

    def _needs_walk(self, raw: bytes) -> bool:
        return (
            self._redactor.suspects(_HARMLESS.sub(b"", raw))
            or b'"blob_sha256"' in raw
            or b'"blob_json"' in raw
        )

    def _store_payload(self, kind: str, raw: bytes) -> bytes:
        return to_json({"kind": kind, "payload_blob": self._blobs.put_bytes(raw), "size": len(raw)})

    def _shrink_model(self, model: ModelT, walk: "_Walk") -> ModelT:
        changed: dict[str, PayloadValue] = {}
        for name, value in model.__dict__.items():
            if value is None or isinstance(value, int | float):
                continue
            # The program's own names are ASCII; any other text there is foreign and may not be valid Unicode.
            if name in _VERBATIM and not (isinstance(value, str) and not value.isascii()):
                continue
            field_walk = replace(walk, redact=False) if name in _UNREDACTED else walk
            new = self._shrink_field(model, name, value, field_walk)
            if new is not value:
                changed[name] = new
        return model.model_copy(update=changed) if changed else model

    def _shrink_field(
        self, model: FrozenModel, name: str, value: PayloadValue, walk: "_Walk"
    ) -> PayloadValue:
        if isinstance(value, str):
            if isinstance(model, ModelDelta) and model.part_kind == "tool_call":
                value = self._redact_arguments(value)
            return self._shrink_text(value, walk, blob=name in _long_fields(type(model)))
        if isinstance(value, dict | list):
            return self._shrink_json(_tuples_to_lists(value), walk, top=True)
        if isinstance(model, RunEffect) and name == "argv" and walk.redact:
            # Earlier arguments show whether an argument is a password, so redact them together.
            words = tuple(self._redactor.words(model.argv))
            value = value if words == model.argv else words
        return self._shrink_value(value, walk)

    def _redact_arguments(self, text: str) -> str:
        """Redact the arguments of a tool call: parse the JSON text, redact its strings, and write it as JSON again."""
        # Rules do not match text with JSON escapes.
        try:
            arguments: JsonValue = from_json(text)
        except ValueError:
            return text
        clean = self._redactor.json(arguments)
        return text if clean == arguments else to_json(clean).decode()

    def _shrink_value(self, value: PayloadValue, walk: "_Walk") -> PayloadValue:
        if isinstance(value, str):
            return self._shrink_text(value, walk, blob=False)
        if isinstance(value, BlobText):
            return value
        if isinstance(value, FrozenModel):
            return self._shrink_model(value, walk)
        if isinstance(value, tuple):
            items = tuple(self._shrink_value(item, walk) for item in value)
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        return value

    def _shrink_text(self, text: str, walk: "_Walk", *, blob: bool) -> str | BlobText:
        text = replace_lone_surrogates(self._redactor.redact_text(text) if walk.redact else text)
        if fits_bytes(text, walk.limit if blob else MAX_INLINE_TEXT_BYTES):
            return text
        return self._blobs.put_long_text(text) if blob else cut_text(text)

    def _shrink_json(self, value: JsonValue, walk: "_Walk", *, top: bool = False) -> JsonValue:
        clean = self._redactor.json(value) if top and walk.redact else value
        if isinstance(clean, str):
            clean = replace_lone_surrogates(clean)
            return (
                clean
                if fits_bytes(clean, walk.limit)
                else self._blobs.put_long_text(clean).model_dump(mode="json")
            )
        if isinstance(clean, list):
            shrunk: JsonValue = [self._shrink_json(item, walk) for item in clean]
        elif isinstance(clean, dict):
            if self._is_marker(clean):
                return clean
            shrunk = {
                replace_lone_surrogates(key): self._shrink_json(item, walk) for key, item in clean.items()
            }
        else:
            return clean
        # Data of a tool that looks like a reference becomes a blob itself, so that reading the event never follows it.
        forged = isinstance(clean, dict) and clean.keys() in (TEXT_MARKER, CONTAINER_MARKER)
        if not forged and not (walk.containers and len(to_json(shrunk)) > MAX_INLINE_TEXT_BYTES):
            return shrunk
        return self._store_container(clean)

    def _store_container(self, value: JsonValue) -> JsonValue:
        raw = to_json(value)
        preview = raw.decode()[:PREVIEW_CHARS]
        return {"blob_json": self._blobs.put_bytes(raw), "size": len(raw), "preview": preview}

    def _is_marker(self, value: dict[str, JsonValue]) -> bool:
        """Return True if an object is a reference to a blob of this store."""
        # The blob must exist, because ordinary data can have the same keys.
        digest = value.get("blob_sha256") if value.keys() == TEXT_MARKER else value.get("blob_json")
        if value.keys() not in (TEXT_MARKER, CONTAINER_MARKER) or not isinstance(digest, str):
            return False
        data = self._blobs.find(digest)
        return data is not None and len(data) == value["size"]


@dataclass(frozen=True, slots=True)
class _Walk:
    """Settings for one of the passes that shorten a payload.

    - `limit`: texts of more bytes are moved to blobs.
    - `containers`: True to move objects and lists above 8 KB to blobs too.
    """

    limit: int
    containers: bool = False
    redact: bool = True


def dump_json(payload: Payload) -> bytes | None:
    """Return the unchanged payload as JSON; None if it contains a lone surrogate."""
    try:
        return payload.__pydantic_serializer__.to_json(payload, warnings=False)
    except (PydanticSerializationError, UnicodeEncodeError):
        return None


def _tuples_to_lists(value: JsonValue | tuple[JsonValue, ...]) -> JsonValue:
    if isinstance(value, list | tuple):
        return [_tuples_to_lists(item) for item in value]
    return {key: _tuples_to_lists(item) for key, item in value.items()} if isinstance(value, dict) else value


def cut_text(text: str) -> str:
    """Return the start of a text, with a note on the length of the whole text."""
    head = text.encode()[: MAX_INLINE_TEXT_BYTES - _CUT_NOTE_BYTES].decode("utf-8", "ignore")
    return f"{head} … [cut: {len(text)} characters in total]"


@cache
def _long_fields(model: type[FrozenModel]) -> frozenset[str]:
    return frozenset(
        name for name, field in model.model_fields.items() if BlobText in _alternatives(field.annotation)
    )


def _alternatives(annotation: object) -> set[object]:
    types = {annotation}
    for inner in get_args(annotation):
        types |= _alternatives(inner)
    return types
