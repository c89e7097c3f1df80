"""JSON schemas of tools' arguments (a full one for validation, a shorter one for the model), and sample arguments.

Invariant: schemas have no `$ref` and no titles, and objects with named fields allow no other fields.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from pydantic import BaseModel, JsonValue

from tui_agent.protocol.stored_text import JsonMap

_DROPPED = frozenset({"title", "$defs"})
_NOT_SENT = frozenset(
    """additionalProperties default examples minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength
    maxLength minItems maxItems uniqueItems""".split()  # noqa: SIM905 - read as prose
)
"""Keys of a tool's schema that are not sent to the model, to keep each request short."""
_BY_TYPE: Mapping[str, JsonValue] = {
    "string": "example",
    "integer": 1,
    "number": 1.0,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


@lru_cache(maxsize=256)
def json_schema(args: type[BaseModel]) -> JsonMap:
    """Return the schema of an arguments model. Do not change the result, because it is cached."""
    raw = args.model_json_schema()
    defs = raw.get("$defs")
    definitions: Mapping[str, JsonValue] = defs if isinstance(defs, dict) else {}
    schema = _inline_references(raw, definitions, ())
    assert isinstance(schema, dict)
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    schema.setdefault("additionalProperties", False)
    schema.pop("description", None)
    return schema


def sent_schema(schema: JsonMap) -> JsonMap:
    """Return a schema as it is sent to models.

    The keys in `_NOT_SENT` and the arguments marked as `unsent` are left out.
    """
    short: JsonMap = {}
    for key, value in schema.items():
        if key in _NOT_SENT:
            continue
        if key == "properties" and isinstance(value, dict):
            sent = {name: field for name, field in value.items() if not _is_unsent(field)}
            short[key] = {name: _sent_node(field) for name, field in sent.items()}
        else:
            # Values of `const` and `enum` are data: a key in them is no key of the schema.
            short[key] = value if key in ("const", "enum") else _sent_node(value)
    return short


def _is_unsent(field: JsonValue) -> bool:
    """Return True if an argument's schema is hidden from the model."""
    return isinstance(field, dict) and bool(field.get("unsent"))


def _sent_node(node: JsonValue) -> JsonValue:
    if isinstance(node, list):
        return [_sent_node(item) for item in node]
    return sent_schema(node) if isinstance(node, dict) else node


def _inline_references(
    node: JsonValue, definitions: Mapping[str, JsonValue], inside: tuple[str, ...]
) -> JsonValue:
    if isinstance(node, list):
        return [_inline_references(item, definitions, inside) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str):
        name = reference.rsplit("/", 1)[-1]
        if name in inside or name not in definitions:
            return {}  # a model that contains itself: the inner occurrence allows any value
        target = _inline_references(definitions[name], definitions, (*inside, name))
        if isinstance(target, dict):
            target.pop("description", None)
        extra = {key: value for key, value in node.items() if key != "$ref"}
        return {**target, **_simplify(extra, definitions, inside)} if isinstance(target, dict) else target
    return _simplify(node, definitions, inside)


def _simplify(node: JsonMap, definitions: Mapping[str, JsonValue], inside: tuple[str, ...]) -> JsonMap:
    plain: JsonMap = {}
    for key, value in node.items():
        if key in _DROPPED:
            continue
        if key == "properties" and isinstance(value, dict):
            plain[key] = {
                name: _inline_references(field, definitions, inside) for name, field in value.items()
            }
        elif key in ("default", "const", "enum", "examples"):
            plain[key] = value
        else:
            plain[key] = _inline_references(value, definitions, inside)
    if "properties" in plain:
        plain.setdefault("additionalProperties", False)
    plain.pop("discriminator", None)  # a key of OpenAPI, not of JSON Schema
    return _without_null(plain)


def _without_null(schema: JsonMap) -> JsonMap:
    """Return the schema without `null`: an argument `x | None = None` gets the schema of `x`."""
    options = schema.get("anyOf")
    if not isinstance(options, list) or schema.get("default", "") is not None:
        return schema
    non_null = [option for option in options if option != {"type": "null"}]
    if len(non_null) == len(options):
        return schema
    rest: JsonMap = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    if len(non_null) == 1 and isinstance(non_null[0], dict):
        return {**non_null[0], **rest}
    return {**rest, "anyOf": non_null}


def sample_arguments(schema: JsonMap) -> Iterator[JsonMap]:
    """Yield arguments that fit the schema: first only the required arguments, then all arguments."""
    fields = schema.get("properties")
    required = schema.get("required")
    known: Mapping[str, JsonValue] = fields if isinstance(fields, dict) else {}
    names = required if isinstance(required, list) else []
    yield {name: _sample(field) for name, field in known.items() if name in names}
    yield {name: _sample(field) for name, field in known.items()}


def _sample(schema: JsonValue) -> JsonValue:
    if not isinstance(schema, dict):
        return "example"
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    options = schema.get("enum")
    if isinstance(options, list) and options:
        return options[0]
    alternatives = schema.get("anyOf")
    if isinstance(alternatives, list) and alternatives:
        return _sample(alternatives[0])
    kind = schema.get("type")
    if kind == "array" and schema.get("minItems", 0) != 0:
        return [_sample(schema.get("items"))]
    if kind == "object":
        return next(sample_arguments(schema))
    if kind in ("integer", "number"):
        return schema.get("minimum", schema.get("maximum", _BY_TYPE[kind]))
    return _BY_TYPE.get(kind, "example") if isinstance(kind, str) else "example"
