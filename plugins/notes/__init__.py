"""Plugin: notes on a project for later sessions. The agent can search them, and write them if the user agrees."""

from tui_agent.plugin_api import PluginApi

from .search_notes import SearchNotes
from .write_note import WriteNote


def register(api: PluginApi) -> None:
    """Register both tools if this project has a notes folder."""
    if api.notes_folder is not None:
        api.tool(SearchNotes(api.notes_folder))
        api.tool(WriteNote(api.notes_folder))
