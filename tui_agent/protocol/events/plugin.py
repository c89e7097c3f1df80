"""Events of plugins."""

from typing import Literal, TypeAlias

from pydantic import JsonValue

from tui_agent.protocol.base import FrozenModel, JsonMap, Payload

MCP_OWNER = "mcp:"
"""Prefix of the field `plugin` in events of an MCP server; the server's name follows."""
RESOURCES = "resource:"
"""Prefix of a contribution of an MCP server that offers resources. The server's name follows."""
NEEDS_LOGIN = "Needs login: "
"""Start of the message of an MCP server that needs a login. The login command follows."""
NOT_ANSWERED = "It has not answered yet. Its tools are used as soon as it answers."
"""Message of an MCP server that is still starting when the session begins without it."""

SettingKind: TypeAlias = Literal["switch", "choice", "number", "text", "table", "key"]
"""How a setting is edited.

A `table` is edited in the file. A `key` is a secret such as an API key, which is never stored in a settings file.
"""


class SettingInfo(FrozenModel):
    """A setting of a plugin, or a secret (such as an API key) that the plugin uses."""

    name: str
    help: str = ""
    kind: SettingKind
    choices: tuple[str, ...] = ()
    default: JsonValue = None
    """The value that is used if the user sets none. For a `key`, True if the key has a value."""


class PluginLoaded(Payload):
    """A plugin was loaded from `source`, or an MCP server is ready (plugin `mcp:NAME`, source `mcp`).

    `contributions` are the things that it registered, such as `tool:read_file`. `settings` are the settings in its
    table `[plugins.NAME]` of config.toml, and its keys. `while_running` is True if the plugin was loaded during the
    session because its files are new or changed. `left_out` has a sentence for each tool or prompt that is not offered
    because the MCP server lists it wrongly.
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
    """A plugin was removed or disabled during the session. Its tools and other contributions are no longer used."""

    kind: Literal["plugin.unloaded"] = "plugin.unloaded"
    plugin: str


class PluginFailed(Payload):
    """A plugin could not be loaded, or raised an error. The session continues without it.

    If the session still uses the rest of the plugin, `part` is the part that it no longer uses, such as `middleware
    guard`. Otherwise `part` is empty.
    """

    kind: Literal["plugin.failed"] = "plugin.failed"
    plugin: str
    message: str
    where: str = ""
    part: str = ""

    @property
    def title(self) -> str:
        """The name of the plugin, its part or the MCP server, for a sentence."""
        server = self.plugin.removeprefix(MCP_OWNER)
        owner = f"plugin {server}" if server == self.plugin else f"MCP server {server}"
        return f"{self.part} of the {owner}" if self.part else owner

    @property
    def is_late(self) -> bool:
        """True if an MCP server is still starting, so that nothing has failed."""
        return self.message == NOT_ANSWERED

    @property
    def login_command(self) -> str:
        """The login command of an MCP server that needs a login. Empty if the server failed for another reason."""
        is_server = self.plugin.startswith(MCP_OWNER) and self.message.startswith(NEEDS_LOGIN)
        return self.message.removeprefix(NEEDS_LOGIN) if is_server else ""

    @property
    def lines(self) -> tuple[str, str]:
        """The lines of the chat: the state of the plugin or server, then the reason or the command to run."""
        if self.login_command:
            return f"The {self.title} needs login.", f"Run in a terminal: {self.login_command}"
        return f"The {self.title} {'is still starting' if self.is_late else 'failed'}.", self.message


class PluginEvent(Payload):
    """An event that a plugin defines, with the plugin's own name for it.

    `version` is the version of the data's format.
    """

    kind: Literal["plugin.event"] = "plugin.event"
    plugin: str
    name: str
    version: int
    data: JsonMap
