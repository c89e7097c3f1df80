"""The user's own text editor, for the message in the prompt and for files."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tui_agent.config.system_programs import find_system_program


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the command line of the user's editor: $VISUAL, $EDITOR, or the first of nano, vim and vi."""
    command = environ.get("VISUAL") or environ.get("EDITOR") or ""
    if command:
        return command.split()
    paths = (find_system_program(name, environ) for name in ("nano", "vim", "vi"))
    return [next(filter(None, paths), "/usr/bin/vi")]


def edit_text(text: str, folder: Path, environ: Mapping[str, str]) -> str | None:
    """Let the user edit a text in their editor. Return None on failure. Blocks until the editor exits."""
    path = folder / "message.md"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        status = subprocess.run([*editor_command(environ), str(path)], check=False).returncode
    except OSError:
        return None
    return path.read_text(encoding="utf-8", errors="replace").rstrip("\n") if status == 0 else None
