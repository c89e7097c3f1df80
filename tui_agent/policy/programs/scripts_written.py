"""L3: the files that a line writes from literal text, for what the same line runs of them.

Invariant: pure. A text counts only where it is certain; a file of which that is not so is one like any other.
"""

from collections.abc import Iterator
from dataclasses import replace

from tui_agent.policy.programs.given import given_text, printed
from tui_agent.policy.programs.part import Part
from tui_agent.policy.shell.script import Command, Word
from tui_agent.policy.shell.words import join

MOST_READ = 10_000
"""Letters of the scripts that one line writes and runs, however often, which are read."""


class ScriptsWritten:
    """What stands in files as far as a line got. `version` changes with it."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.version = 0
        self._left = MOST_READ

    def note(self, command: Command) -> None:
        """What the command writes."""
        for redirect in command.redirects:
            if not redirect.reads:
                self._keep(command, redirect.target, _told(command), more=not redirect.empties)
        if command.words and command.words[0].value == "tee":
            more = any(word.value in ("-a", "--append") for word in command.words)
            for word in command.words[1:]:
                self._keep(command, word, printed(command.fed_by), more=more)

    def run_by(self, part: Part) -> Iterator[tuple[int, str]]:
        """The texts of files that a command names, each with the number of its word."""
        for at, word in enumerate(part.words if self._texts else ()):
            for place in part.places if word else ():
                text = self._texts.get(join(place, word or "") or "")
                if text is not None:
                    yield at, text

    def read(self, text: str) -> bool:
        """Whether a text is one of those that are read; beyond a limit none is."""
        self._left -= len(text) + 1
        return self._left >= 0

    def _keep(self, command: Command, target: Word, text: str | None, *, more: bool) -> None:
        for place in command.places:
            path = join(place, target.value) if target.value is not None else None
            if path is None:
                continue
            before = self._texts.pop(path, "")
            self.version += bool(before or text)
            if text is not None:
                self._texts[path] = f"{before}\n{text}" if more else text


def _told(command: Command) -> str | None:
    """What it prints, where that is certain."""
    if [word.value for word in command.words] == ["cat"]:
        return given_text(command)
    return printed((replace(command, redirects=()),))
