"""Plugin: Jupyter notebooks."""

from tui_agent.plugin_api import PluginApi

from .edit_notebook import EditNotebook
from .read_notebook import ReadNotebook
from .run_cell import NotebookSettings, RunCell


def register(api: PluginApi) -> None:
    """Register the tools."""
    api.tool(ReadNotebook())
    api.tool(EditNotebook())
    api.tool(RunCell(api.setting(NotebookSettings)))
