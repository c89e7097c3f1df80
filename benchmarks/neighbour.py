"""The neighbour: another agent's full-screen program, measured in the same run as tui-agent.

In its command and in the files of its home folder, `{url}` is replaced by the address of the mock server.
"""

import os
import shlex
import shutil
from pathlib import Path

TEXTS = (".toml", ".json", ".yaml", ".yml", ".env", ".ini", ".conf")


class Neighbour:
    """The other program, with its own home folder. It is false if no command was given."""

    def __init__(self, command: str, settings: str, home: Path, url: str) -> None:
        self.command = shlex.split(command.replace("{url}", url))
        self._home = home
        if self.command:
            self._settle(settings, url)

    def __bool__(self) -> bool:
        return bool(self.command)

    def environment(self) -> dict[str, str]:
        """Return the program's environment: its home and PATH, without settings of tui-agent."""
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL")}
        return {**kept, "HOME": str(self._home), "OPENAI_API_KEY": "none"}

    def _settle(self, settings: str, url: str) -> None:
        """Copy the settings to the home folder and insert the address of the mock server."""
        self._home.mkdir(exist_ok=True)
        if not settings:
            return
        shutil.copytree(settings, self._home, dirs_exist_ok=True)
        for path in self._home.rglob("*"):
            if path.is_file() and path.suffix in TEXTS:
                text = path.read_text(encoding="utf-8")
                if "{url}" in text:
                    path.write_text(text.replace("{url}", url), encoding="utf-8")
