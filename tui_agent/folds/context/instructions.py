"""The files of instructions that an agent has, and which of them joined its conversation on the way.

Invariant: pure. What an agent's prompt began with is not changed by what joins later: that stands in its history, as a
message of the event that brought it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tui_agent.protocol.events.instructions import InstructionFile, InstructionScope, InstructionsLoaded
from tui_agent.protocol.parts import Content, TextContent

CUT = "it is too long to be here whole, and what follows holds as well. Read the rest of it before you work."
_JOINED = (
    "[The program adds this file because it holds where you work now. It is not from the user's message, and holds as the "
    "user's and the project's instructions do.]"
)


@dataclass(frozen=True, slots=True)
class Instructed:
    """One agent's. `files` stand in the order in which they hold, the farthest first; `joined` has, of those that joined
    on the way, the event whose message brought them; `notes` say what was left out."""

    files: tuple[InstructionFile, ...] = ()
    joined: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def taking(self, payload: InstructionsLoaded, seq: int) -> "Instructed":
        """With what an event says."""
        known = {one.path: one for one in (*self.files, *payload.files)}
        brought = {one.path for one in payload.files}
        joined = {path: at for path, at in self.joined.items() if path not in brought}
        if payload.why == "nested":
            joined |= dict.fromkeys(sorted(brought), seq)
        return Instructed(
            files=tuple(known[path] for path in payload.order if path in known),
            joined={path: at for path, at in joined.items() if path in payload.order},
            notes=payload.notes,
        )

    def handed_on(self) -> "Instructed":
        """What a delegate begins with: all of it, and nothing has joined yet."""
        return replace(self, joined={}, notes=())


def instruction_words(path: str, scope: InstructionScope) -> str:
    """The heading of a file's text, and before which others it goes."""
    if scope == "user":
        return "# Instructions of the user, for every project"
    if scope == "project":
        return f"# Instructions of {path}, for the whole workspace"
    folder = path.rpartition("/")[0] or "."
    return (
        f"# Instructions of {path}, for everything below {folder}/\n\n[For files below {folder}/ they go before those of "
        "every folder above it, and before the user's own.]"
    )


def rest_of(one: InstructionFile) -> str:
    """What is told behind a text that is cut; empty where it is whole."""
    return f"[{one.path} goes on: {CUT}]" if one.cut else ""


def joining(payload: InstructionsLoaded) -> tuple[Content, ...]:
    """What a history is told of files that join on the way, and of those that no longer hold as they stood in it."""
    if payload.why != "nested" or not (payload.files or payload.gone):
        return ()
    pieces = list[Content]()
    if payload.gone:
        gone = ", ".join(payload.gone)
        words = f"[What was told above of {gone} holds no more: it was changed, or is not there any more.]"
        pieces.append(TextContent(text=words))
    for one in payload.files:
        head = f"{instruction_words(one.path, one.scope)}\n{_JOINED}\n"
        pieces += [TextContent(text=head), TextContent(text=one.text)]
        pieces += [TextContent(text=rest)] if (rest := rest_of(one)) else []
    return tuple(pieces)
