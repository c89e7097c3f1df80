"""Plugin: questions to language servers, and renames with their help."""

from tui_agent.plugin_api import PluginApi

from .language_server import LanguageServerTool
from .servers import LspSettings


def register(api: PluginApi) -> None:
    """Register the tool, and let it hear of changed files."""
    tool = LanguageServerTool(api.setting(LspSettings))
    api.tool(tool)
    api.hook("file.changed", tool.note_change)
