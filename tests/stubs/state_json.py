"""The session state, read back from the JSON that the program prints."""

from dataclasses import fields

from pydantic import TypeAdapter

from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.protocol.stored_text import JsonMap


def state_from_json(plain: JsonMap) -> SessionStateView:
    """Return the state that `state_to_json` printed. Raises `KeyError` if one of its fields is missing."""
    own = {field.name: plain[field.name] for field in fields(SessionStateView)}
    return TypeAdapter(SessionStateView).validate_python(own)
