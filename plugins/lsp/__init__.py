"""Plugin: a tool that asks language servers about code and renames symbols."""

from tui_agent.plugin_api import PluginApi

from .language_server import LanguageServerTool
from .running_server import LspSettings


def register(api: PluginApi) -> None:
    """Register the tool, and the hook that tells the tool about changed files."""
    tool = LanguageServerTool(api.setting(LspSettings))
    api.tool(tool)
    api.hook("file.changed", tool.note_change)
