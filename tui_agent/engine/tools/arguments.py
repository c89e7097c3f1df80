"""Validation of a call's arguments with the tool's pydantic model or, for an MCP server's tool, its JSON schema.

Invariant: a value is converted only if its meaning is clear, and text fields are never changed.
"""

import json
import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import from_json, to_json

from tui_agent.fast_dataclass import dataclass
from tui_agent.json_text import parse_json
from tui_agent.ports.tool import JsonArguments
from tui_agent.protocol.stored_text import JsonMap

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

MAX_FAULTS = 4
"""Maximum number of faults listed in one message."""
_TYPE_NAMES = {
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
    """The reason why a call cannot run."""

    message: str


def parse_arguments(
    name: str, model: type[BaseModel], schema: JsonMap, arguments: JsonMap
) -> BaseModel | InvalidArguments:
    """Return the arguments as an instance of `model`, or the faults. `schema`: the tool's JSON schema."""
    properties = schema.get("properties")
    fields: JsonMap = properties if isinstance(properties, dict) else {}
    arguments = canonical_arguments(arguments, fields)
    unknown = [key for key in arguments if key not in fields]
    if unknown:
        return InvalidArguments(_unknown_message(name, unknown, list(fields)))
    coerced = {key: coerce_value(value, fields[key]) for key, value in arguments.items()}
    required = schema.get("required")
    required_names = required if isinstance(required, list) else []
    # Some models send `null` for each argument that they leave out.
    present = {key: value for key, value in coerced.items() if value is not None or key in required_names}
    try:
        return model.model_validate(present)
    except ValidationError as error:
        return InvalidArguments(_faults_message(name, error, fields))


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


def coerce_value(value: JsonValue, schema: JsonValue) -> JsonValue:
    """If `value` is a text and the schema wants another type, convert it: `"3"` → `3`. Return all other values
    unchanged."""
    types = _types(schema)
    if not isinstance(value, str) or "string" in types or not types:
        return value
    text = value.strip()
    if types & {"array", "object"} and text[:1] in ("[", "{"):
        parsed = _parse_or_none(text)
        if isinstance(parsed, list if text[0] == "[" else dict):
            return parsed
    if "boolean" in types and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "integer" in types and text.removeprefix("-").isascii() and text.removeprefix("-").isdigit():
        return int(text) if len(text) <= 18 else value  # 18 digits always fit in 64 bits
    if "number" in types:
        number = _parse_or_none(text)
        if isinstance(number, int | float) and not isinstance(number, bool):
            return number
    if "null" in types and text in ("", "null"):
        return None
    return value


def _parse_or_none(text: str) -> JsonValue:
    try:
        value: JsonValue = parse_json(text)
    except ValueError:
        return None
    return value


def _unknown_message(name: str, unknown: list[str], known: list[str]) -> str:
    hints = []
    for key in unknown[:MAX_FAULTS]:
        similar = get_close_matches(key, known, n=1)
        hints.append(f"{key!r}" + (f" (did you mean {similar[0]!r}?)" if similar else ""))
    takes = ", ".join(known) if known else "no arguments"
    return f"{name} has no argument {', '.join(hints)}. It takes: {takes}."


def _faults_message(name: str, error: ValidationError, fields: JsonMap) -> str:
    lines = []
    faults = error.errors(include_url=False, include_context=False)
    for fault in faults[:MAX_FAULTS]:
        path = path_text(fault["loc"])
        if fault["type"] == "missing":
            lines.append(f"{path} is required{_expected_text(fault['loc'], fields)}.")
        elif fault["type"] == "extra_forbidden":
            lines.append(f"{path} is unknown; leave it out.")
        else:
            value = shorten_value(fault["input"])
            message = "Input should be an object" if fault["type"] == "model_type" else fault["msg"]
            lines.append(f"{path}: {message.removeprefix('Value error, ')}; got {value}.")
    if len(faults) > MAX_FAULTS:
        lines.append(f"{len(faults) - MAX_FAULTS} more.")
    return f"{name}: the arguments are not valid. " + " ".join(lines)


def path_text(location: Iterable[int | str]) -> str:
    """Return the path of a value within the arguments, such as `edits[0].path`."""
    path = ""
    for item in location:
        path += f"[{item}]" if isinstance(item, int) else f".{item}" if path else item
    return path or "arguments"


def _expected_text(location: tuple[int | str, ...], fields: JsonMap) -> str:
    if len(location) != 1:
        return ""
    kinds = sorted(_types(fields.get(str(location[0]))))
    expected = " or ".join(_TYPE_NAMES.get(kind, kind) for kind in kinds)
    return f" ({expected})" if expected else ""


def shorten_value(value: object) -> str:
    """Format a value for a message, with at most 60 characters. Texts are quoted."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    shortened = text if len(text) <= 60 else text[:57] + "…"
    return f"{shortened!r}" if isinstance(value, str) else shortened


ALIASES: dict[str, str] = {
    "path": (
        "absolute_path dir dir_path directory file file_path filename filepath folder relative_path search_path "
        "target_directory target_file"
    ),
    "cwd": "dir dir_path directory folder workdir working_directory",
    "command": "cmd shell_command",
    "content": "contents file_content file_text new_content text",
    "glob": "include include_pattern",
    "new_text": "new_str new_string replace_string",
    "old_text": "old_str old_string search_string",
    "pattern": "glob_pattern query regex search_string",
    "todos": "items todo_list",
}
"""Maps an argument of our tools to its names in other programs, such as `regex` for `pattern`.

Several arguments can have the same name in other programs. The name then means the first argument that the tool has.
"""
IGNORED_ARGUMENTS = frozenset({"description", "explanation"})
"""Arguments in other programs' tools that only explain a call. They are dropped."""
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def canonical_arguments(arguments: JsonMap, known: Collection[str]) -> JsonMap:
    """Rename arguments that are named as in other programs, e.g. `regex` to `pattern`. `known`: the tool's own names."""
    renamed = {key: value for key, value in arguments.items() if key in known}
    for key, value in arguments.items():
        if key in known or key in IGNORED_ARGUMENTS:
            continue
        name = _canonical_name(key, known)
        # If two names give two values, the second name is kept. The check then refuses it as unknown.
        if renamed.setdefault(name, value) != value:
            renamed[key] = value
    return renamed


def _canonical_name(key: str, known: Collection[str]) -> str:
    plain = _CAMEL_CASE_BOUNDARY.sub("_", key).replace("-", "_").lower()
    names = (name for name, aliases in ALIASES.items() if plain in aliases.split())
    return next((name for name in (plain, *names) if name in known), key)


def check_json_arguments(name: str, schema: JsonMap, arguments: JsonMap) -> JsonArguments | InvalidArguments:
    """Return the call's arguments if they match the schema, otherwise a message for the model."""
    properties = schema.get("properties")
    fields: JsonMap = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    required_names = required if isinstance(required, list) else []
    values = {
        key: coerce_value(value, fields.get(key, {}))
        for key, value in arguments.items()
        if value is not None or key in required_names or key not in fields
    }
    faults = list(_validator(to_json(schema)).iter_errors(values))
    if not faults:
        return JsonArguments(values=values)
    lines = []
    for fault in faults[:MAX_FAULTS]:
        place = path_text(fault.absolute_path)
        if fault.validator in ("required", "additionalProperties"):
            lines.append(f"{place}: {fault.message}." if fault.absolute_path else f"{fault.message}.")
        else:
            expected = f"{fault.validator} {shorten_value(fault.validator_value)}"
            lines.append(f"{place}: must match {expected}; got {shorten_value(fault.instance)}.")
    if len(faults) > MAX_FAULTS:
        lines.append(f"{len(faults) - MAX_FAULTS} more.")
    return InvalidArguments(f"{name}: the arguments are not valid. " + " ".join(lines))


@lru_cache(maxsize=64)
def _validator(schema: bytes) -> "Draft202012Validator":
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - slow, and few tools need it

    return Draft202012Validator(from_json(schema))
