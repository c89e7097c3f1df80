"""The transcript's side of what happens beside the talk: faults, settings, compaction, repairs."""

from collections.abc import Mapping
from dataclasses import replace

from pydantic import JsonValue

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.text.labels import fork_changes, stepped_over, unknown_events, unpriced
from tui_agent.folds.transcript.context import short_tokens
from tui_agent.folds.transcript.entries import NoticeEntry, NoticeLevel
from tui_agent.folds.transcript.state import Draft
from tui_agent.folds.transcript.streamed_entries import TAIL
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.display import TerminalBlock
from tui_agent.protocol.envelope import Envelope, UnknownEvent
from tui_agent.protocol.events.files import CheckpointRestored
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.events.policy import PermissionRevoked
from tui_agent.protocol.events.session import (
    CommandRejected,
    ErrorRaised,
    LogRepaired,
    RunResumed,
    RunStarted,
    SessionForked,
    SessionHeadMoved,
    SessionStarted,
    SettingsChanged,
    WorkspaceMoved,
)
from tui_agent.protocol.events.turn import ShellEnd, UserShellFinished, UserShellProgress, UserShellStarted
from tui_agent.protocol.unicode_text import counted

ON_NOTICES: Handlers[Draft] = Handlers()

_SETTINGS = {
    "model": "model",
    "policy": "policy",
    "agent": "agent",
    "context_mode": "context mode",
    "repo_map": "repository map",
    "map": "map",
    "budgets": "limits",
}
_SET_PRICE = "input_price and output_price in its profile set it."
_KEPT_OUT = ("kept out of the context",)
_SHELL_ENDS: dict[ShellEnd, str] = {
    "interrupted": "stopped",
    "timeout": "timed out",
    "failed": "not run",
    "lost": "lost",
}
_STOPPED: frozenset[ShellEnd] = frozenset({"interrupted", "timeout"})


@ON_NOTICES.on(ErrorRaised)
def _on_error_raised(draft: Draft, ev: Envelope, payload: ErrorRaised) -> bool:
    index = draft.notice(ev, "error", "error", (payload.message, payload.hint))
    if payload.detail:
        entry = draft.entries[index]
        if isinstance(entry, NoticeEntry):
            draft.put(index, replace(entry, blocks=(TerminalBlock(text=payload.detail),)))
    return True


@ON_NOTICES.on(CommandRejected)
def _on_command_rejected(draft: Draft, ev: Envelope, payload: CommandRejected) -> bool:
    head = draft.head(ev, f"notice.{ev.seq}")
    lines = tuple(line for line in (payload.reason, payload.hint) if line)
    draft.add(NoticeEntry(*head, "rejected", "warning", lines, command=payload.command))
    return True


@ON_NOTICES.on(LogRepaired)
def _on_log_repaired(draft: Draft, ev: Envelope, payload: LogRepaired) -> bool:
    if payload.rewritten:
        lines = [
            "The session's log had been removed or replaced while it was open. It was written anew, whole."
        ]
        lines += [f"What stood in its place is in {payload.side_file}."] if payload.side_file else []
        draft.notice(ev, "repair", "warning", lines)
        return True
    amount = counted(payload.moved_bytes, "byte")
    moved = f"An unfinished line ({amount}) was moved to {payload.side_file}."
    bad = f"{stepped_over(len(payload.bad_lines))}."
    lines = ["The session's log was repaired."]
    lines += [moved] if payload.moved_bytes else []
    lines += [bad] if payload.bad_lines else []
    draft.notice(ev, "repair", "warning", lines)
    return True


def pass_over(draft: Draft, record: UnknownEvent) -> bool:
    """Say, where the first of them stands, how many events this version does not know."""
    draft.unknown[record.newer] += 1
    words = (f"{unknown_events(draft.unknown[record.newer], newer=record.newer)}.",)
    index = draft.unknown_at.get(record.newer)
    if index is not None:
        return draft.renotice(index, "warning", words)
    head = (f"notice.{record.seq}", record.seq, record.at, draft.turn, draft.revision + 1, record.agent)
    draft.unknown_at[record.newer] = draft.add(NoticeEntry(*head, "repair", "warning", words))
    return True


@ON_NOTICES.on(SessionStarted)
def _on_session_started(draft: Draft, ev: Envelope, payload: SessionStarted) -> bool:
    model = payload.settings.model
    draft.price = (model.model, model.input_price)
    draft.cost_limit = payload.settings.budgets.max_cost_usd
    return _warn_of_cost(draft, ev)


def _warn_of_cost(draft: Draft, ev: Envelope) -> bool:
    """A limit of cost over a model without a known price limits nothing: say so where either is set."""
    words = unpriced(*draft.price, draft.cost_limit)
    if words:
        draft.notice(ev, "settings", "warning", (words, _SET_PRICE))
    return bool(words)


def _take_cost(draft: Draft, payload: SettingsChanged) -> bool:
    """Whether the model or the limits changed, taken in."""
    match payload.key, payload.value:
        case "model", dict() as model:
            price = model.get("input_price")
            known = float(price) if isinstance(price, int | float) else None
            draft.price = (str(model.get("model", "")), known)
        case "budgets", dict() as budgets:
            limit = budgets.get("max_cost_usd")
            draft.cost_limit = float(limit) if isinstance(limit, int | float) else None
        case _:
            return False
    return True


@ON_NOTICES.on(SettingsChanged)
def _on_settings_changed(draft: Draft, ev: Envelope, payload: SettingsChanged) -> bool:
    said = _say_settings(draft, ev, payload)
    return (_take_cost(draft, payload) and _warn_of_cost(draft, ev)) or said


def _say_settings(draft: Draft, ev: Envelope, payload: SettingsChanged) -> bool:
    name = _SETTINGS[payload.key]
    words = f"{name} {_value(payload.value)}".strip()
    newest = draft.entries[-1] if len(draft.entries) else None
    if (
        isinstance(newest, NoticeEntry)
        and newest.kind == "settings"
        and newest.lines[0].startswith(f"{name} ")
    ):
        return draft.renotice(len(draft.entries) - 1, "info", (words,))
    draft.notice(ev, "settings", "info", (words,))
    return True


def _value(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return str(value)
    if "pinned" in value:
        return _map(value)
    if "profile" in value:
        return " ".join(str(value[key]) for key in ("profile", "effort") if value.get(key))
    said = ", ".join(f"{key} {_count(item)}" for key, item in value.items() if item is not None)
    return said or "none"


def _map(value: Mapping[str, JsonValue]) -> str:
    """What became of the map: `2.4k tokens, 1 pinned, 1 hidden`."""
    tokens = value.get("max_tokens")
    said = [f"{short_tokens(tokens)} tokens"] if isinstance(tokens, int) else []
    paths = {which: value.get(which) for which in ("pinned", "hidden")}
    said += [f"{len(some)} {which}" for which, some in paths.items() if isinstance(some, list) and some]
    return ", ".join(said)


def _count(item: JsonValue) -> JsonValue:
    """A list as how many it has: a line is too short for the paths."""
    return len(item) if isinstance(item, list) else item


@ON_NOTICES.on(PermissionRevoked)
def _on_permission_revoked(draft: Draft, ev: Envelope, payload: PermissionRevoked) -> bool:
    draft.notice(ev, "settings", "info", ("rule taken back", payload.rule))
    return True


@ON_NOTICES.on(UserShellStarted)
def _on_user_shell_started(draft: Draft, ev: Envelope, payload: UserShellStarted) -> bool:
    lines = ("running", *_KEPT_OUT[: payload.hidden])
    head = draft.head(ev, f"notice.{ev.seq}")
    draft.shell = draft.add(NoticeEntry(*head, "shell", "running", lines, command=payload.command))
    return True


@ON_NOTICES.on(UserShellProgress)
def _on_user_shell_progress(draft: Draft, ev: Envelope, payload: UserShellProgress) -> bool:
    entry = None if draft.shell is None else draft.entries[draft.shell]
    if draft.shell is None or not isinstance(entry, NoticeEntry):
        return False
    before = next((block.text for block in entry.blocks if isinstance(block, TerminalBlock)), "")
    text = (text_preview(before) + payload.text)[-TAIL:]
    block = TerminalBlock(text=text)
    return draft.put(draft.shell, replace(entry, blocks=(block,), revision=draft.revision + 1))


@ON_NOTICES.on(UserShellFinished)
def _on_user_shell_finished(draft: Draft, ev: Envelope, payload: UserShellFinished) -> bool:
    lines = (_shell_outcome(payload), *_KEPT_OUT[: payload.hidden])
    blocks = (TerminalBlock(text=payload.output),) if payload.output else ()
    level: NoticeLevel = "warning" if payload.exit_code is None else "error" if payload.exit_code else "info"
    index, draft.shell = draft.shell, None
    began = None if index is None else draft.entries[index]
    if index is not None and isinstance(began, NoticeEntry):
        ended = replace(began, level=level, lines=lines, blocks=blocks, revision=draft.revision + 1)
        return draft.put(index, ended)
    head = draft.head(ev, f"notice.{ev.seq}")
    draft.add(NoticeEntry(*head, "shell", level, lines, blocks, payload.command))
    return True


def _shell_outcome(payload: UserShellFinished) -> str:
    if payload.exit_code is not None:
        return f"exit {payload.exit_code}"
    words = _SHELL_ENDS.get(payload.ended, "did not end")
    return f"{words} after {payload.duration_ms / 1_000:.0f} s" if payload.ended in _STOPPED else words


@ON_NOTICES.on(PluginFailed)
def _on_plugin_failed(draft: Draft, ev: Envelope, payload: PluginFailed) -> bool:
    draft.notice(ev, "plugin", "warning", (f"The plugin {payload.plugin} is off.", payload.message))
    return True


@ON_NOTICES.on(RunStarted)
def _on_run_started(draft: Draft, ev: Envelope, payload: RunStarted) -> bool:
    _broke_off(draft)
    return False


def _broke_off(draft: Draft) -> None:
    """What still runs ran until here, whenever it is closed."""
    if draft.turn_running and draft.broke_at is None:
        draft.broke_at = draft.last_at


@ON_NOTICES.on(RunResumed)
def _on_run_resumed(draft: Draft, ev: Envelope, payload: RunResumed) -> bool:
    if payload.clean:
        return False
    calls = (
        "1 open tool call was"
        if payload.closed_calls == 1
        else f"{payload.closed_calls} open tool calls were"
    )
    closed = f"{calls} closed." if payload.closed_calls else ""
    waits = any(row.state == "waiting" for row in map(draft.tool, draft.tools.values()) if row is not None)
    asked = "What you were asked is still open: nothing of it has run." if waits else ""
    draft.notice(ev, "resume", "warning", ("The last run did not end in order.", closed, asked))
    return True


@ON_NOTICES.on(SessionHeadMoved)
def _on_session_head_moved(draft: Draft, ev: Envelope, payload: SessionHeadMoved) -> bool:
    words = {"redo": "Forward again", "branch": "On another branch"}.get(payload.reason, "Went back")
    stays = "" if payload.files else "The files are as they were."
    draft.notice(
        ev,
        "resume",
        "info",
        (
            f"{words}, to event {payload.to_seq}."
            + ("" if payload.reason == "redo" else " /redo comes back."),
            stays,
        ),
    )
    return True


@ON_NOTICES.on(CheckpointRestored)
def _on_checkpoint_restored(draft: Draft, ev: Envelope, payload: CheckpointRestored) -> bool:
    count = len(payload.paths) + payload.more
    words = counted(count, "file was put back.", "files were put back.")
    kept = ", ".join(payload.kept[:3]) + (" …" if len(payload.kept) > 3 else "")
    left = f"Left alone, since you changed it too: {kept}" if kept else ""
    draft.notice(ev, "resume", "warning" if kept else "info", (words, left))
    return True


@ON_NOTICES.on(SessionForked)
def _on_session_forked(draft: Draft, ev: Envelope, payload: SessionForked) -> bool:
    _broke_off(draft)
    words = f"Forked from {payload.parent_session} at event {payload.at_seq}."
    different = "; ".join(fork_changes(payload.changed))
    draft.notice(ev, "resume", "info", (words, f"Different: {different}." if different else ""))
    return True


@ON_NOTICES.on(WorkspaceMoved)
def _on_workspace_moved(draft: Draft, ev: Envelope, payload: WorkspaceMoved) -> bool:
    words = f"The session works in {payload.workspace} from here on."
    draft.notice(ev, "resume", "info", (words, f"It worked in {payload.previous} before."))
    return True
