"""An event from which a session can be gone on with elsewhere, and the wish for it in words of the command line.

Invariant: plain data; what is asked of the command line is made here and nowhere else.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from tui_agent.folds.session.view import SessionStateView
from tui_agent.folds.transcript.entries import AnswerEntry, Entry, ToolEntry, UserEntry
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted
from tui_agent.tui.cli_client import Ask, json_rows, text_of
from tui_agent.tui.text import clean_line, named

Change: TypeAlias = Literal["model", "effort", "context", "message", "result"]
Where: TypeAlias = Literal["folder", "worktree", "here"]
CHANGES: Final[tuple[Change, ...]] = ("model", "effort", "context", "message", "result")
_OPTIONS: Final[dict[Change, str]] = {
    "model": "--model",
    "effort": "--reasoning-effort",
    "context": "--context-mode",
    "message": "--message",
    "result": "--result",
}


@dataclass(frozen=True, slots=True)
class Spot:
    """An event of a session. `after` are the words that stand there; `message` is the newest message of the user then.

    `result`: the event is one of this tool call, whose result could be another; `draft` is given to the fork's prompt.
    """

    session: str
    at_seq: int
    workspace: str
    after: str = ""
    before: bool = False
    """What `after` says comes next, it does not stand there yet."""
    message_seq: int | None = None
    message: str = ""
    result: str = ""
    model: str = ""
    effort: str = ""
    context: str = ""
    draft: str = ""

    @property
    def changes(self) -> tuple[Change, ...]:
        """What can be changed there."""
        there = {"message": self.message_seq is not None, "result": bool(self.result)}
        return tuple(one for one in CHANGES if there.get(one, True))


class Wish(NamedTuple):
    """What the fork is to be: where it works, and what is different in it."""

    where: Where = "here"
    folder: str = ""
    change: Change | None = None
    value: str = ""


class Made(NamedTuple):
    """A fork, or (without an `id`) why there is none."""

    id: str
    said: str = ""


class Places(NamedTuple):
    """Where a fork could work: whether the workspace is in a git repository, and a new folder beside it."""

    repository: bool
    folder: str


def places(workspace: Path, word: str) -> Places:
    """Looks at the file system. Blocking: call it in a thread."""
    inside = any((folder / ".git").exists() for folder in (workspace, *workspace.parents))
    wanted = workspace.with_name(f"{workspace.name}-{word}")
    number = 2
    while wanted.exists():
        wanted = workspace.with_name(f"{workspace.name}-{word}-{number}")
        number += 1
    home = Path.home()
    shown = f"~/{wanted.relative_to(home)}" if wanted.is_relative_to(home) else str(wanted)
    return Places(inside, shown)


def words(spot: Spot, wish: Wish) -> list[str]:
    """The wish as the command line takes it."""
    at = spot.at_seq
    if wish.change == "message" and spot.message_seq is not None:
        at = spot.message_seq - 1
    said = ["sessions", "fork", spot.session, "--at", str(at)]
    if wish.change is not None:
        said.append(f"{_OPTIONS[wish.change]}={wish.value}")
    if wish.where != "here":
        option = "--worktree" if wish.where == "worktree" else "--folder"
        folder = Path(wish.folder).expanduser()
        said.append(f"{option}={folder if folder.is_absolute() else Path(spot.workspace) / folder}")
    return [*said, "--json"]


async def make(ask: Ask, spot: Spot, wish: Wish) -> Made:
    """Make the fork; nothing is opened."""
    status, said = await ask(*words(spot, wish))
    fork = next((text_of(row, "id") for row in json_rows(said)), "")
    if status or not fork:
        return Made("", clean_line(said.strip().removeprefix("tui-agent: ")) or "The fork could not be made.")
    return Made(fork)


async def places_of(spot: Spot, word: str) -> Places:
    """The places for a fork of this event."""
    return await asyncio.to_thread(places, Path(spot.workspace), f"{word}-{spot.at_seq}")


def spot_at(
    session: str, entries: Sequence[Entry], state: SessionStateView, seq: int, record: Record | None = None
) -> Spot:
    """The spot of an event, from the transcript of its branch and the state there."""
    known = [one for one in entries if one.seq <= seq]
    asked = next((one for one in reversed(known) if _is_message(one)), None)
    coming = next((one for one in entries if one.seq == seq + 1 and _is_message(one)), None)
    settings = state.settings
    return Spot(
        session=session,
        at_seq=seq,
        workspace=state.workspace,
        after=_words(coming) if coming is not None else _words(known[-1]) if known else "",
        before=coming is not None,
        message_seq=asked.seq if asked is not None else None,
        message=text_preview(asked.text) if isinstance(asked, UserEntry) else "",
        result=_call(known, record),
        model=settings.model.profile or settings.model.model if settings is not None else "",
        effort=(settings.model.effort or "") if settings is not None else "",
        context=settings.context_mode if settings is not None else "",
        draft=text_preview(coming.text) if isinstance(coming, UserEntry) else "",
    )


def _is_message(entry: Entry) -> bool:
    return isinstance(entry, UserEntry) and entry.state in ("sent", "steered")


def _words(entry: Entry) -> str:
    match entry:
        case UserEntry() | AnswerEntry():
            return f"“{clean_line(' '.join(text_preview(entry.text).split()))}”"
        case ToolEntry():
            return named(f"{entry.verb} {entry.target}".strip())
        case _:
            return ""


def _call(entries: Sequence[Entry], record: Record | None) -> str:
    """The tool call of an event, in words."""
    payload = record.payload if isinstance(record, Envelope) else None
    if not isinstance(payload, ToolCalled | ToolStarted | ToolProgress | ToolFinished):
        return ""
    found = (one for one in entries if isinstance(one, ToolEntry) and one.call_id == payload.call_id)
    return next((_words(one) for one in found), "")
