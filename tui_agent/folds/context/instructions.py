"""The instruction files (AGENTS.md) of an agent, including files that are added during the conversation.

Invariant: a file that is added during the conversation does not change the beginning of the agent's prompt.
"""

from collections.abc import Mapping
from dataclasses import field, replace

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.instructions import InstructionFile, InstructionScope, InstructionsLoaded
from tui_agent.protocol.parts import Content, TextContent

_JOINED = (
    "[tui-agent adds this file because you now work in its folder. It is not part of the user's message; follow it "
    "like the user's and the project's instructions.]"
)


@dataclass(frozen=True, slots=True)
class AgentInstructions:
    """The instructions of one agent.

    - `files`: instruction files, the outermost folder first.
    - `joined`: maps the path of each file that was added later to the event with the file's text.
    - `notes`: descriptions of files that were left out.
    """

    files: tuple[InstructionFile, ...] = ()
    joined: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def with_event(self, payload: InstructionsLoaded, seq: int) -> "AgentInstructions":
        """Return the instructions after one more event. `seq`: number of the event."""
        known = {file.path: file for file in (*self.files, *payload.files)}
        loaded_paths = {file.path for file in payload.files}
        joined = {path: joined_seq for path, joined_seq in self.joined.items() if path not in loaded_paths}
        if payload.trigger == "nested":
            joined |= dict.fromkeys(sorted(loaded_paths), seq)
        return AgentInstructions(
            files=tuple(known[path] for path in payload.order if path in known),
            joined={path: joined_seq for path, joined_seq in joined.items() if path in payload.order},
            notes=payload.notes,
        )

    def for_delegate(self) -> "AgentInstructions":
        """Return the instructions for a new delegate."""
        return replace(self, joined={}, notes=())


def instruction_heading(path: str, scope: InstructionScope) -> str:
    """Return the heading for an instruction file's text. The heading says where the instructions apply."""
    if scope == "user":
        return "# Instructions of the user, for every project"
    if scope == "project":
        return f"# Instructions from {path}, for the whole workspace"
    folder = path.rpartition("/")[0] or "."
    return (
        f"# Instructions from {path}, for everything below {folder}/\n\n[For files below {folder}/ these instructions "
        "take precedence over those of all parent folders and over the user's own.]"
    )


def truncation_note(file: InstructionFile) -> str:
    """Return the note that follows the text of an instruction file."""
    if not file.truncated:
        return ""
    return f"[{file.path} is too long to include in full. The rest applies too: read it before you work.]"


def joined_content(payload: InstructionsLoaded) -> tuple[Content, ...]:
    """Return the message about added instruction files and about files that no longer apply."""
    if payload.trigger != "nested" or not (payload.files or payload.removed):
        return ()
    pieces = list[Content]()
    if payload.removed:
        removed = ", ".join(payload.removed)
        note = f"[The text of {removed} above no longer applies: the file was changed or removed.]"
        pieces.append(TextContent(text=note))
    for file in payload.files:
        head = f"{instruction_heading(file.path, file.scope)}\n{_JOINED}\n"
        pieces += [TextContent(text=head), TextContent(text=file.text)]
        pieces += [TextContent(text=rest)] if (rest := truncation_note(file)) else []
    return tuple(pieces)
