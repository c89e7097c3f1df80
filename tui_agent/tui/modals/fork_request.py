"""The event at which a fork begins, and the command-line arguments that create a fork.

Invariant: the classes only hold data, and only this module builds the arguments.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.view import SessionStateView
from tui_agent.folds.transcript.entries import AnswerEntry, Entry, ToolEntry, UserEntry
from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted
from tui_agent.tui.cli_client import Ask, json_rows, text_of
from tui_agent.tui.text import clean_line, reveal_line, shorten_home

Change: TypeAlias = Literal["model", "effort", "context", "message", "result"]
Workplace: TypeAlias = Literal["folder", "worktree", "here"]
_OPTIONS: Final[dict[Change, str]] = {
    "model": "--model",
    "effort": "--reasoning-effort",
    "context": "--context-mode",
    "message": "--message",
    "result": "--result",
}


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """An event of a session. A fork can begin after this event."""

    session: str
    at_seq: int
    workspace: str
    entry_text: str = ""
    """The transcript text at the event."""
    is_next: bool = False
    """True if `entry_text` comes after the event. The fork then does not contain this text."""
    message_seq: int | None = None
    message: str = ""
    """The user's newest message before the event."""
    result: str = ""
    """The tool call that the event belongs to; a what-if can change the call's result."""
    model: str = ""
    effort: str = ""
    context: str = ""
    prompt_text: str = ""
    """Text to put into the prompt of the fork."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """The kinds of change that a what-if can make at this event, e.g. another model."""
        possible = {"message": self.message_seq is not None, "result": bool(self.result)}
        return tuple(change for change in _OPTIONS if possible.get(change, True))


class ForkRequest(NamedTuple):
    """A requested fork: the folder to work in and, for a what-if, the change."""

    workplace: Workplace
    folder: str = ""
    change: Change | None = None
    value: str = ""


class ForkResult(NamedTuple):
    """The id of a new fork and a note about its files, or the reason why there is none."""

    id: str
    fault: str = ""
    note: str = ""


class Workplaces(NamedTuple):
    """The folders in which a fork can work.

    `repository` is True if the workspace is in a git repository. `folder` is an unused name for a new folder.
    """

    repository: bool
    folder: str


def find_workplaces(workspace: Path, suffix: str) -> Workplaces:
    """Check for a git repository, and find an unused name for a fork's folder. Blocks, so call it in a thread."""
    in_repository = any((folder / ".git").exists() for folder in (workspace, *workspace.parents))
    folder = workspace.with_name(f"{workspace.name}-{suffix}")
    number = 2
    while folder.exists():
        folder = workspace.with_name(f"{workspace.name}-{suffix}-{number}")
        number += 1
    return Workplaces(in_repository, shorten_home(folder))


async def workplaces_for(point: ForkPoint, word: str) -> Workplaces:
    """Return the possible folders for a fork at this event; `word` is part of the name of a new folder."""
    return await asyncio.to_thread(find_workplaces, Path(point.workspace), f"{word}-{point.at_seq}")


def fork_arguments(point: ForkPoint, request: ForkRequest) -> list[str]:
    """Return the command-line arguments for `tui-agent` that create the fork."""
    seq = point.at_seq
    if request.change == "message" and point.message_seq is not None:
        seq = point.message_seq - 1
    arguments = ["sessions", "fork", point.session, "--at", str(seq)]
    if request.change is not None:
        arguments.append(f"{_OPTIONS[request.change]}={request.value}")
    if request.workplace == "here":
        arguments.append("--here")
    else:
        option = "--worktree" if request.workplace == "worktree" else "--folder"
        # In a join of two paths, an absolute second path replaces the first.
        arguments.append(f"{option}={Path(point.workspace) / Path(request.folder).expanduser()}")
    return [*arguments, "--json"]


async def make_fork(ask: Ask, point: ForkPoint, request: ForkRequest) -> ForkResult:
    """Create the fork by running `tui-agent`, without opening it."""
    status, output = await ask(*fork_arguments(point, request))
    row = next(iter(json_rows(output)), {})
    fork = text_of(row, "id")
    if status or not fork:
        fault = clean_line(output.strip().removeprefix("tui-agent: "))
        return ForkResult("", fault or "The fork could not be made.")
    return ForkResult(fork, note=clean_line(text_of(row, "note")))


async def fork_point_at(
    session: str,
    entries: Sequence[Entry],
    state: SessionStateView,
    seq: int,
    record: Record | None,
    read: Callable[[LongText], Awaitable[str]],
) -> ForkPoint:
    """Return the fork point at event `seq`. `entries` and `state` are the transcript and the state of the branch at
    that event. `read` loads a message that is stored outside the log.
    """
    before = [entry for entry in entries if entry.seq <= seq]
    message = next((entry for entry in reversed(before) if _is_message(entry)), None)
    following = next((entry for entry in entries if entry.seq == seq + 1 and _is_message(entry)), None)
    settings = state.settings
    entry = following or (before[-1] if before else None)
    return ForkPoint(
        session=session,
        at_seq=seq,
        workspace=state.workspace,
        entry_text=_text_of(entry) if entry is not None else "",
        is_next=following is not None,
        message_seq=message.seq if message is not None else None,
        message=await read(message.text) if isinstance(message, UserEntry) else "",
        result=_call_text(before, record),
        model=settings.model.profile or settings.model.model if settings is not None else "",
        effort=(settings.model.effort or "") if settings is not None else "",
        context=settings.context_mode if settings is not None else "",
        prompt_text=await read(following.text) if isinstance(following, UserEntry) else "",
    )


def _is_message(entry: Entry) -> bool:
    return isinstance(entry, UserEntry) and entry.state in ("sent", "steered")


def _text_of(entry: Entry) -> str:
    match entry:
        case UserEntry(headline=text) | AnswerEntry(text=text):
            return f"“{clean_line(' '.join(text_preview(text).split()))}”"
        case ToolEntry():
            return reveal_line(f"{entry.verb} {entry.target}".strip())
        case _:
            return ""


def _call_text(entries: Sequence[Entry], record: Record | None) -> str:
    """Return the transcript text of the tool call that an event belongs to; empty if there is no call."""
    payload = record.payload if isinstance(record, Envelope) else None
    if not isinstance(payload, ToolCalled | ToolStarted | ToolProgress | ToolFinished):
        return ""
    tools = (entry for entry in entries if isinstance(entry, ToolEntry))
    return next((_text_of(tool) for tool in tools if tool.call_id == payload.call_id), "")
