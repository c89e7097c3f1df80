"""The prompt texts: Markdown files that users can override with files of the same name.

Invariant: each text is read once per start; the overriding folders are searched in order, the bundled one last.
"""

from collections.abc import Sequence
from pathlib import Path

from tui_agent.errors import ConfigError

BUNDLED = Path(__file__).parent / "prompts"
MAX_BYTES = 100_000


class PromptTexts:
    """Prompt texts by name, from the first folder that contains `NAME.md`."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = (*folders, BUNDLED)
        self._texts: dict[str, str] = {}

    def get(self, name: str) -> str:
        """Return the text of `NAME.md`, stripped. Raises `ConfigError` if it cannot be read."""
        if name not in self._texts:
            self._texts[name] = self._read(name)
        return self._texts[name]

    def _read(self, name: str) -> str:
        for folder in self._folders:
            path = folder / f"{name}.md"
            try:
                if path.is_file():
                    return path.read_text(encoding="utf-8")[:MAX_BYTES].strip()
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"The prompt {path} cannot be read: {error}.") from error
        searched = ", ".join(map(str, self._folders))
        raise ConfigError(f"There is no prompt {name!r}.", hint=f"Searched in: {searched}.")
