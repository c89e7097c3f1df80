"""Events of plugins."""

from typing import Literal, TypeAlias

from pydantic import JsonValue

from tui_agent.protocol.base import FrozenModel, JsonMap
from tui_agent.protocol.events.base import Payload

MCP_OWNER = "mcp:"
"""Prefix of the field `plugin` in events of an MCP server; the server's name follows."""
RESOURCES = "resource:"
"""Prefix of a contribution of an MCP server that offers resources; the server's name follows."""
NEEDS_LOGIN = "Needs login: "
"""Start of the message of an MCP server that wants a login; the command for it follows."""


SettingKind: TypeAlias = Literal["switch", "choice", "number", "text", "table", "key"]
"""How a setting is edited.

A `table` is edited in the file; a `key` is a secret such as an API key, which is never in a settings file.
"""


class SettingInfo(FrozenModel):
    """A setting of a plugin, or a secret (such as an API key) that the plugin uses."""

    name: str
    help: str = ""
    kind: SettingKind
    choices: tuple[str, ...] = ()
    default: JsonValue = None
    """The value if the user sets none. For a `key`: True if the key has a value."""


class PluginLoaded(Payload):
    """A plugin was loaded from `source`, or an MCP server is ready (plugin `mcp:NAME`, source `mcp`); `contributions`
    names what it registered, such as `tool:read_file`.

    `settings` are those in its table `[plugins.NAME]` of config.toml, and its keys. `while_running` means that the
    plugin was loaded during the session because its files are new or changed. `left_out` has a sentence for each tool or
    prompt that an MCP server describes wrongly, and that is therefore not offered.
    """

    kind: Literal["plugin.loaded"] = "plugin.loaded"
    plugin: str
    version: str
    source: Literal["bundled", "user", "project", "entry_point", "option", "mcp"]
    contributions: tuple[str, ...]
    settings: tuple[SettingInfo, ...] = ()
    while_running: bool = False
    left_out: tuple[str, ...] = ()


class PluginUnloaded(Payload):
    """A plugin was removed or disabled while the session ran; what it registered is no longer used."""

    kind: Literal["plugin.unloaded"] = "plugin.unloaded"
    plugin: str


class PluginFailed(Payload):
    """A plugin could not be loaded or raised an error; the session continues without it."""

    kind: Literal["plugin.failed"] = "plugin.failed"
    plugin: str
    message: str
    where: str = ""

    @property
    def title(self) -> str:
        """The plugin or MCP server by its name, for a sentence."""
        server = self.plugin.removeprefix(MCP_OWNER)
        return f"plugin {server}" if server == self.plugin else f"MCP server {server}"

    @property
    def login_command(self) -> str:
        """The command for the login that an MCP server wants; empty if it failed for another reason."""
        is_server = self.plugin.startswith(MCP_OWNER) and self.message.startswith(NEEDS_LOGIN)
        return self.message.removeprefix(NEEDS_LOGIN) if is_server else ""


class PluginEvent(Payload):
    """A plugin's own event under its own name; `version` is the version of the data's format."""

    kind: Literal["plugin.event"] = "plugin.event"
    plugin: str
    name: str
    version: int
    data: JsonMap
