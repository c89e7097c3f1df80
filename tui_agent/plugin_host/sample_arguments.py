"""Arguments made up from a tool's JSON schema, to try its `target` and `effects`."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from tui_agent.protocol.base import JsonMap

_BY_TYPE: Mapping[str, JsonValue] = {
    "string": "example",
    "integer": 1,
    "number": 1.0,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


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
