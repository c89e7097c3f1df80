"""Resources of MCP servers as mentions in prompts: `@SERVER:URI`.

Invariant: a resource whose address cannot be typed in a mention is not offered.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence

import anyio

from tui_agent.errors import ToolError
from tui_agent.fast_dataclass import dataclass

MAX_RESOURCES = 10_000
MAX_URI_CHARS = 900
MAX_OFFERED = 50
_VARIABLE = re.compile(r"\{([A-Za-z_][\w.]{0,79})\}")


@dataclass(frozen=True, slots=True)
class RemoteResources:
    """The addresses of a server's resources, and its templates (`file:///{path}`)."""

    uris: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TemplateSlot:
    """A template's variable that the user is typing.

    - `typed`: the text typed so far for this variable.
    - `before`: the text of the address before the variable.
    - `values`: maps the variables before this variable to their values.
    """

    template: str
    variable: str
    typed: str
    before: str
    values: dict[str, str]


class ResourceList:
    """The resources of one server, listed at the first `get` and again after each change."""

    def __init__(self) -> None:
        self._value = RemoteResources()
        self._requested, self._listed, self._changed = anyio.Event(), anyio.Event(), anyio.Event()

    def note_change(self) -> None:
        """Record that the resources have changed, so that `keep` lists them again."""
        self._changed.set()

    async def keep(self, list_all: Callable[[], Awaitable[RemoteResources]]) -> None:
        """List the resources at the first `get` and again after each change, until cancelled."""
        while True:
            await self._requested.wait()
            self._changed = anyio.Event()
            try:
                self._value = await list_all()
            except ToolError:  # a server that cannot list its resources has none to offer
                self._value = RemoteResources()
            self._listed.set()
            await self._changed.wait()

    async def get(self) -> RemoteResources:
        """Return the resources; the first call waits for the server."""
        self._requested.set()
        await self._listed.wait()
        return self._value


def can_be_typed(uri: str) -> bool:
    """Return True if a mention can hold this address."""
    return 0 < len(uri) <= MAX_URI_CHARS and uri.isprintable() and '"' not in uri


def find_matches(server: str, query: str, resources: RemoteResources) -> list[str]:
    """Return the mentions (`SERVER:URI`) that contain the query, for the server's resources and templates."""
    folded_query = query.casefold()
    mentions = (f"{server}:{uri}" for uri in (*resources.uris, *resources.templates))
    return [mention for mention in mentions if folded_query in mention.casefold()]


def open_slots(typed: str, templates: Sequence[str]) -> Iterator[TemplateSlot]:
    """Yield a slot for each template whose variable the user is typing."""
    for template in templates:
        slot = _open_slot(typed, template)
        if slot is not None:
            yield slot


def _open_slot(typed: str, template: str) -> TemplateSlot | None:
    pieces = _VARIABLE.split(template)  # literal, name, literal, name, …, literal
    values: dict[str, str] = {}
    position = 0
    for literal, name, following in zip(pieces[::2], pieces[1::2], pieces[2::2], strict=False):
        if not typed.startswith(literal, position):
            return None
        position += len(literal)
        end = typed.find(following, position) if following else -1
        if end < 0:
            return TemplateSlot(template, name, typed[position:], typed[:position], values)
        values[name] = typed[position:end]
        position = end
    return None
