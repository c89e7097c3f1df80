"""The frozen base model and the text and JSON types that every event is built of.

Invariant: building refuses unknown fields; reading (see `union`) ignores them.
"""

from collections.abc import Iterable
from typing import Annotated, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Frozen(BaseModel):
    """Plain immutable data: hashable by identity of content, refuses unknown fields when built."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=False, ser_json_inf_nan="null", defer_build=True
    )


F = TypeVar("F", bound=Frozen)
_kept: dict[type[Frozen], tuple[set[str], type["_Fields"]]] = {}


class _Fields:
    """Holds the fields of one model; each kind of model has a class of its own, whose instances share their names."""


def lean(model: F, pieces: Iterable[Frozen] = ()) -> F:
    """The model, with what it consists of, for keeping many: each then shares with all of its class the note of which
    fields were given (every one) and the table of their names. Each of the two takes as much memory as a small model
    itself."""
    models: list[Frozen] = [model, *pieces]
    for one in models:
        kind = type(one)
        kept = _kept.get(kind)
        if kept is None:
            kept = _kept[kind] = set(kind.model_fields), type(kind.__name__, (_Fields,), {})
        given, fields = kept
        held = fields()
        for name, value in one.__dict__.items():
            setattr(held, name, value)
        _set(one, "__pydantic_fields_set__", given)
        _set(one, "__dict__", held.__dict__)
    return model


_set = object.__setattr__


class BlobText(Frozen):
    """A text too long for a log line, kept in the session's blob folder.

    `blob_sha256` is the hex SHA-256 of the UTF-8 bytes, `size` their count, `preview` the first
    characters (at most 1,024), cut at a character boundary.
    """

    blob_sha256: str
    size: int
    preview: str


LongText: TypeAlias = Annotated[str | BlobText, Field(union_mode="left_to_right")]
"""A text as it stands in a log: whole up to 8 KB of UTF-8, else a `BlobText`."""

JsonMap: TypeAlias = dict[str, JsonValue]
"""A JSON object. A leaf of exactly the fields of `BlobText` stands for a long string (see `store.blobs`)."""


def text_preview(text: LongText) -> str:
    """What can be shown of a text without reading its blob."""
    return text if isinstance(text, str) else text.preview
