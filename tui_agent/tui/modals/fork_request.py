"""The event at which a fork begins, and the command-line arguments that create a fork.

Invariant: only this module builds the arguments.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.known_files import find_event_with_known_files
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.transcript.entries import AnswerEntry, Entry, ToolEntry, UserEntry
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.settings import EFFORTS, Effort
from tui_agent.protocol.stored_text import LongText, text_preview
from tui_agent.tui.cli_client import Ask, json_rows, text_of
from tui_agent.tui.untrusted_text import clean_line, reveal_line, shorten_home

Change: TypeAlias = Literal["model", "effort", "context", "message", "result"]
Workplace: TypeAlias = Literal["folder", "worktree", "here"]
_OPTIONS: Final[dict[Change, str]] = {
    "model": "--model",
    "effort": "--reasoning-effort",
    "context": "--context-mode",
    "message": "--message",
    "result": "--result",
}
_TEXTS: Final[frozenset[Change]] = frozenset(("message", "result"))
"""Changes that need a new text. `tui-agent` reads this text from its standard input."""


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """An event of a session after which a fork can begin."""

    session: str
    at_seq: int
    workspace: str
    session_name: str = ""
    """The name of the session if it is forked at its newest event; empty if the user chose an event."""
    chosen_seq: int | None = None
    """Number of the event that the user chose, if the fork cannot begin there; otherwise None."""
    entry_text: str = ""
    """The text of the transcript's entry at the event."""
    is_next: bool = False
    """True if `entry_text` is the message right after the event. The fork does not contain this message."""
    message_seq: int | None = None
    """Number of the event of `message`; None if there is no message."""
    message: str = ""
    """The user's newest message before the event."""
    result: str = ""
    """Transcript text of the tool call, if a what-if can change its result; otherwise empty."""
    model: str = ""
    effort: str = ""
    efforts: tuple[Effort, ...] = EFFORTS
    """The reasoning efforts that the model accepts."""
    context: str = ""
    prompt_text: str = ""
    """Text to put into the prompt of the fork."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """The kinds of change that a what-if at this event can make, e.g. another model."""
        possible = {
            "effort": bool(self.efforts),
            "message": self.message_seq is not None,
            "result": bool(self.result),
        }
        return tuple(change for change in _OPTIONS if possible.get(change, True))


class ForkRequest(NamedTuple):
    """A requested fork: the folder to work in and, for a what-if, the change."""

    workplace: Workplace
    folder: str = ""
    change: Change | None = None
    value: str = ""


class ForkResult(NamedTuple):
    """The id of a new fork and a note about its files, or the reason why no fork was created."""

    id: str
    fault: str = ""
    note: str = ""


class Workplaces(NamedTuple):
    """The folders that a fork can use as its workspace.

    - `repository`: True if the workspace is in a git repository
    - `folder`: unused name for a new folder
    """

    repository: bool
    folder: str


def find_workplaces(workspace: Path, suffix: str) -> Workplaces:
    """Check for a git repository, and find an unused name for a fork's folder.

    This function blocks: call it in a thread.
    """
    in_repository = any((folder / ".git").exists() for folder in (workspace, *workspace.parents))
    folder = workspace.with_name(f"{workspace.name}-{suffix}")
    number = 2
    while folder.exists():
        folder = workspace.with_name(f"{workspace.name}-{suffix}-{number}")
        number += 1
    return Workplaces(in_repository, shorten_home(folder))


async def workplaces_for(point: ForkPoint, word: str) -> Workplaces:
    """Return the possible folders for a fork at this event.

    `word`: part of the name of a new folder.
    """
    return await asyncio.to_thread(find_workplaces, Path(point.workspace), f"{word}-{point.at_seq}")


def fork_arguments(point: ForkPoint, request: ForkRequest) -> list[str]:
    """Return the `tui-agent` arguments that create the fork.

    A new text of a message or result is not among the arguments: it goes to standard input.
    """
    # A changed message or result replaces the old one, so the fork begins elsewhere than another fork at this event.
    seq = point.at_seq
    if request.change == "message" and point.message_seq is not None:
        seq = point.message_seq - 1
    elif request.change == "result" and point.chosen_seq is not None:
        seq = point.chosen_seq
    arguments = ["sessions", "fork", point.session, "--at", str(seq)]
    if request.change is not None:
        value = "-" if request.change in _TEXTS else request.value
        arguments.append(f"{_OPTIONS[request.change]}={value}")
    if request.workplace == "here":
        arguments.append("--here")
    else:
        option = "--worktree" if request.workplace == "worktree" else "--folder"
        # In a join of two paths, an absolute second path replaces the first.
        arguments.append(f"{option}={Path(point.workspace) / Path(request.folder).expanduser()}")
    return [*arguments, "--json"]


async def make_fork(ask: Ask, point: ForkPoint, request: ForkRequest) -> ForkResult:
    """Create the fork by running `tui-agent`, without opening the new session."""
    text = request.value if request.change in _TEXTS else ""
    status, output = await ask(*fork_arguments(point, request), stdin=text)
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
    records: Sequence[Record],
    read: Callable[[LongText], Awaitable[str]],
) -> ForkPoint:
    """Return the fork point at event `seq`, or at the nearest event for which all file changes are recorded.

    - `entries`, `state`: the transcript and the state of the branch at event `seq`
    - `records`: all records of the session
    - `read`: loads a message from outside the log
    """
    at_seq = await asyncio.to_thread(find_event_with_known_files, records, seq)
    before = [entry for entry in entries if entry.seq <= at_seq]
    message = next((entry for entry in reversed(before) if _is_message(entry)), None)
    following = next((entry for entry in entries if entry.seq == at_seq + 1 and _is_message(entry)), None)
    settings = state.settings
    record = next((record for record in records if record.seq == seq), None)
    return ForkPoint(
        session=session,
        at_seq=at_seq,
        workspace=state.workspace,
        chosen_seq=seq if at_seq != seq else None,
        entry_text=_text_of(following) if following else _newest_text(before, _find_results(records, at_seq)),
        is_next=following is not None,
        message_seq=message.seq if message is not None else None,
        message=await read(message.text) if isinstance(message, UserEntry) else "",
        result=_call_text(entries, record),
        model=settings.model.profile or settings.model.model if settings is not None else "",
        effort=(settings.model.effort or "") if settings is not None else "",
        efforts=settings.model.efforts if settings is not None else EFFORTS,
        context=settings.context_mode if settings is not None else "",
        prompt_text=await read(following.text) if isinstance(following, UserEntry) else "",
    )


async def with_known_files(point: ForkPoint, records: Sequence[Record]) -> ForkPoint:
    """Return the fork point at the nearest event for which all file changes are recorded.

    `records`: all records of the session.
    """
    seq = await asyncio.to_thread(find_event_with_known_files, records, point.at_seq)
    return point if seq == point.at_seq else replace(point, at_seq=seq, chosen_seq=point.at_seq)


def _find_results(records: Sequence[Record], last: int) -> dict[CallId, int]:
    """Map the id of each tool call to the sequence number of its result. Results after event `last` are left out."""
    return {
        record.payload.call_id: record.seq
        for record in records
        if record.seq <= last and isinstance(record.payload, ToolFinished)
    }


def _newest_text(entries: Sequence[Entry], results: Mapping[CallId, int]) -> str:
    """Return the text of the newest finished message, answer or tool call."""
    # The calls of one answer can finish in any order, so the last entry need not be the newest.
    finished = {
        results[entry.call_id] if isinstance(entry, ToolEntry) else entry.seq: entry
        for entry in entries
        if not isinstance(entry, ToolEntry) or entry.call_id in results
    }
    return next(filter(None, (_text_of(finished[seq]) for seq in sorted(finished, reverse=True))), "")


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
    """Return the transcript text of `record`'s tool call; empty if there is none."""
    payload = record.payload if isinstance(record, Envelope) else None
    if not isinstance(payload, ToolCalled | ToolStarted | ToolProgress | ToolFinished):
        return ""
    tools = (entry for entry in entries if isinstance(entry, ToolEntry))
    return next((_text_of(tool) for tool in tools if tool.call_id == payload.call_id), "")
