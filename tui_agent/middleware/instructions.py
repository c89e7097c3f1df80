"""L4: the files of instructions in the system prompt: read at a turn's start, and below a folder once it is worked in.

Invariant: what the model is told is what the newest `instructions.loaded` says; nothing is read for a request.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from tui_agent.context.instructions import Found, InstructionFiles, folders_of, joined
from tui_agent.folds.session_state import SessionStateView
from tui_agent.plugin_api import (
    BaseMiddleware,
    FileRead,
    Fragment,
    LongText,
    ToolCallPart,
    ToolNext,
    ToolResult,
    TurnContext,
)
from tui_agent.protocol.events.instructions import InstructionFile, InstructionsLoaded

FIRST = 950
"""Behind everything else of the system prompt: one that joins later leaves what is before it as it was."""
HEAD = (
    "The user and the project ask you to keep to the instructions below. Where two of them differ, the later one holds "
    "for the files that it is about; what the user says in this conversation holds above all of them."
)


class Instructions(BaseMiddleware):
    """AGENTS.md files. `whole` gives a kept text back; `state` is the session as it is now."""

    name = "instructions"

    def __init__(
        self,
        files: InstructionFiles,
        state: Callable[[], SessionStateView],
        whole: Callable[[LongText], str],
    ) -> None:
        self._files = files
        self._state = state
        self._whole = whole

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Read all that hold; recorded where they are others than before."""
        known = turn.state.instructions
        nested = [one.path for one in known if one.scope == "nested"]
        found = await self._files.all(nested)
        event = _difference(turn.state, found)
        if event is not None:
            turn.emit(event)

    async def wrap_tool(self, call: ToolCallPart, nxt: ToolNext) -> ToolResult:
        """Behind a call that read or changed a file, the instructions of its folder join."""
        before = self._state().read_files
        result = await nxt(call)
        after = self._state()
        paths = [event.path for event in result.events if isinstance(event, FileRead)]
        paths += [path for path, known in after.read_files.items() if before.get(path) != known]
        folders = folders_of(paths)
        if not folders:
            return result
        found = await self._files.below(folders, after.instructions)
        now = self._state()  # another call of the same answer may have brought them meanwhile
        known = {one.path for one in now.instructions}
        fresh = tuple(one for one in found.files if one.path not in known)
        held = joined(now.instructions, replace(found, files=fresh))
        notes = tuple(dict.fromkeys((*now.instruction_notes, *held.notes)))
        files = tuple(one for one in held.files if one.path not in known)
        if not files and notes == now.instruction_notes:
            return result
        order = tuple(one.path for one in held.files)
        event = InstructionsLoaded(why="nested", files=files, order=order, notes=notes)
        return replace(result, events=(*result.events, event))

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """One fragment a file, in the order in which they hold."""
        if not state.instructions:
            return ()
        head = Fragment(id="instructions", text=HEAD, section="instructions", priority=FIRST)
        return (head, *(self._fragment(at, one) for at, one in enumerate(state.instructions)))

    def _fragment(self, at: int, one: InstructionFile) -> Fragment:
        rest = f"\n\n[{one.path} goes on: {CUT}]" if one.cut else ""
        text = f"# {_title(one)}\n\n{self._whole(one.text)}{rest}"
        return Fragment(id=one.path, text=text, section="instructions", priority=FIRST + 1 + at)


CUT = "it is too long to be here whole, and what follows holds as well. Read the rest of it before you work."


def _title(one: InstructionFile) -> str:
    if one.scope == "user":
        return "Instructions of the user, for every project"
    folder = PurePosixPath(one.path).parent
    about = "the whole workspace" if one.scope == "project" else f"everything below {folder}/"
    return f"Instructions of {one.path}, for {about}"


def _difference(state: SessionStateView, found: Found) -> InstructionsLoaded | None:
    """What is new, or has changed; None where nothing has."""
    known = {one.path: one.sha256 for one in state.instructions}
    fresh = tuple(one for one in found.files if known.get(one.path) != one.sha256)
    order = tuple(one.path for one in found.files)
    same = order == tuple(known) and found.notes == state.instruction_notes
    if same and not fresh:
        return None
    return InstructionsLoaded(why="turn", files=fresh, order=order, notes=found.notes)
