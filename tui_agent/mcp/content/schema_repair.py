"""Repair of the argument schemas of MCP servers, so that every model provider accepts them.

Invariant: a repaired schema is of type object, has no reference, and is small.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import field

from pydantic import JsonValue
from pydantic_core import to_json

from tui_agent.fast_dataclass import dataclass
from tui_agent.mcp.content.outside_text import clean_text
from tui_agent.protocol.stored_text import JsonMap

MAX_BYTES = 24_000
"""Maximum size of a schema. A larger schema is replaced by a schema that accepts any object."""
MAX_DEPTH = 10
MAX_NODES = 2_000
MAX_TEXT_CHARS = 1_000
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_FORMATS = frozenset({"date-time", "date", "time", "email", "uri", "uuid"})
_NUMBERS = frozenset(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems".split()  # noqa: SIM905 - read as prose
)
_CHOICES = ("anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class RepairedSchema:
    """A repaired schema; `original_names` maps each renamed argument to the server's name for it."""

    schema: JsonMap
    original_names: Mapping[str, str] = field(default_factory=dict)


def repair_schema(raw: object) -> RepairedSchema:
    """Change a tool's argument schema so that every model provider accepts it."""
    if not isinstance(raw, dict):
        return RepairedSchema(_any_object())
    top = _Repair(raw).repair(raw, 0)
    schema = _merge_top(top)
    if len(to_json(schema)) > MAX_BYTES:
        return RepairedSchema(_any_object())
    return _rename(schema)


def _any_object() -> JsonMap:
    return {"type": "object", "properties": {}}


class _Repair:
    """Repairs one schema, with references looked up in `root`, the complete schema."""

    def __init__(self, root: JsonMap) -> None:
        self._root = root
        self._nodes = 0

    def repair(self, node: JsonValue, depth: int, inside: tuple[str, ...] = ()) -> JsonMap:
        self._nodes += 1
        # The nodes are counted too, because references can make a small schema grow exponentially.
        if not isinstance(node, dict) or depth > MAX_DEPTH or self._nodes > MAX_NODES:
            return {}
        reference = node.get("$ref", node.get("$dynamicRef"))
        if isinstance(reference, str):
            target = None if reference in inside else self._resolve_reference(reference)
            others = {key: value for key, value in node.items() if key not in ("$ref", "$dynamicRef")}
            merged = {**target, **others} if isinstance(target, dict) else {}
            return self.repair(merged, depth, (*inside, reference)) if merged else {}
        return self._repair_plain(node, depth, inside)

    def _resolve_reference(self, reference: str) -> JsonValue:
        """Return the referenced part of the schema, or None if it does not exist."""
        place: JsonValue = self._root
        if not reference.startswith("#"):
            return None
        for part in reference.removeprefix("#").split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(place, dict) or name not in place:
                return None
            place = place[name]
        return place

    def _repair_plain(self, node: JsonMap, depth: int, inside: tuple[str, ...]) -> JsonMap:
        plain: JsonMap = {}
        if isinstance(text := node.get("description"), str):
            plain["description"] = clean_text(text, MAX_TEXT_CHARS)
        for key in _NUMBERS & node.keys():
            value = node[key]
            if isinstance(value, int | float) and not isinstance(value, bool):
                plain[key] = value
        if isinstance(form := node.get("format"), str) and form in _FORMATS:
            plain["format"] = form
        if isinstance(options := node.get("enum"), list) and options:
            plain["enum"] = options
        elif "const" in node:
            plain["enum"] = [node["const"]]
        self._repair_object(node, plain, depth, inside)
        self._repair_array(node, plain, depth, inside)
        for key in _CHOICES:
            if isinstance(choices := node.get(key), list) and choices:
                plain["anyOf"] = [self.repair(choice, depth + 1, inside) for choice in choices]
        if isinstance(every := node.get("allOf"), list):
            for part in every:
                _merge_into(plain, self.repair(part, depth + 1, inside))
        _set_type(node, plain)
        return plain

    def _repair_object(self, node: JsonMap, plain: JsonMap, depth: int, inside: tuple[str, ...]) -> None:
        if isinstance(fields := node.get("properties"), dict):
            properties = {name: self.repair(value, depth + 1, inside) for name, value in fields.items()}
            plain["properties"] = {**properties}
            names = [name for name in _texts(node.get("required")) if name in properties]
            if names:
                plain["required"] = [*dict.fromkeys(names)]
        additional = node.get("additionalProperties")
        if isinstance(additional, dict) and additional:
            plain["additionalProperties"] = self.repair(additional, depth + 1, inside)
        elif additional is False and "properties" in plain and "patternProperties" not in node:
            plain["additionalProperties"] = False

    def _repair_array(self, node: JsonMap, plain: JsonMap, depth: int, inside: tuple[str, ...]) -> None:
        items, tuple_items = node.get("items"), node.get("prefixItems")
        places = items if isinstance(items, list) else tuple_items if isinstance(tuple_items, list) else None
        if places is not None:
            choices = [self.repair(place, depth + 1, inside) for place in places]
            if isinstance(items, dict):
                choices.append(self.repair(items, depth + 1, inside))
            open_end = items is not False and not isinstance(items, dict)
            plain["items"] = {} if open_end or {} in choices or not choices else {"anyOf": [*choices]}
        elif isinstance(items, dict):
            plain["items"] = self.repair(items, depth + 1, inside)


def _texts(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _set_type(node: JsonMap, plain: JsonMap) -> None:
    kinds = node.get("type")
    known = [kind for kind in _texts(kinds if isinstance(kinds, list) else [kinds]) if kind in _TYPES]
    if len(known) == 1:
        plain["type"] = known[0]
    elif known and "anyOf" not in plain:
        plain["anyOf"] = [{"type": kind, **({"items": {}} if kind == "array" else {})} for kind in known]
    if plain.get("type") == "array":
        plain.setdefault("items", {})


def _merge_into(plain: JsonMap, part: JsonMap) -> None:
    """Merge a part of `allOf` into the schema `plain`. Properties and required names of both are kept.

    For other keys that both contain, the value in `plain` is kept. The key `additionalProperties` is removed.
    """
    for key, value in part.items():
        mine = plain.get(key)
        if key in ("properties", "required") and isinstance(mine, dict) and isinstance(value, dict):
            plain[key] = {**value, **mine}
        elif key == "required" and isinstance(mine, list) and isinstance(value, list):
            plain[key] = [*dict.fromkeys([*mine, *value])]
        elif key == "additionalProperties":
            plain.pop(key, None)  # each part knows only its own fields
        else:
            plain.setdefault(key, value)


def _merge_top(top: JsonMap) -> JsonMap:
    """Replace `anyOf` at the top level by one schema of type object."""
    # Several providers refuse `anyOf` at the top level.
    choices = top.pop("anyOf", None)
    properties = top.get("properties")
    fields: JsonMap = dict(properties) if isinstance(properties, dict) else {}
    common: set[str] | None = None
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict):
            of_choice = choice.get("properties")
            for name, value in (of_choice if isinstance(of_choice, dict) else {}).items():
                fields[name] = value if fields.get(name, value) == value else {}
            names = set(_texts(choice.get("required")))
            common = names if common is None else common & names
    required_names = dict.fromkeys([*_texts(top.get("required")), *sorted(common or ())])
    merged: JsonMap = {"type": "object", "properties": fields}
    if required_names:
        merged["required"] = [*required_names]
    # The merged schema has the fields of all choices, so no single choice can forbid others.
    if "additionalProperties" in top and not choices:
        merged["additionalProperties"] = top["additionalProperties"]
    return merged


def _rename(schema: JsonMap) -> RepairedSchema:
    fields = schema["properties"]
    assert isinstance(fields, dict)
    new_names = {name: name if _NAME.fullmatch(name) else _short_name(name) for name in fields}
    changed = {new: name for name, new in new_names.items() if new != name}
    if not changed:
        return RepairedSchema(schema)
    schema["properties"] = {new_names[name]: value for name, value in fields.items()}
    if isinstance(required := schema.get("required"), list):
        schema["required"] = [new_names[str(name)] for name in required]
    return RepairedSchema(schema, changed)


def _short_name(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)[:50]}_{digest}"
