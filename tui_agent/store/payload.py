"""A payload made fit for a line: redacted, without lone surrogates, its long texts as blobs.

Invariant: what is written is what is returned; nothing is lost that fits a line or a blob, but for texts above 8 KB
in fields that take no blob, which are cut with a note of their length.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias, TypeVar, get_args

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, from_json, to_json

from tui_agent.protocol.base import BlobText, Frozen
from tui_agent.protocol.effects import Runs
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.model import ModelDelta
from tui_agent.store.blobs import (
    CONTAINER_MARKER,
    PREVIEW_LENGTH,
    TEXT_LIMIT,
    TEXT_MARKER,
    BlobStore,
    fits,
    whole_characters,
)
from tui_agent.store.redaction.redactor import Redactor

M = TypeVar("M", bound=Frozen)
Walked: TypeAlias = (
    "str | Frozen | tuple[Walked, ...] | dict[str, JsonValue] | list[JsonValue] | int | float | None"
)

_NEVER = frozenset(
    [
        "kind",
        "blob_sha256",
        "digest",
        "before",
        "after",
        "commit",
        "prefix_digest",
        "call_id",
        "request_id",
        "question_id",
        "queue_id",
        "run_id",
        "provider_id",
        "parent_crc",
        "session",
    ]
)
"""Fields that are copied as they are: identifiers and hashes."""
_UNCHANGED = frozenset(("signature", "opaque"))
"""Fields that a provider wants back unchanged: moved out when long, never redacted."""

_LADDER = (TEXT_LIMIT, 2_048, 512, 128)
_CUT_NOTE = 80


class Shrinker:
    """Prepares payloads for one session's log. Writes blobs; raises `StoreFull` where one cannot be stored."""

    def __init__(self, blobs: BlobStore, redactor: Redactor) -> None:
        self._blobs = blobs
        self._redactor = redactor

    def prepare(self, payload: Payload, room: int) -> bytes:
        """The payload as JSON, at most `room` bytes where its texts and JSON values can be moved out."""
        raw = plain_json(payload)
        if raw is not None and len(raw) < TEXT_LIMIT and not self._needs_walk(raw):
            return raw
        for limit in _LADDER:
            raw = self._dump(payload, _Walk(limit))
            if len(raw) <= room:
                return raw
        raw = self._dump(payload, _Walk(_LADDER[-1], containers=True))
        return raw if len(raw) <= room else self._outsource(payload.kind, raw)

    def _dump(self, payload: Payload, walk: "_Walk") -> bytes:
        small = self._model(payload, walk)
        return small.__pydantic_serializer__.to_json(small, warnings=False)

    def _needs_walk(self, raw: bytes) -> bool:
        return self._redactor.suspects(raw) or b'"blob_sha256"' in raw or b'"blob_json"' in raw

    def _outsource(self, kind: str, raw: bytes) -> bytes:
        """The whole payload as a blob: for the rare one of very many small pieces. Readers put it back."""
        return to_json({"kind": kind, "payload_blob": self._blobs.put(raw), "size": len(raw)})

    def _model(self, model: M, walk: "_Walk") -> M:
        changed: dict[str, Walked] = {}
        for name, value in model.__dict__.items():
            if name in _NEVER or value is None or isinstance(value, int | float):
                continue
            way = replace(walk, redact=False) if name in _UNCHANGED else walk
            new = self._field(model, name, value, way)
            if new is not value:
                changed[name] = new
        return model.model_copy(update=changed) if changed else model

    def _field(self, model: Frozen, name: str, value: Walked, walk: "_Walk") -> Walked:
        if isinstance(value, str):
            if isinstance(model, ModelDelta) and model.part == "tool_call":
                value = self._arguments(value)
            return self._text(value, walk, blob=name in _long_fields(type(model)))
        if isinstance(value, dict | list):
            return self._json(_lists(value), walk, top=True)
        if isinstance(model, Runs) and name == "argv" and walk.redact:
            # Only the words in front tell that one is a password.
            words = tuple(self._redactor.words(model.argv))
            value = value if words == model.argv else words
        return self._value(value, walk)

    def _arguments(self, text: str) -> str:
        """Redact the arguments of a call as the JSON that they are: escapes hide where lines begin."""
        try:
            arguments: JsonValue = from_json(text)
        except ValueError:
            return text
        clean = self._redactor.json(arguments)
        return text if clean == arguments else to_json(clean).decode()

    def _value(self, value: Walked, walk: "_Walk") -> Walked:
        if isinstance(value, str):
            return self._text(value, walk, blob=False)
        if isinstance(value, BlobText):
            return value
        if isinstance(value, Frozen):
            return self._model(value, walk)
        if isinstance(value, tuple):
            items = tuple(self._value(item, walk) for item in value)
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        return value

    def _text(self, text: str, walk: "_Walk", *, blob: bool) -> str | BlobText:
        text = whole_characters(self._redactor.text(text) if walk.redact else text)
        if fits(text, walk.limit if blob else TEXT_LIMIT):
            return text
        return self._blobs.keep_long(text) if blob else cut(text)

    def _json(self, value: JsonValue, walk: "_Walk", *, top: bool = False) -> JsonValue:
        clean = self._redactor.json(value) if top and walk.redact else value
        if isinstance(clean, str):
            clean = whole_characters(clean)
            return clean if fits(clean, walk.limit) else self._blobs.keep_long(clean).model_dump(mode="json")
        if isinstance(clean, list):
            small: JsonValue = [self._json(item, walk) for item in clean]
        elif isinstance(clean, dict):
            if self._is_marker(clean):
                return clean
            small = {whole_characters(key): self._json(item, walk) for key, item in clean.items()}
        else:
            return clean
        forged = isinstance(clean, dict) and clean.keys() in (TEXT_MARKER, CONTAINER_MARKER)
        if not forged and not (walk.containers and len(to_json(small)) > TEXT_LIMIT):
            return small
        return self._container(clean)

    def _container(self, value: JsonValue) -> JsonValue:
        raw = to_json(value)
        preview = raw.decode()[:PREVIEW_LENGTH]
        return {"blob_json": self._blobs.put(raw), "size": len(raw), "preview": preview}

    def _is_marker(self, value: dict[str, JsonValue]) -> bool:
        """Whether an object is a marker that this store made, not one that only looks like it."""
        digest = value.get("blob_sha256") if value.keys() == TEXT_MARKER else value.get("blob_json")
        if value.keys() not in (TEXT_MARKER, CONTAINER_MARKER) or not isinstance(digest, str):
            return False
        data = self._blobs.find(digest)
        return data is not None and len(data) == value["size"]


@dataclass(frozen=True, slots=True)
class _Walk:
    """How far one pass over a payload goes: texts above `limit` bytes move out, `containers` above 8 KB too."""

    limit: int
    containers: bool = False
    redact: bool = True


def plain_json(payload: Payload) -> bytes | None:
    """The payload as it is, as JSON; None where a lone surrogate stands in it."""
    try:
        return payload.__pydantic_serializer__.to_json(payload, warnings=False)
    except (PydanticSerializationError, UnicodeEncodeError):
        return None


def _lists(value: JsonValue | tuple[JsonValue, ...]) -> JsonValue:
    """The value with lists for its tuples: JSON knows no others."""
    if isinstance(value, list | tuple):
        return [_lists(item) for item in value]
    return {key: _lists(item) for key, item in value.items()} if isinstance(value, dict) else value


def cut(text: str) -> str:
    """The head of a text for a field that takes no blob, with a note of what is left out."""
    head = text.encode()[: TEXT_LIMIT - _CUT_NOTE].decode("utf-8", "ignore")
    return f"{head} … [cut: {len(text)} characters in all]"


@cache
def _long_fields(model: type[Frozen]) -> frozenset[str]:
    """The fields of a model that take a `BlobText`."""
    return frozenset(
        name for name, field in model.model_fields.items() if BlobText in _alternatives(field.annotation)
    )


def _alternatives(annotation: object) -> set[object]:
    found = {annotation}
    for inner in get_args(annotation):
        found |= _alternatives(inner)
    return found
