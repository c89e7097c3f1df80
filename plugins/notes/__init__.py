"""Plugin: notes on a project for later sessions, which the agent can search and, with the user's consent, write."""

from tui_agent.plugin_api import PluginApi

from .search_notes import SearchNotes
from .write_note import WriteNote


def register(api: PluginApi) -> None:
    """Register both tools if this project has a notes folder."""
    if api.notes_folder is not None:
        api.tool(SearchNotes(api.notes_folder))
        api.tool(WriteNote(api.notes_folder))
