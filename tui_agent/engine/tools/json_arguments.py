"""Validation of a call's arguments against a JSON schema, for tools of MCP servers.

Invariant: names of arguments are not changed; values are converted in the same cases as in `arguments`.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic_core import from_json, to_json

from tui_agent.engine.tools.arguments import (
    MAX_FAULTS,
    InvalidArguments,
    coerce_value,
    path_text,
    shorten_value,
)
from tui_agent.ports.tool import JsonArguments
from tui_agent.protocol.base import JsonMap

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


def check_json_arguments(name: str, schema: JsonMap, arguments: JsonMap) -> JsonArguments | InvalidArguments:
    """Return the call's arguments if they match the schema. Otherwise return a message for the model."""
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
