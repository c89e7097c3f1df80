"""Events of plugins."""

from typing import Literal, TypeAlias

from pydantic import JsonValue

from tui_agent.protocol.frozen_model import FrozenModel, Payload
from tui_agent.protocol.stored_text import JsonMap

MCP_OWNER = "mcp:"
"""Prefix of the field `plugin` in events of an MCP server; the server's name follows."""
RESOURCES = "resource:"
"""Prefix of a contribution of an MCP server that offers resources; the server's name follows."""
NEEDS_LOGIN = "Needs login: "
"""Beginning of the message that an MCP server needs a login. The login command follows."""
RESTARTS = " The server is started again."
"""If an MCP server has ended and is started again, its message ends with these words."""
NOT_ANSWERED = "It has not answered yet. Its tools are used as soon as it answers."
"""The message that an MCP server was still starting when the session began."""

SettingKind: TypeAlias = Literal["switch", "choice", "number", "text", "table", "key"]
"""How a setting is edited.

`table`: edited in the file. `key`: a secret such as an API key, which is never stored in a settings file.
"""


class SettingInfo(FrozenModel):
    """A setting of a plugin, or a secret (such as an API key) that the plugin uses."""

    name: str
    help: str = ""
    kind: SettingKind
    choices: tuple[str, ...] = ()
    default: JsonValue = None
    """The default value. For the kind `key`, it is True if the key has a value."""


class PluginLoaded(Payload):
    """A plugin was loaded from `source`, or an MCP server is ready (plugin `mcp:NAME`, source `mcp`).

    `contributions`: what the plugin registered, such as `tool:read_file`. `settings`: its settings in the table
    `[plugins.NAME]` of config.toml, and the API keys that it uses. `while_running`: True if the plugin was loaded
    during the session.
    `left_out`: a sentence for each tool or prompt that the MCP server describes wrongly.
    """

    kind: Literal["plugin.loaded"] = "plugin.loaded"
    plugin: str
    version: str
    source: Literal["bundled", "user", "project", "entry_point", "option", "mcp"]
    contributions: tuple[str, ...]
    settings: tuple[SettingInfo, ...] = ()
    while_running: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The chat's lines about a plugin that was loaded during the session, with the sentences in `left_out`."""
        names = ", ".join(self.contributions) or "nothing"
        loaded = (f"The plugin {self.plugin} was loaded. It adds: {names}.",) if self.while_running else ()
        left_out = (f"MCP server {self.plugin.removeprefix(MCP_OWNER)}:", *self.left_out)
        return (*loaded, *(left_out if self.left_out else ()))


class PluginUnloaded(Payload):
    """A plugin was removed or disabled during the session."""

    kind: Literal["plugin.unloaded"] = "plugin.unloaded"
    plugin: str

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that the chat shows about the removed or disabled plugin."""
        return (f"The plugin {self.plugin} is no longer used.",)


class PluginFailed(Payload):
    """A plugin could not be loaded, or raised an error. The session continues without the plugin.

    `part`: the part of the plugin that is no longer used, such as `middleware guard`. Empty: the whole plugin.
    """

    kind: Literal["plugin.failed"] = "plugin.failed"
    plugin: str
    message: str
    where: str = ""
    part: str = ""

    @property
    def title(self) -> str:
        """The plugin, its failed part or the MCP server, as a noun phrase to use in a sentence."""
        server = self.plugin.removeprefix(MCP_OWNER)
        owner = f"plugin {server}" if server == self.plugin else f"MCP server {server}"
        return f"{self.part} of the {owner}" if self.part else owner

    @property
    def is_late(self) -> bool:
        """True if an MCP server is still starting, so it has not failed yet."""
        return self.message == NOT_ANSWERED

    @property
    def is_restarting(self) -> bool:
        """True if an MCP server has ended and is being started again."""
        return self.plugin.startswith(MCP_OWNER) and self.message.endswith(RESTARTS)

    @property
    def reason(self) -> str:
        """The message, without a final sentence about the server's restart (`RESTARTS`)."""
        return self.message.removesuffix(RESTARTS)

    @property
    def login_command(self) -> str:
        """The command to log in to an MCP server. Empty unless the server needs a login."""
        is_server = self.plugin.startswith(MCP_OWNER) and self.message.startswith(NEEDS_LOGIN)
        return self.message.removeprefix(NEEDS_LOGIN) if is_server else ""

    @property
    def lines(self) -> tuple[str, str]:
        """The two lines that the chat shows: the state of the plugin or server, then the reason or the command to run."""
        if self.login_command:
            return f"The {self.title} needs login.", f"Run in a terminal: {self.login_command}"
        state = "is still starting" if self.is_late else "is restarting" if self.is_restarting else "failed"
        return f"The {self.title} {state}.", self.reason


class PluginEvent(Payload):
    """An event that a plugin defines, with the plugin's own name for it. `version`: version of the format of `data`."""

    kind: Literal["plugin.event"] = "plugin.event"
    plugin: str
    name: str
    version: int
    data: JsonMap
