"""Adaptation of Chat Completions messages to strict templates, such as those of Mistral's models.

Invariant: an assistant message stands between a tool result and a user message, and every call id has nine letters and
digits; the same history gives the same messages.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from tui_agent.protocol.base import JsonMap

BRIDGE_TEXT: Final = "I have read the results."
"""Text of the assistant message inserted between a tool result and a user message."""
_FAMILY: Final = re.compile(r"(?:mi|mini|magi|code|dev|pix|vox)stral|mixtral", re.IGNORECASE)
_ID: Final = re.compile(r"[0-9A-Za-z]{9}")


def needs_bridge(model: str) -> bool:
    """Return True if the template of the named model needs this adaptation."""
    return _FAMILY.search(model) is not None


def adapt_messages(messages: Sequence[JsonMap]) -> list[JsonMap]:
    """Return adapted copies; the given messages are not changed."""
    out: list[JsonMap] = []
    for message in messages:
        if out and message["role"] == "user" and out[-1]["role"] == "tool":
            out.append({"role": "assistant", "content": BRIDGE_TEXT})
        out.append(_with_short_ids(message))
    return out


def _with_short_ids(message: JsonMap) -> JsonMap:
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        return {**message, "tool_calls": [_shorten_call_id(call) for call in calls]}
    if message["role"] == "tool":
        return {**message, "tool_call_id": _short_id(message["tool_call_id"])}
    return message


def _shorten_call_id(call: JsonValue) -> JsonValue:
    return {**call, "id": _short_id(call["id"])} if isinstance(call, dict) else call


def _short_id(call_id: JsonValue) -> str:
    text = str(call_id)
    return text if _ID.fullmatch(text) else hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:9]
