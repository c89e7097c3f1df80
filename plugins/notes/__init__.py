"""Plugin: notes on a project for later sessions. The agent can search the notes and, if the user agrees, write a
note.
"""

from tui_agent.plugin_api import PluginApi

from .search_notes import SearchNotes
from .write_note import WriteNote


def register(api: PluginApi) -> None:
    """Register `search_notes` and `write_note` if this project has a notes folder."""
    if api.notes_folder is not None:
        api.tool(SearchNotes(api.notes_folder))
        api.tool(WriteNote(api.notes_folder))
