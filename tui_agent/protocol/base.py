"""Types of identifiers, base classes of models and event payloads, and types of texts and JSON.

Invariant: only `ports.clock.Ids` creates ids.
"""

import re
from collections.abc import Iterable
from typing import Annotated, NewType, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

SessionId = NewType("SessionId", str)
"""`ses_` + 16 characters that sort by creation time."""
RunId = NewType("RunId", str)
"""`run_` + 12 hexadecimal digits."""
AgentId = NewType("AgentId", str)
"""Name of an agent, unique in its session: `main`, or the name of a delegate."""
CommandId = NewType("CommandId", str)
CallId = NewType("CallId", str)
"""Id of a tool call, unique in its session. If the provider gives no id or the same id twice, the engine creates one.
"""
RequestId = NewType("RequestId", str)
"""Id of a model request, permission request or question, unique in its session."""
JobId = NewType("JobId", str)
"""Id of a background job (`job-1`, `job-2`, …), unique on its branch of the session."""
MAIN_AGENT = AgentId("main")
COMPACTION_AGENT = AgentId("compaction")
"""The agent that summarises histories. Its requests belong to no conversation."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def is_session_id(name: str) -> bool:
    """Return True if `name` is a valid session id."""
    return _ID.fullmatch(name) is not None


class FrozenModel(BaseModel):
    """Base of plain immutable data, equal and hashable by content. Unknown fields are refused."""

    # `defer_build`: building the validators of hundreds of models would delay each start. JSON has no NaN.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=False, ser_json_inf_nan="null", defer_build=True
    )


F = TypeVar("F", bound=FrozenModel)
_field_tables: dict[type[FrozenModel], tuple[set[str], type["_Fields"]]] = {}


class _Fields:
    """Base class of objects whose `__dict__` becomes the `__dict__` of a model. Each model class has a subclass."""


def share_field_tables(model: F, parts: Iterable[FrozenModel] = ()) -> F:
    """Make `model` and the models in `parts` use less memory, and return `model`.

    All models of the same class share one table of field names.
    """
    models: list[FrozenModel] = [model, *parts]
    for item in models:
        model_class = type(item)
        tables = _field_tables.get(model_class)
        if tables is None:
            fields_class = type(model_class.__name__, (_Fields,), {})
            tables = _field_tables[model_class] = set(model_class.model_fields), fields_class
        field_names, fields_class = tables
        fields = fields_class()
        # Set attributes one by one: only then does CPython share keys between the instances of a class.
        for name, value in item.__dict__.items():
            setattr(fields, name, value)
        _set_attribute(item, "__pydantic_fields_set__", field_names)
        _set_attribute(item, "__dict__", fields.__dict__)
    return model


_set_attribute = object.__setattr__  # frozen models refuse the plain `setattr`


class BlobText(FrozenModel):
    """A text that is too long for a log line and is stored in the session's blob folder.

    `blob_sha256`: hex SHA-256 of the UTF-8 bytes. `size`: number of these bytes. `preview`: the first characters of the
    text, at most 1,024.
    """

    blob_sha256: str
    size: int
    preview: str


LongText: TypeAlias = Annotated[str | BlobText, Field(union_mode="left_to_right")]
"""A text as stored in a log: complete up to 8 KB of UTF-8, otherwise a `BlobText`."""

JsonMap: TypeAlias = dict[str, JsonValue]
"""A JSON object. With exactly the fields of `BlobText`, it represents a long string (see `store.blobs`)."""


def text_preview(text: LongText) -> str:
    """Return the part of a text that is available without reading a blob."""
    return text if isinstance(text, str) else text.preview


def text_size(text: LongText) -> int:
    """Return the size of a text: in characters, or in bytes if it is stored as a blob."""
    return len(text) if isinstance(text, str) else text.size


class Payload(FrozenModel):
    """Base of every event's payload. Each subclass narrows `kind` to a Literal."""

    kind: str
