"""Plugin: reading, writing, editing, listing and finding files of the workspace."""

from pathlib import Path

from tui_agent.plugin_api import PluginApi

from . import edit_file, glob, list_directory, read_file, write_file


def register(api: PluginApi) -> None:
    """Register the five file tools; their descriptions are in the `.md` files beside them."""
    folder = Path(__file__).parent
    api.tool(read_file.make(_load_description(folder, "read_file")))
    api.tool(write_file.make(_load_description(folder, "write_file")))
    api.tool(edit_file.make(_load_description(folder, "edit_file")))
    api.tool(list_directory.make(_load_description(folder, "list_directory")))
    api.tool(glob.make(_load_description(folder, "glob")))


def _load_description(folder: Path, name: str) -> str:
    return (folder / f"{name}.md").read_text(encoding="utf-8").strip()
