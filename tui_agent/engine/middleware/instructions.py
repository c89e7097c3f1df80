"""The files of instructions: those that hold from the start in the system prompt, those of a folder in the
conversation, once it is worked in.

Invariant: what the model is told is what `instructions.loaded` says; nothing is read for a request, and what a request
began with is not changed by what joins later.
"""

from collections.abc import Callable, Iterator, Sequence

from tui_agent.context.instructions import Found, InstructionFiles, folders_of, joined, room_of
from tui_agent.folds.context.instructions import instruction_words, rest_of
from tui_agent.folds.session.fold import SessionStateView
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
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.instructions import InstructionFile, InstructionsLoaded
from tui_agent.protocol.ids import MAIN_AGENT, AgentId

FIRST = 950
"""Behind everything else of the system prompt."""
HEAD = (
    "The user and the project ask you to keep to the instructions below. Where two of them differ, the later one holds "
    "for the files that it is about; what the user says in this conversation holds above all of them."
)


class Instructions(BaseMiddleware):
    """AGENTS.md files. `whole` gives a kept text back; `state` is the session as an agent has it now, `append` records
    for one; `touched` tells which files and folders the commands of a call read or write."""

    name = "instructions"

    def __init__(
        self,
        files: InstructionFiles,
        state: Callable[[AgentId], SessionStateView],
        append: Callable[[Payload, AgentId], object],
        whole: Callable[[LongText], str],
        touched: Callable[[ToolCallPart], Sequence[str]] = lambda call: (),
    ) -> None:
        self._files = files
        self._state = state
        self._append = append
        self._whole = whole
        self._touched = touched

    async def on_turn_start(self, turn: TurnContext) -> None:
        """Read all that hold; recorded where they are others than before. What the message mentions is worked in."""
        for event in _differences(turn.state, await self._files.all(turn.state.instructions)):
            turn.emit(event)
        await self._join(MAIN_AGENT, turn.state.mentioned)

    async def wrap_tool(self, call: ToolCallPart, nxt: ToolNext) -> ToolResult:
        """Behind a call that read or changed a file, by itself or by commands, the instructions of its folder join."""
        calls = self._state(MAIN_AGENT).open_calls
        agent = next((one.agent for one in calls if one.call_id == call.call_id), MAIN_AGENT)
        before = self._state(agent).read_files
        result = await nxt(call)
        after, words = self._state(agent), str(call.arguments)
        paths = [event.path for event in result.events if isinstance(event, FileRead)]
        paths += [
            path for path, known in after.read_files.items() if before.get(path) != known and path in words
        ]
        if after.settings is None or after.settings.policy != "read-only-delegate":  # which has none at all
            await self._join(agent, [*paths, *await self._files.places(self._touched(call))])
        return result

    async def _join(self, agent: AgentId, paths: Sequence[str]) -> None:
        """The instructions of these files' folders join the agent's conversation, as far as it has not got them."""
        folders = folders_of(paths)
        if not folders:
            return
        state = self._state(agent)
        window = state.settings.model.window if state.settings is not None else 0
        found = await self._files.below(folders, state.instructions, room_of(window))
        now = self._state(agent)  # another call of the same answer may have brought them meanwhile
        known = {one.path for one in now.instructions}
        fresh = tuple(one for one in found.files if one.path not in known)
        notes = tuple(dict.fromkeys((*now.instruction_notes, *found.notes)))
        if fresh or notes != now.instruction_notes:
            order = tuple(one.path for one in joined(now.instructions, fresh))
            self._append(InstructionsLoaded(why="nested", files=fresh, order=order, notes=notes), agent)

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        """One fragment a file, in the order in which they hold; what has joined the conversation stands there."""
        if not state.instructions:
            return ()
        at = [state.instructed.joined.get(one.path) for one in state.instructions]
        whole = None if None in at else min(seq for seq in at if seq is not None)
        head = Fragment(id="instructions", text=HEAD, section="instructions", priority=FIRST, joined=whole)
        return (
            head,
            *(self._fragment(number, one, at[number]) for number, one in enumerate(state.instructions)),
        )

    def _fragment(self, number: int, one: InstructionFile, joined: int | None) -> Fragment:
        texts = (instruction_words(one.path, one.scope), self._whole(one.text), rest_of(one))
        return Fragment(
            id=one.path,
            text="\n\n".join(filter(None, texts)),
            section="instructions",
            priority=FIRST + 1 + number,
            joined=joined,
        )


def _differences(state: SessionStateView, found: Found) -> Iterator[InstructionsLoaded]:
    """What is new, or has changed: in the prompt, and of what has joined the conversation."""
    has, order = state.instructed, tuple(one.path for one in found.files)
    known = {one.path: one.sha256 for one in has.files}
    fresh = [one for one in found.files if known.get(one.path) != one.sha256]
    again = tuple(one for one in fresh if one.path in has.joined)
    gone = (*(one.path for one in again), *(path for path in has.joined if path not in order))
    front = tuple(one for one in fresh if one.path not in has.joined)
    stood, stands = ([path for path in paths if path not in has.joined] for paths in (known, order))
    if front or stood != stands or (found.notes != has.notes and not gone):
        yield InstructionsLoaded(why="turn", files=front, order=order, notes=found.notes)
    if gone:
        yield InstructionsLoaded(why="nested", files=again, gone=gone, order=order, notes=found.notes)
