"""Why a file of the map stands where it does, and what the model gets of the map, at the right of the list.

Invariant: drawn from what the list knows; nothing is asked for it.
"""

from typing import Final

from tui_agent.protocol.settings import MapChoice, SessionSettings
from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.screens.map.queries import MapFile
from tui_agent.tui.screens.page import Facts
from tui_agent.tui.text import clean_line
from tui_agent.units import format_tokens

PINNED = "pinned"
"""The reason that the ranking gives for what was pinned."""
MEANT: Final = {
    "named": "the question names it",
    "words": "it has words of the question",
    "window": "several stand close together",
    "history": "such commits changed it before",
    "neighbour": "it goes with the first files",
    "no word": "it has no word of the question",
    "recent": "it was changed lately",
    "entry": "a program begins here",
    "graph": "other files lean on it",
    "place": "it lies where such files lie",
    "test": "tests come behind code",
    "doc": "documents come behind code",
    "foreign": "it comes from elsewhere",
    "settings": "settings come behind code",
    "hidden": "you hid it; the same key shows it again",
}
"""What the ranking's reasons mean."""


class MapDetail(Facts):
    """Its rows, of the parts in the order in which they are called."""

    def draw(self, one: MapFile | None, choice: MapChoice, *, fault: str) -> None:
        """The chosen file; where there is none, why."""
        self.gap()
        if one is None:
            if fault:
                self.text(fault, "t3")
            return
        self.text(one.path, bold=True)
        self.heading("Why it stands here")
        for reason in one.reasons:
            if reason in MEANT:
                self.fact(reason, MEANT[reason])
            elif reason != PINNED:
                self.text(reason, "t2")
        if one.path in choice.pinned:
            self.fact(PINNED, "it always comes first", "accent")
        if one.symbols:
            self.heading("Shown of it")
        for symbol in one.symbols:
            self.fact(symbol.lines, symbol.signature.strip())

    def budget(self, choice: MapChoice, files: int, settings: SessionSettings | None) -> None:
        """What the model gets of it, and by what way."""
        self.heading("For the model")
        self.fact("budget", f"{format_tokens(choice.max_tokens)} tokens")
        if files:
            self.fact("sees", f"{counted(files, 'file')}, as listed")
        bare = settings is not None and settings.context_mode == "none"
        auto = settings is not None and settings.repo_map == "auto" and not bare
        when = "with a session's first message, and after a compaction" if auto else "only when it asks"
        when += ", as the context mode is none" if bare else ""
        self.fact("gets it", when, "t1" if auto else "warning")
        self.fact("hidden", ", ".join(clean_line(path) for path in choice.hidden))

    def besides(self, said: str) -> None:
        """What the command line told beside the map."""
        self.fact("besides", said.partition(";")[2].strip(), "t2")
