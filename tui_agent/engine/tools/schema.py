"""A pydantic arguments model as the compact JSON schema that a model is offered.

Invariant: no `$ref`, no titles, `additionalProperties` false in every object with named fields.
"""

from collections.abc import Mapping
from typing import TypeGuard

from pydantic import BaseModel, JsonValue

from tui_agent.protocol.base import JsonMap

_DROPPED = frozenset({"title", "$defs"})
_NAMED = frozenset({"properties"})


def json_schema(args: type[BaseModel]) -> JsonMap:
    """The schema of an arguments model, always of type object. A model that refers to itself is cut at `{}`.

    The model's own docstring is for readers of the code; what the tool does stands in `ToolSpec.description`.
    """
    whole = args.model_json_schema()
    found = whole.get("$defs")
    definitions: Mapping[str, JsonValue] = found if isinstance(found, dict) else {}
    schema = _inlined(whole, definitions, ())
    assert isinstance(schema, dict)
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    schema.setdefault("additionalProperties", False)
    schema.pop("description", None)
    return schema


def _inlined(node: JsonValue, definitions: Mapping[str, JsonValue], inside: tuple[str, ...]) -> JsonValue:
    if isinstance(node, list):
        return [_inlined(item, definitions, inside) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str):
        name = reference.rsplit("/", 1)[-1]
        if name in inside or name not in definitions:
            return {}
        target = _inlined(definitions[name], definitions, (*inside, name))
        extra = {key: value for key, value in node.items() if key != "$ref"}
        return {**target, **_plain(extra, definitions, inside)} if isinstance(target, dict) else target
    return _plain(node, definitions, inside)


def _plain(node: JsonMap, definitions: Mapping[str, JsonValue], inside: tuple[str, ...]) -> JsonMap:
    plain: JsonMap = {}
    for key, value in node.items():
        if key in _DROPPED:
            continue
        if key in _NAMED and _is_map(value):
            plain[key] = {name: _inlined(field, definitions, inside) for name, field in value.items()}
        elif key in ("default", "const", "enum", "examples"):
            plain[key] = value
        else:
            plain[key] = _inlined(value, definitions, inside)
    if "properties" in plain:
        plain.setdefault("additionalProperties", False)
    plain.pop("discriminator", None)
    return _without_null(plain)


def _without_null(schema: JsonMap) -> JsonMap:
    """`x | None = None` as plain `x`: an optional field is one that may be left out."""
    options = schema.get("anyOf")
    if not isinstance(options, list) or schema.get("default", "") is not None:
        return schema
    kept = [option for option in options if option != {"type": "null"}]
    if len(kept) == len(options):
        return schema
    rest: JsonMap = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    if len(kept) == 1 and _is_map(kept[0]):
        return {**kept[0], **rest}
    return {**rest, "anyOf": kept}


def _is_map(value: JsonValue) -> TypeGuard[dict[str, JsonValue]]:
    return isinstance(value, dict)
