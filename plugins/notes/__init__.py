"""Plugin: notes across sessions, a folder of Markdown that the agent may search, and may write with consent."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import search_notes, write_note


def register(api: PluginApi) -> None:
    """Register both tools if this project has a notes folder; descriptions are in the `.md` files beside them."""
    folder = Path(__file__).parent
    if api.notes_folder is None:
        return
    for name, make in (("search_notes", search_notes.make), ("write_note", write_note.make)):
        api.tool(make((folder / f"{name}.md").read_text(encoding="utf-8").strip(), api.notes_folder))
