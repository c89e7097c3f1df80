"""A call's arguments against the tool's model: strict in meaning, lenient where the shape alone is off.

Invariant: what is coerced has one reading only: a JSON text where an object or list is wanted, a number or truth
value written as text. A text field is never changed. Other programs' names of arguments are put right before.
"""

import json
from dataclasses import dataclass
from difflib import get_close_matches

from pydantic import BaseModel, JsonValue, ValidationError

from tui_agent.engine.tools.argument_names import ours
from tui_agent.protocol.base import JsonMap

_SHOWN = 4
_WANTS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "nothing",
}


@dataclass(frozen=True, slots=True)
class InvalidArguments:
    """Why a call cannot run; `message` is written for the model and names the field and what was expected."""

    message: str


def parse_arguments(
    name: str, model: type[BaseModel], schema: JsonMap, arguments: JsonMap
) -> BaseModel | InvalidArguments:
    """The arguments as the tool's model, or what is wrong with them. `schema` is the model's, as it was offered."""
    properties = schema.get("properties")
    fields: JsonMap = properties if isinstance(properties, dict) else {}
    arguments = ours(arguments, fields)
    unknown = [key for key in arguments if key not in fields]
    if unknown:
        return InvalidArguments(_unknown(name, unknown, list(fields)))
    shaped = {key: _coerced(value, fields[key]) for key, value in arguments.items()}
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    present = {key: value for key, value in shaped.items() if value is not None or key in needed}
    try:
        return model.model_validate(present)
    except ValidationError as error:
        return InvalidArguments(_faults(name, error, fields))


def _types(schema: JsonValue) -> frozenset[str]:
    if not isinstance(schema, dict):
        return frozenset()
    options = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(options, list):
        return frozenset().union(*(_types(option) for option in options))
    kind = schema.get("type")
    if isinstance(kind, str):
        return frozenset({kind})
    return frozenset(str(item) for item in kind) if isinstance(kind, list) else frozenset()


def _coerced(value: JsonValue, schema: JsonValue) -> JsonValue:
    wanted = _types(schema)
    if not isinstance(value, str) or "string" in wanted or not wanted:
        return value
    text = value.strip()
    if wanted & {"array", "object"} and text[:1] in ("[", "{"):
        read = _json(text)
        if isinstance(read, list if text[0] == "[" else dict):
            return read
    if "boolean" in wanted and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "integer" in wanted and text.removeprefix("-").isascii() and text.removeprefix("-").isdigit():
        return int(text) if len(text) <= 18 else value
    if "number" in wanted:
        number = _json(text)
        if isinstance(number, int | float) and not isinstance(number, bool):
            return number
    if "null" in wanted and text in ("", "null"):
        return None
    return value


def _json(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _unknown(name: str, unknown: list[str], known: list[str]) -> str:
    hints = []
    for key in unknown[:_SHOWN]:
        near = get_close_matches(key, known, n=1)
        hints.append(f"{key!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
    takes = ", ".join(known) if known else "no arguments"
    return f"{name} does not know the argument {', '.join(hints)}. It takes: {takes}."


def _faults(name: str, error: ValidationError, fields: JsonMap) -> str:
    lines = []
    faults = error.errors(include_url=False, include_context=False)
    for fault in faults[:_SHOWN]:
        where = _place(fault["loc"])
        if fault["type"] == "missing":
            lines.append(f"{where} is required{_wanted(fault['loc'], fields)}.")
        elif fault["type"] == "extra_forbidden":
            lines.append(f"{where} is not known here; leave it out.")
        else:
            got = _short(fault["input"])
            lines.append(f"{where}: {fault['msg'].removeprefix('Value error, ')}; got {got}.")
    if len(faults) > _SHOWN:
        lines.append(f"{len(faults) - _SHOWN} more.")
    return f"{name}: the arguments do not fit. " + " ".join(lines)


def _place(location: tuple[int | str, ...]) -> str:
    path = ""
    for item in location:
        path += f"[{item}]" if isinstance(item, int) else f".{item}" if path else item
    return path or "arguments"


def _wanted(location: tuple[int | str, ...], fields: JsonMap) -> str:
    if len(location) != 1:
        return ""
    kinds = sorted(_types(fields.get(str(location[0]))))
    words = " or ".join(_WANTS.get(kind, kind) for kind in kinds)
    return f" ({words})" if words else ""


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    shown = text if len(text) <= 60 else text[:57] + "…"
    return f"{shown!r}" if isinstance(value, str) else shown
