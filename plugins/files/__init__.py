"""Plugin: reading, writing, editing, listing and finding files of the workspace."""

from tui_agent.plugin_api import PluginApi

from . import glob, list_directory
from .edit_file import EditFile
from .read_file import ReadFile
from .write_file import WriteFile


def register(api: PluginApi) -> None:
    """Register the tools."""
    api.tool(ReadFile())
    api.tool(WriteFile())
    api.tool(EditFile())
    api.tool(list_directory.list_directory)
    api.tool(glob.glob)
