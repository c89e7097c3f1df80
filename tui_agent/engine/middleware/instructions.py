"""Instruction files (AGENTS.md) as context for the model.

The system prompt contains the files of the user and of the workspace's root. When the agent starts to work in a
subfolder, the subfolder's file is added to the conversation.

Invariant: the model sees exactly the text in the event `instructions.loaded`.
"""

from collections.abc import Callable, Iterator, Sequence

import tui_agent.plugin_api as api
from tui_agent.context.instructions import (
    InstructionFiles,
    LoadedInstructions,
    folders_of,
    insert_files,
    room_of,
)
from tui_agent.engine.recorder import Recorder
from tui_agent.folds.context.instructions import instruction_heading, truncation_note
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.protocol.events.instructions import InstructionFile, InstructionsLoaded
from tui_agent.protocol.ids import MAIN_AGENT, AgentId

FIRST_PRIORITY = 950
"""Priority of the first instruction text. It is a high number, because instructions come last in the system prompt."""
HEADING = (
    "Follow the instructions below, from the user and the project. If two conflict, the later one wins for the files it "
    "covers. The user's messages in this conversation override them all."
)


class Instructions(api.BaseMiddleware):
    """A middleware that gives the model the instructions in AGENTS.md files.

    - `resolve_text`: function that returns the full text of a stored text.
    - `touched`: function that returns the files and folders that a call's commands read or write.
    """

    name = "instructions"

    def __init__(
        self,
        files: InstructionFiles,
        recorder: Recorder,
        resolve_text: Callable[[api.LongText], str],
        touched: Callable[[api.ToolCallPart], Sequence[str]] = lambda call: (),
    ) -> None:
        self._files = files
        self._recorder = recorder
        self._resolve_text = resolve_text
        self._touched = touched

    async def on_turn_start(self, turn: api.TurnContext) -> None:
        """Record changed instruction files. Add the instruction files of subfolders that the user's message mentions."""
        for event in _differences(turn.state, await self._files.load(turn.state.instructions)):
            turn.emit(event)
        await self._add_files(MAIN_AGENT, turn.state.mentioned_paths)

    async def wrap_tool(self, call: api.ToolCallPart, call_next: api.ToolNext) -> api.ToolResult:
        """Run the call, then add the instruction files for files that it read or changed."""
        open_calls = self._recorder.state_of(MAIN_AGENT).open_calls
        agent = next((item.agent for item in open_calls if item.call_id == call.call_id), MAIN_AGENT)
        result = await call_next(call)
        after, arguments = self._recorder.state_of(agent), str(call.arguments)
        paths = [event.path for event in result.events if isinstance(event, api.FileRead)]
        paths += [path for path in after.written_paths if path in arguments]
        # A read-only delegate gets no instructions at all.
        if after.settings is None or after.settings.policy != "read-only-delegate":
            await self._add_files(agent, [*paths, *await self._files.workspace_paths(self._touched(call))])
        return result

    async def _add_files(self, agent: AgentId, paths: Sequence[str]) -> None:
        """Add the instruction files for `paths` to the agent's conversation."""
        folders = folders_of(paths)
        if not folders:
            return
        state = self._recorder.state_of(agent)
        window = state.settings.model.window if state.settings is not None else 0
        applicable = await self._files.load_nested(folders, state.instructions, room_of(window))
        present = self._recorder.state_of(agent)  # a parallel call may have added files in the meantime
        known = {file.path for file in present.instructions}
        new = tuple(file for file in applicable.files if file.path not in known)
        notes = tuple(dict.fromkeys((*present.instruction_notes, *applicable.notes)))
        if new or notes != present.instruction_notes:
            order = tuple(file.path for file in insert_files(present.instructions, new))
            self._recorder.append(
                InstructionsLoaded(trigger="nested", files=new, order=order, notes=notes), agent=agent
            )

    def contribute(self, state: SessionStateView) -> Sequence[api.Fragment]:
        """Return a fragment for each instruction file, the most general first."""
        if not state.instructions:
            return ()
        joined_at = [state.agent_instructions.joined.get(file.path) for file in state.instructions]
        # The system prompt needs the heading unless every file is in the conversation.
        first = None if None in joined_at else min(seq for seq in joined_at if seq is not None)
        head = api.Fragment(
            id="instructions", text=HEADING, section="instructions", priority=FIRST_PRIORITY, joined_seq=first
        )
        return (
            head,
            *(self._fragment(index, file, joined_at[index]) for index, file in enumerate(state.instructions)),
        )

    def _fragment(self, index: int, file: InstructionFile, joined: int | None) -> api.Fragment:
        texts = (
            instruction_heading(file.path, file.scope),
            self._resolve_text(file.text),
            truncation_note(file),
        )
        return api.Fragment(
            id=file.path,
            text="\n\n".join(filter(None, texts)),
            section="instructions",
            priority=FIRST_PRIORITY + 1 + index,
            joined_seq=joined,
        )


def _differences(state: SessionStateView, present: LoadedInstructions) -> Iterator[InstructionsLoaded]:
    """Yield the events about new, changed and removed files: one for the system prompt, one for the conversation."""
    loaded, order = state.agent_instructions, tuple(file.path for file in present.files)
    digests = {file.path: file.sha256 for file in loaded.files}
    changed = [file for file in present.files if digests.get(file.path) != file.sha256]
    # A changed file must first leave the conversation before its new text can join.
    rejoining = tuple(file for file in changed if file.path in loaded.joined)
    removed = (*(file.path for file in rejoining), *(path for path in loaded.joined if path not in order))
    in_prompt = tuple(file for file in changed if file.path not in loaded.joined)
    old_order, new_order = (
        [path for path in paths if path not in loaded.joined] for paths in (digests, order)
    )
    if in_prompt or old_order != new_order or (present.notes != loaded.notes and not removed):
        yield InstructionsLoaded(trigger="turn", files=in_prompt, order=order, notes=present.notes)
    if removed:
        yield InstructionsLoaded(
            trigger="nested", files=rejoining, removed=removed, order=order, notes=present.notes
        )
