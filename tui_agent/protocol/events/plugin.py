"""Plugins inside the log."""

from typing import Literal

from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.events.base import Payload


class PluginLoaded(Payload):
    """`source` tells where it came from; `offers` names what it registered, as `tool:read_file`."""

    kind: Literal["plugin.loaded"] = "plugin.loaded"
    plugin: str
    version: str
    source: Literal["bundled", "user", "project", "entry_point", "option"]
    offers: tuple[str, ...]


class PluginFailed(Payload):
    """A plugin could not be loaded or broke; the session goes on without it."""

    kind: Literal["plugin.failed"] = "plugin.failed"
    plugin: str
    message: str
    where: str = ""


class PluginEvent(Payload):
    """A plugin's own event under its own name; `version` is that of the data's shape."""

    kind: Literal["plugin.event"] = "plugin.event"
    plugin: str
    name: str
    version: int
    data: JsonMap
