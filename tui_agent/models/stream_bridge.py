"""Chat Completions messages as the strictest templates want them, such as those of Mistral's models.

Invariant: between a call's result and a user's words stands an answer, and every call id is nine letters and digits; the
same history gives the same messages.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from tui_agent.protocol.base import JsonMap

BRIDGE: Final = "I have read the results."
"""What stands between a result and the user's words."""
_FAMILY: Final = re.compile(r"(?:mi|mini|magi|code|dev|pix|vox)stral|mixtral", re.IGNORECASE)
_ID: Final = re.compile(r"[0-9A-Za-z]{9}")


def wanted(model: str) -> bool:
    """Whether a model of this name is one whose template wants that."""
    return _FAMILY.search(model) is not None


def bridged(messages: Sequence[JsonMap]) -> list[JsonMap]:
    """The messages in that order and with such ids; the messages given stay as they are."""
    out: list[JsonMap] = []
    for message in messages:
        if out and message["role"] == "user" and out[-1]["role"] == "tool":
            out.append({"role": "assistant", "content": BRIDGE})
        out.append(_named(message))
    return out


def _named(message: JsonMap) -> JsonMap:
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        return {**message, "tool_calls": [_called(call) for call in calls]}
    if message["role"] == "tool":
        return {**message, "tool_call_id": _id(message["tool_call_id"])}
    return message


def _called(call: JsonValue) -> JsonValue:
    return {**call, "id": _id(call["id"])} if isinstance(call, dict) else call


def _id(call_id: JsonValue) -> str:
    known = str(call_id)
    return known if _ID.fullmatch(known) else hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:9]
