"""Translation of a session's events to the updates that an editor shows.

Invariant: the text of an answer is sent only once, either in pieces while it is streamed or complete at the end.
"""

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Final, TypeAlias

import acp
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    ContentToolCallContent,
    Cost,
    CurrentModeUpdate,
    FileEditToolCallContent,
    PlanEntryStatus,
    SessionInfoUpdate,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    ToolKind,
    UnstructuredCommandInput,
    UsageUpdate,
    UserMessageChunk,
)

from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.text.line_diff import NO_NEWLINE, hunk_sides, split_hunks
from tui_agent.folds.text.redaction_placeholders import note_hidden_differences
from tui_agent.ports.session import ReadText
from tui_agent.protocol.app_commands import SHARED_COMMANDS
from tui_agent.protocol.display_blocks import (
    CustomBlock,
    DiffBlock,
    DisplayBlock,
    MarkdownBlock,
    TableBlock,
    TerminalBlock,
    TextBlock,
)
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.model import ModelDelta, ModelResponded
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.session import ErrorRaised, SessionTitled, SettingsChanged
from tui_agent.protocol.events.slash_command import CommandRan, CommandsOffered
from tui_agent.protocol.events.todo import TodoStatus, TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted
from tui_agent.protocol.events.turn import UserMessageReceived, UserSteered
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId
from tui_agent.protocol.parts import Content, ReasoningPart, TextContent, TextPart
from tui_agent.protocol.stored_text import JsonMap, text_preview
from tui_agent.protocol.unicode_text import clip_line, replace_invisible, reveal_invisible

Update: TypeAlias = (
    AgentMessageChunk
    | AgentPlanUpdate
    | AgentThoughtChunk
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | SessionInfoUpdate
    | ToolCallProgress
    | ToolCallStart
    | UsageUpdate
    | UserMessageChunk
)
CallContent: TypeAlias = ContentToolCallContent | FileEditToolCallContent

MAX_TITLE_CHARS: Final = 200
MAX_OUTPUT_CHARS: Final = 8_000
"""Maximum characters shown of a running command's output; older output is dropped."""
_TOOL_KINDS: Final[dict[str, ToolKind]] = {
    "read_file": "read",
    "list_directory": "read",
    "read_job_output": "read",
    "read_skill": "read",
    "write_file": "edit",
    "edit_file": "edit",
    "glob": "search",
    "grep": "search",
    "repo_map": "search",
    "search_notes": "search",
    "run_command": "execute",
    "run_tests": "execute",
    "write_todos": "think",
    "write_note": "think",
    "ask_user": "think",
    "browse_url": "fetch",
    "present_plan": "switch_mode",
}
_PLAN_STATES: Final[dict[TodoStatus, PlanEntryStatus]] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "verified": "completed",
}


class UpdateTranslator:
    """Translates the events of one session in order, with paths relative to the folder `workspace`."""

    def __init__(self, workspace: str, read_text: ReadText) -> None:
        self.workspace = workspace
        self._read_text = read_text
        self._streamed: dict[tuple[RequestId, str], int] = {}
        """Maps (request id, kind of part) to the number of characters of the answer sent so far."""
        self._output: dict[CallId, str] = {}
        self._meter = ContextMeter()
        self._delegates: set[AgentId] = set()

    async def translate(self, event: Envelope, state: SessionState, *, replayed: bool) -> list[Update]:
        """Return the updates for an event; `state` is the session's state after the event.

        `replayed`: True if the event is from the history. Only then do the updates include the user's messages, because
        an editor itself shows the messages that its user sends.
        """
        updates = await self._content_updates(event, state, replayed=replayed)
        if self._meter.apply(event) and isinstance(event.payload, ContextPacked | ModelResponded):
            meter = self._meter.view()
            if meter.window and not meter.assumed:
                updates.append(_usage_update(meter.used, meter.window, state.view().cost_usd))
        return updates

    async def _content_updates(self, event: Envelope, state: SessionState, *, replayed: bool) -> list[Update]:
        match event.payload:
            case AgentSpawned():
                self._delegates.add(event.agent)
            case ToolCalled() | ToolStarted() | ToolProgress() | ToolFinished():
                return await self._tool_updates(event)
            case TodoUpdated(items=items) if event.agent == MAIN_AGENT:
                entries = [
                    acp.plan_entry(item.content, status=_PLAN_STATES[item.status])
                    for item in items
                    if item.status != "abandoned"
                ]
                return [acp.update_plan(entries)]
            case CommandsOffered():
                return [command_update(state.view())]
            case CommandRan(display=display):
                return [acp.update_agent_message_text(text) for text in await self.block_texts(display)]
            case PluginLoaded() | PluginUnloaded() | PluginFailed() as plugin if (
                not replayed and plugin.lines
            ):
                return [_notice_update(" ".join(plugin.lines))]
            case ErrorRaised(message=message, hint=hint):
                return [_notice_update(f"Error: {message} {hint}")]
            case SessionTitled(title=title):
                return [SessionInfoUpdate(session_update="session_info_update", title=title)]
            case SettingsChanged(key="policy", value=str(policy)):
                return [CurrentModeUpdate(session_update="current_mode_update", current_mode_id=policy)]
            case UserMessageReceived(text=text) | UserSteered(text=text) if replayed:
                return [acp.update_user_message_text(await self._read_text(text))]
            case ModelDelta() | ModelResponded() if event.agent == MAIN_AGENT:
                return await self._answer_updates(event.payload)
            case _:
                pass
        return []

    async def _answer_updates(self, payload: ModelDelta | ModelResponded) -> list[Update]:
        if isinstance(payload, ModelDelta):
            if payload.part_kind == "tool_call" or not payload.text:
                return []
            key = payload.request_id, payload.part_kind
            self._streamed[key] = self._streamed.get(key, 0) + len(payload.text)
            return [_answer_update(payload.part_kind, payload.text)]
        updates: list[Update] = []
        for kind, part_type in (("reasoning", ReasoningPart), ("text", TextPart)):
            streamed = self._streamed.pop((payload.request_id, kind), 0)
            if not streamed:
                texts = [
                    await self._read_text(part.text) for part in payload.parts if isinstance(part, part_type)
                ]
                updates += [_answer_update(kind, text) for text in texts if text]
        return updates

    async def _tool_updates(self, event: Envelope) -> list[Update]:
        match event.payload:
            case ToolCalled() as call:
                return [self._call_start(event.agent, call)]
            case ToolStarted(call_id=call_id):
                return [acp.update_tool_call(call_id, status="in_progress")]
            case ToolProgress(call_id=call_id, text=text):
                shown = (self._output.get(call_id, "") + text)[-MAX_OUTPUT_CHARS:]
                self._output[call_id] = shown
                return [acp.update_tool_call(call_id, content=[text_content(shown)])]
            case ToolFinished() as end:
                self._output.pop(end.call_id, None)
                content = await self.contents(end.display) or await self._result_contents(end.content)
                status: ToolCallStatus = "completed" if end.status == "ok" else "failed"
                return [acp.update_tool_call(end.call_id, status=status, content=content)]
            case _:
                return []

    def _call_start(self, agent: AgentId, call: ToolCalled) -> Update:
        name = agent if agent in self._delegates else ""
        title = clip_line(f"{name + ': ' if name else ''}{call.verb} {call.target}", MAX_TITLE_CHARS)
        return acp.start_tool_call(
            call.call_id,
            replace_invisible(title, "�").strip() or call.name,
            kind=_TOOL_KINDS.get(call.name, "other"),
            status="pending",
            locations=[ToolCallLocation(path=path) for path in self._paths(call.arguments)],
            raw_input=call.arguments,
        )

    def _paths(self, arguments: JsonMap) -> list[str]:
        path = arguments.get("path")
        return [self._resolve_path(path)] if isinstance(path, str) and path else []

    def _resolve_path(self, path: str) -> str:
        return str(PurePath(self.workspace, path))

    async def contents(self, blocks: Sequence[DisplayBlock]) -> list[CallContent]:
        """Convert display blocks to the contents of a tool call. A diff becomes one content per hunk."""
        contents: list[CallContent] = []
        for block in blocks:
            if isinstance(block, DiffBlock):
                path, diff = self._resolve_path(block.path), await self._read_text(block.diff)
                diff = note_hidden_differences(diff)
                contents += [_hunk_content(path, hunk) for hunk in split_hunks(diff)]
            elif text := await self._block_text(block):
                contents.append(text_content(text))
        return contents

    async def block_texts(self, blocks: Sequence[DisplayBlock]) -> list[str]:
        """Return the texts of display blocks, without empty texts."""
        texts = [await self._block_text(block) for block in blocks]
        return [text for text in texts if text]

    async def _block_text(self, block: DisplayBlock) -> str:
        match block:
            case MarkdownBlock(text=text):
                return await self._read_text(text)
            case TextBlock(text=text) | TerminalBlock(text=text):
                return reveal_invisible(await self._read_text(text))
            case TableBlock(columns=columns, rows=rows):
                return "\n".join("\t".join(row) for row in (columns, *rows))
            case CustomBlock(text=text):
                return text
            case _:
                return block.model_dump_json(exclude={"kind"})

    async def _result_contents(self, contents: Iterable[Content]) -> list[CallContent]:
        texts = [
            text_preview(content.text) if isinstance(content, TextContent) else f"[image {content.name}]"
            for content in contents
        ]
        return [text_content(text) for text in texts if text]


def command_update(state: SessionStateView) -> AvailableCommandsUpdate:
    """Return the slash commands for an editor. Commands about the session, such as `/undo`, come first."""
    own = {item.name: item for item in SHARED_COMMANDS}
    others = (item for items in state.commands.values() for item in items if item.name not in own)
    return AvailableCommandsUpdate(
        session_update="available_commands_update",
        available_commands=[
            AvailableCommand(
                name=item.name,
                description=item.help or item.name,
                input=AvailableCommandInput(UnstructuredCommandInput(hint=item.arguments))
                if item.arguments
                else None,
            )
            for item in (*own.values(), *others)
        ],
    )


def _usage_update(used: int, size: int, cost: float | None) -> UsageUpdate:
    spent = None if cost is None else Cost(amount=cost, currency="USD")
    return UsageUpdate(session_update="usage_update", used=used, size=size, cost=spent)


def _answer_update(kind: str, text: str) -> Update:
    return acp.update_agent_thought_text(text) if kind == "reasoning" else acp.update_agent_message_text(text)


def _notice_update(text: str) -> Update:
    # The notice can come in the middle of an answer, of which the editor makes one message.
    return acp.update_agent_message_text(f"\n\n{reveal_invisible(text.strip())}\n\n")


def text_content(text: str) -> CallContent:
    return acp.tool_content(acp.text_block(text))


def _hunk_content(path: str, hunk: str) -> CallContent:
    old, new = map(_join_lines, hunk_sides(hunk))
    return acp.tool_diff_content(path, new, old or None)


def _join_lines(lines: Sequence[str]) -> str:
    text = "".join(f"{line}\n" for line in lines)
    return text.removesuffix(f"\n{NO_NEWLINE}\n")
