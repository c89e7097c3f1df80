"""Removal of invalid items from the lists of a server.

Invariant: an answer with only valid items passes unchanged.
"""
# The SDK refuses a whole list if one item is invalid.

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import BaseModel, ValidationError

from tui_agent.mcp.content.outside_text import clean_line

MAX_NAMED = 10
"""Maximum number of invalid items that are named; further ones are only counted."""
_LISTS: Mapping[str, tuple[str, type[BaseModel]]] = {
    "tools": ("tools/list", types.ListToolsResult),
    "prompts": ("prompts/list", types.ListPromptsResult),
    "resources": ("resources/list", types.ListResourcesResult),
    "resourceTemplates": ("resources/templates/list", types.ListResourceTemplatesResult),
}
"""Maps a kind of list to (the method that requests it, the SDK's class for the answer)."""
Incoming = SessionMessage | Exception


class ListCheck:
    """Removes the invalid items from the lists of one connection, and keeps the reasons."""

    def __init__(self) -> None:
        self.version = LATEST_HANDSHAKE_VERSION
        """The protocol version for checking items, set after the negotiation."""
        self._left_out: dict[str, list[str]] = {key: [] for key in _LISTS}

    def begin(self, key: str) -> None:
        """Forget the invalid items of the list `key`, because the list is requested again."""
        self._left_out[key].clear()

    def leave_out_duplicate(self, key: str, name: str) -> None:
        """Record that an item of the list `key` was left out, because an earlier item has the same name."""
        kind = key.removesuffix("s")
        self._left_out[key].append(
            f"The server has two {key} named {clean_line(name, 80)}; the second {kind} is left out."
        )

    def left_out(self, *keys: str) -> tuple[str, ...]:
        """Return up to `MAX_NAMED` sentences about left-out items, and a sentence with the number of further items."""
        sentences = [sentence for key in keys for sentence in self._left_out[key]]
        rest = len(sentences) - MAX_NAMED
        return (*sentences[:MAX_NAMED], *([f"{rest} more are left out."] if rest > 0 else []))

    def check(self, message: Incoming) -> Incoming:
        """Remove the invalid items if the message answers a list request. Return the message."""
        response = message.message if isinstance(message, SessionMessage) else None
        if isinstance(response, types.JSONRPCResponse):
            for key in _LISTS.keys() & response.result.keys():
                items = response.result[key]
                if isinstance(items, list):
                    faults = self._find_faults(key, response.result)
                    self._left_out[key] += [
                        _describe(key, items[index], fault) for index, fault in sorted(faults.items())
                    ]
                    response.result[key] = [item for index, item in enumerate(items) if index not in faults]
        return message

    def _find_faults(self, key: str, result: Mapping[str, Any]) -> dict[int, str]:
        """Map the index of each invalid item to the item's first fault."""
        method, model = _LISTS[key]
        faults: dict[int, str] = {}
        for validate in (
            lambda: validate_server_result(method, self.version, result),
            lambda: model.model_validate(result, by_name=False),
        ):
            try:
                validate()
            except ValidationError as error:
                for each in error.errors(include_url=False, include_input=False):
                    match each["loc"]:
                        case (str(named), int(index), *place) if named == key:
                            where = ".".join(map(str, place))
                            faults.setdefault(index, f"{where}: {each['msg']}" if where else each["msg"])
        return faults

    @asynccontextmanager
    async def wrap(self, transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[tuple[Any, Any]]:
        """Open a transport of the SDK. Each message from the server is checked."""
        async with transport as (incoming, outgoing):
            yield _CheckedStream(incoming, self), outgoing


def _describe(key: str, item: object, fault: str) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    kind = key.removesuffix("s")
    title = f"The {kind} {clean_line(name, 80)}" if isinstance(name, str) else f"A {kind} without a name"
    return f"{title} is left out, because its description is not valid: {clean_line(fault)}."


class _CheckedStream:
    """A stream of the SDK that checks each message."""

    def __init__(self, inner: Any, check: ListCheck) -> None:
        self._inner = inner
        self._check = check

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aiter__(self) -> AsyncIterator[Incoming]:
        async for message in self._inner:
            yield self._check.check(message)

    async def __aenter__(self) -> "_CheckedStream":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._inner.__aexit__(*error)
