"""Write docs/events.md from the event classes: `python -m docs.generate_events`.

The page consists of the classes' docstrings and fields. A test checks that it is up to date.
"""

import inspect
import types
import typing
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, JsonValue
from pydantic.fields import FieldInfo

from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.events.union import KINDS
from tui_agent.protocol.stored_text import BlobText
from tui_agent.store.log_line import encode_body, seal_line

PAGE = Path(__file__).parent / "events.md"
ORDER = (
    "session",
    "turn",
    "model",
    "tool",
    "job",
    "policy",
    "hook",
    "files",
    "context",
    "instructions",
    "agent",
    "todo",
    "env",
    "slash_command",
    "plugin",
    "eval",
    "simulation",
)
HEAD = """# Events

<!-- Written by `python -m docs.generate_events` from tui_agent/protocol/events; do not edit. -->

A session is one append-only file, `sessions/<id>/events.jsonl`: one event per line, as compact JSON. Everything that the program shows or
knows about a session is computed from these lines.

```json
EXAMPLE
```

- `crc` is the CRC-32 (eight hexadecimal digits) of every byte before `,"crc"`. Readers skip a line whose checksum is wrong. A last
  line without a newline is unfinished.
- A line has at most 64 KiB. A text above 8 KB of UTF-8 is stored in `blobs/<sha256>` beside the log; the line has
  `{"blob_sha256", "size", "preview"}`. A long object or list in `arguments` or `data` becomes `{"blob_json", "size", "preview"}`. A payload
  of very many small pieces becomes `{"kind", "payload_blob", "size"}`. A blob is stored before the line that names it.
- Secrets are replaced by `[redacted: kind]` before anything is written.
- Readers ignore unknown fields, unknown kinds, and lines with another `v`.
- `model.delta` events are pieces of an answer. Once `model.responded` of the same request has arrived, readers may skip them.
- The log is a tree: `parent` names the event before, and `session.head_moved` continues from an older one. Events outside the current
  branch stay in the log.
- A fork's log begins with `session.forked`. Its `parent` is `at_seq` and its `seq` is one more. Earlier events are those of
  `parent_session`, in the folder beside it, on the branch that ends at that event (so `seq` may have gaps), if that event's line has the
  checksum `parent_crc`. Blobs are looked up there too. Before a session is removed, its forks get copies of what they need.
"""

NAMES = """## Names that other designs use

If you know these facts by other names:

| elsewhere | here |
|---|---|
| `run_started`, `run_resumed`, `run_finished` | `run.started`, `run.resumed`, `run.finished` (a run is one process's hold on a session) |
| `model_metadata` of a run's start | `run.started.model`: provider, model, `effort` as set and `effective_effort` as sent, never a key |
| `model_action` | `model.responded`: its parts are what the model did |
| `policy_decision` | `permission.decided`, and `permission.requested` before it if a person is asked |
| `tool_result` | `tool.finished`; `tool.called` and `tool.started` come before it |
| `state_updated` | no event: the state is computed from all events; `iteration.finished` closes each round |
| `model_retry`, `model_error` | `model.retried`, `model.failed` |
| `context_packed`, `memory_updated` | `context.packed` (before each `model.requested`), `memory.updated` |
| `repo_map_built`, `repo_map_used` | `repomap.built`, `repomap.used` |
| `session_context_loaded` | `session.context_loaded` |
| `delegation_started`, `delegation_completed`, `delegation_failed` | `agent.spawned`, `agent.finished` with `success` true or false |
| `test_result`, `verifier_result` | `test.finished`, `verifier.finished` |
| artifact (path, SHA-256, raw and preview counts) | a blob: `blob_sha256`, `size`, `preview` in the line, the whole under `blobs/` |
| actions and observations | `tool.called`, `model.responded`, `turn.finished` and `tool.finished`, folded by `tui_agent/folds/actions.py` |
"""


def type_name(annotation: object) -> str:
    """Return the name of an annotation's JSON type, as Markdown."""
    if annotation is type(None):
        return "null"
    if annotation is JsonValue:
        return "JSON"
    if annotation is BlobText:
        return "blob"
    if typing.get_origin(annotation) is typing.Annotated:
        return type_name(typing.get_args(annotation)[0])
    if isinstance(annotation, typing.NewType):
        return type_name(annotation.__supertype__)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return union_of_values(arguments)
    if origin in (types.UnionType, typing.Union):
        return union_name(arguments)
    if origin is tuple:
        return f"list of {type_name(arguments[0])}"
    if origin is dict:
        return f"object of {type_name(arguments[1])}"
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return union_of_values(annotation)
    if isinstance(annotation, type):
        return {"str": "text", "int": "integer", "float": "number", "bool": "boolean"}.get(
            annotation.__name__, f"[{annotation.__name__}](#{annotation.__name__.lower()})"
        )
    return str(annotation).replace("|", "\\|")


def union_of_values(values: Iterable[object]) -> str:
    """Return the values as alternatives."""
    return " \\| ".join(f"`{value}`" for value in values)


def union_name(arguments: tuple[object, ...]) -> str:
    """Return the alternatives of a union, in order. `str | BlobText` is called `long text`."""
    if set(KINDS.values()) <= set(arguments):
        return "one of the events below"
    if str in arguments and BlobText in arguments:
        rest = [type_name(one) for one in arguments if one not in (str, BlobText)]
        return " \\| ".join(["long text", *rest])
    return " \\| ".join(dict.fromkeys(type_name(one) for one in arguments))


def default_of(field: FieldInfo) -> str:
    """Return a field's default value as Markdown; empty for a required field."""
    if field.is_required():
        return ""
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, BaseModel):
        return "its defaults"
    if value in ((), {}, ""):
        return "empty"
    return f"`{value}`"


def words(cls: type[BaseModel]) -> str:
    """Return a class's docstring as Markdown, without line breaks inside paragraphs."""
    return inspect.cleandoc(cls.__doc__ or "").replace("\n\n", "\0").replace("\n", " ").replace("\0", "\n\n")


def table(cls: type[BaseModel]) -> Iterator[str]:
    """Yield the lines of a table of a class's fields, without `kind`."""
    fields = {name: field for name, field in cls.model_fields.items() if name != "kind"}
    if not fields:
        yield "No fields."
        return
    yield "| field | type | default |"
    yield "|---|---|---|"
    for name, field in fields.items():
        yield f"| `{name}` | {type_name(field.annotation)} | {default_of(field)} |"


def nested(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models that occur in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from nested(inner)


def shared() -> list[type[BaseModel]]:
    """Return all models that the fields of payloads contain, directly or indirectly, sorted by name."""
    found: dict[str, type[BaseModel]] = {}
    waiting: list[type[BaseModel]] = list(KINDS.values())
    while waiting:
        for field in waiting.pop().model_fields.values():
            for cls in nested(field.annotation):
                if cls.__name__ not in found and cls is not BlobText:
                    found[cls.__name__] = cls
                    waiting.append(cls)
    return [found[name] for name in sorted(found)]


def module_of(cls: type[BaseModel]) -> str:
    """Return the last part of the name of a class's module."""
    return cls.__module__.rsplit(".", 1)[-1]


def example() -> str:
    """Return a line as the store writes it."""
    payload = TurnStarted(turn=2).model_dump_json().encode()
    body = encode_body(7, 1711634571.7, b'"ses_2k9d7q4m1x8p3v6z"', b'"main"', 6, b'"cmd_5h2w8t1r"', payload)
    return seal_line(body).decode().rstrip()


def page() -> str:
    """Return the text of docs/events.md."""
    lines = [
        HEAD.replace("EXAMPLE", example()),
        "## The envelope",
        "",
        words(Envelope),
        "",
        *table(Envelope),
        "",
    ]
    modules = sorted({module_of(cls) for cls in KINDS.values()}, key=ORDER.index)
    for module in modules:
        lines += [f"## {module}", ""]
        for kind, cls in KINDS.items():
            if module_of(cls) == module:
                lines += [f"### {kind}", "", words(cls), "", *table(cls), ""]
    lines += [NAMES, "## Shared types", ""]
    for cls in shared():
        tag = cls.model_fields.get("kind")
        tagged = f" (`kind`: `{tag.default}`)" if tag is not None else ""
        lines += [f"### {cls.__name__}", "", words(cls) + tagged, "", *table(cls), ""]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()).rstrip() + "\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
