"""Chat handlers for events shown as notices: errors, settings, repairs, user commands, hooks, jobs, undo."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.text.labels import (
    describe_folders_left_out,
    fork_changes,
    skipped_lines_notice,
    unknown_events_notice,
    unknown_price_warning,
)
from tui_agent.folds.text.undo_sentences import (
    describe_kept_files,
    describe_remains,
    list_names,
    list_restored,
)
from tui_agent.folds.transcript.entries import NoticeEntry, NoticeLevel, UserEntry
from tui_agent.folds.transcript.streamed_entries import OUTPUT_TAIL_CHARS
from tui_agent.folds.transcript.transcript_state import Draft, EndedJob
from tui_agent.protocol.display_blocks import TerminalBlock, TextBlock
from tui_agent.protocol.envelope import Envelope, UnknownEvent
from tui_agent.protocol.events.files import CheckpointRestored
from tui_agent.protocol.events.hook import HOOK_STOPPED, REFUSED_MESSAGE, HookRan
from tui_agent.protocol.events.job import JobFinished, JobStarted, JobStopper
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.policy import PermissionRevoked
from tui_agent.protocol.events.session import (
    NOTHING_RUNS,
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
from tui_agent.protocol.events.slash_command import CommandRan
from tui_agent.protocol.events.turn import ShellEnd, UserShellFinished, UserShellProgress, UserShellStarted
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.stored_text import text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_bytes, format_cost, format_milliseconds, format_time_limit, format_tokens

NOTICE_HANDLERS: Handlers[Draft] = Handlers()

_SETTINGS = {
    "model": "model",
    "policy": "policy",
    "agent": "agent",
    "context_mode": "context mode",
    "repo_map": "repository map",
    "map_options": "map",
    "budgets": "limits",
}
_LIMIT_UNITS = {"max_parts": "message part", "max_iterations": "iteration", "max_turns": "turn"}
_SET_PRICE = "To set the price, add input_price and output_price to its profile."
_HIDDEN_NOTE = ("kept out of the context",)
_SHELL_ENDS: dict[ShellEnd, str] = {
    "interrupted": "stopped",
    "timeout": "timed out",
    "failed": "not run",
    "lost": "lost",
}
_TIMED_ENDS: frozenset[ShellEnd] = frozenset({"interrupted", "timeout"})
"""Ends of a user's command after which the chat shows the command's duration."""
MAX_NAMED_CHARS: Final = 40
"""Maximum length of the quoted message that identifies a turn, in characters."""
_HEAD_MOVES = {
    "undo": "Undid the last turn. /redo restores it.",
    "revert": "Reverted to {place}. /redo restores the newer state.",
    "branch": "Switched to another branch, at {place}. /redo switches back.",
}
_UNCHANGED: Final = (
    "the conversation is unchanged. To reverse this, use /redo or, after your next message, /checkpoints."
)
_FILE_MOVES = {
    "hunk": "Reverted one change in {files}. /redo restores it.",
    "files": f"Restored {{files}}; {_UNCHANGED}",
    "removed": f"Removed {{files}}; {_UNCHANGED}",
    "mixed": f"{{counts}}; {_UNCHANGED}",
    "kept": "Undid the changes in {files} too. /redo brings your version back.",
    "kept in a redo": "Redid the changes in {files} too. /redo brings your version back.",
}
_FILE_REDOS = {
    "hunk": "Restored the change in {files} that you had reverted.",
    "files": "Restored the newer version of {files}.",
    "removed": "Removed {files} again.",
    "mixed": "Restored the newer versions. {counts}.",
    "kept": "Restored your version of {files}.",
}


@NOTICE_HANDLERS.on(ErrorRaised)
def _on_error_raised(draft: Draft, ev: Envelope, payload: ErrorRaised) -> None:
    blocks = (TerminalBlock(text=payload.detail),) if payload.detail else ()
    draft.add_notice(ev, "error", "error", (payload.message, payload.hint), blocks)


@NOTICE_HANDLERS.on(CommandRejected)
def _on_command_rejected(draft: Draft, ev: Envelope, payload: CommandRejected) -> None:
    newest = len(draft.entries) - 1
    hook = draft.entries[newest] if newest >= 0 else None
    if payload.reason.startswith(REFUSED_MESSAGE) and isinstance(hook, NoticeEntry) and hook.kind == "hook":
        lines = (payload.reason, *hook.lines[1:], payload.hint)
        draft.update_notice(newest, "warning", lines, "rejected", payload.command)
    # A stop that comes too late would hide the notice that tells how the work ended.
    elif (payload.command, payload.reason) != ("interrupt", NOTHING_RUNS):
        draft.add_notice(ev, "rejected", "warning", (payload.reason, payload.hint), command=payload.command)


@NOTICE_HANDLERS.on(LogRepaired)
def _on_log_repaired(draft: Draft, ev: Envelope, payload: LogRepaired) -> None:
    if payload.rewritten:
        lines = ["The session's log was removed or replaced while it was open. It was written again in full."]
        lines += (
            [f"The file found in its place was moved to {payload.side_file}."] if payload.side_file else []
        )
    else:
        amount = format_bytes(payload.moved_bytes)
        moved = f"An incomplete line at the end of the log ({amount}) was moved to {payload.side_file}."
        lines = ["The session's log was repaired."]
        lines += [moved] if payload.moved_bytes else []
        lines += [f"{skipped_lines_notice(len(payload.bad_lines))}."] if payload.bad_lines else []
    draft.add_notice(ev, "repair", "warning", lines)


def count_unknown(draft: Draft, record: UnknownEvent) -> None:
    """Count an event of an unknown kind or version, and show the count in a notice."""
    other = record.is_other_version
    index, count = draft.unknown_notices.get(other, (-1, 0))
    lines = (f"{unknown_events_notice(count + 1, other_version=other)}.",)
    if count:
        draft.update_notice(index, "warning", lines)
    else:
        index = draft.add_notice(record, "repair", "warning", lines)
    draft.unknown_notices[other] = index, count + 1


@NOTICE_HANDLERS.on(SessionStarted)
def _on_session_started(draft: Draft, ev: Envelope, payload: SessionStarted) -> None:
    model = payload.settings.model
    draft.price = (model.model, model.has_price)
    draft.model_without_images = "" if model.images else model.model
    draft.cost_limit = payload.settings.budgets.max_cost_usd
    _warn_of_unknown_price(draft, ev)


def _warn_of_unknown_price(draft: Draft, ev: Envelope) -> None:
    model, has_price = draft.price
    warning = unknown_price_warning(model, draft.cost_limit, has_price=has_price)
    if warning:
        draft.add_notice(ev, "settings", "warning", (warning, _SET_PRICE))


def _update_settings(draft: Draft, ev: Envelope, payload: SettingsChanged) -> None:
    """Store the price and the image support of a new model, or a new cost limit."""
    match payload.key, payload.value:
        case "model", dict() as model:
            prices = (model.get("input_price"), model.get("output_price"))
            has_price = all(isinstance(price, int | float) for price in prices)
            name = str(model.get("model", ""))
            draft.price = (name, has_price)
            draft.model_without_images = "" if model.get("images") else name
        case "budgets", dict() as budgets:
            limit = budgets.get("max_cost_usd")
            draft.cost_limit = float(limit) if isinstance(limit, int | float) else None
        case _:
            return
    _warn_of_unknown_price(draft, ev)


@NOTICE_HANDLERS.on(SettingsChanged)
def _on_settings_changed(draft: Draft, ev: Envelope, payload: SettingsChanged) -> None:
    name = _SETTINGS[payload.key]
    line = f"{name} {_format_value(payload.value)}".strip()
    newest = draft.entries[-1] if len(draft.entries) else None
    if (
        isinstance(newest, NoticeEntry)
        and newest.kind == "settings"
        and newest.lines[0].startswith(f"{name} ")
    ):
        draft.update_notice(len(draft.entries) - 1, "info", (line,))
    else:
        draft.add_notice(ev, "settings", "info", (line,))
    _update_settings(draft, ev, payload)


def _format_value(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return str(value)
    if "pinned" in value:
        return _format_map_options(value)
    if "profile" in value:
        return " ".join(str(value[key]) for key in ("profile", "effort") if value.get(key))
    items = ", ".join(_format_item(key, item) for key, item in value.items() if item is not None)
    return items or "none"


def _format_item(key: str, item: JsonValue) -> str:
    """Describe one item of a setting with several values, e.g. `cost $0.05`."""
    if key == "max_cost_usd" and isinstance(item, int | float):
        return f"cost {format_cost(item)}"
    if key == "timeout_seconds" and isinstance(item, int | float):
        return format_time_limit(item)
    if key in _LIMIT_UNITS and isinstance(item, int):
        return format_count(item, _LIMIT_UNITS[key])
    return f"{key} {_count_list(item)}"


def _format_map_options(value: Mapping[str, JsonValue]) -> str:
    """Describe the options of the repository map in one line: `2.4k tokens, 1 pinned, 1 hidden`."""
    tokens = value.get("max_tokens")
    phrases = [f"{format_tokens(tokens)} tokens"] if isinstance(tokens, int) else []
    paths = {kind: value.get(kind) for kind in ("pinned", "hidden")}
    phrases += [
        f"{len(entries)} {kind}" for kind, entries in paths.items() if isinstance(entries, list) and entries
    ]
    return ", ".join(phrases)


def _count_list(item: JsonValue) -> JsonValue:
    return len(item) if isinstance(item, list) else item


@NOTICE_HANDLERS.on(PermissionRevoked)
def _on_permission_revoked(draft: Draft, ev: Envelope, payload: PermissionRevoked) -> None:
    draft.add_notice(ev, "settings", "info", ("rule revoked", payload.rule))


@NOTICE_HANDLERS.on(UserShellStarted)
def _on_user_shell_started(draft: Draft, ev: Envelope, payload: UserShellStarted) -> None:
    lines = ("running", *_HIDDEN_NOTE[: payload.hidden])
    draft.shell = draft.add_notice(ev, "shell", "running", lines, command=payload.label)


@NOTICE_HANDLERS.on(UserShellProgress)
def _on_user_shell_progress(draft: Draft, ev: Envelope, payload: UserShellProgress) -> None:
    entry = None if draft.shell is None else draft.entries[draft.shell]
    if draft.shell is not None and isinstance(entry, NoticeEntry):
        earlier = next((block.text for block in entry.blocks if isinstance(block, TerminalBlock)), "")
        block = TerminalBlock(text=(text_preview(earlier) + payload.text)[-OUTPUT_TAIL_CHARS:])
        draft.replace_entry(draft.shell, replace(entry, blocks=(block,)))


@NOTICE_HANDLERS.on(UserShellFinished)
def _on_user_shell_finished(draft: Draft, ev: Envelope, payload: UserShellFinished) -> None:
    level: NoticeLevel = "warning" if payload.exit_code is None else "error" if payload.exit_code else "info"
    index, draft.shell = draft.shell, None
    running = None if index is None else draft.entries[index]
    # For the text of /read or /search, the chat shows the first lines, and no exit status.
    is_text = level == "info" and isinstance(running, NoticeEntry) and running.command != payload.command
    lines = (*(() if is_text else (_describe_shell_end(payload),)), *_HIDDEN_NOTE[: payload.hidden])
    output = payload.full_output or payload.output
    blocks = (TextBlock(text=output) if is_text else TerminalBlock(text=output),) if output else ()
    if index is not None and isinstance(running, NoticeEntry):
        draft.replace_entry(
            index, replace(running, level=level, lines=lines, blocks=blocks or running.blocks)
        )
    else:
        draft.add_notice(ev, "shell", level, lines, blocks, payload.command)


def _describe_shell_end(payload: UserShellFinished) -> str:
    if payload.exit_code is not None:
        return f"exit {payload.exit_code}"
    label = _SHELL_ENDS.get(payload.end, "did not end")
    return (
        f"{label} after {format_milliseconds(payload.duration_ms)}" if payload.end in _TIMED_ENDS else label
    )


@NOTICE_HANDLERS.on(CommandRan)
def _on_command_ran(draft: Draft, ev: Envelope, payload: CommandRan) -> None:
    typed = f"/{payload.name} {payload.arguments}".rstrip()
    draft.add_notice(ev, "command", "info", (typed,), payload.display)


@NOTICE_HANDLERS.on(PluginLoaded)
def _on_plugin_loaded(draft: Draft, ev: Envelope, payload: PluginLoaded) -> None:
    if payload.lines:
        draft.add_notice(ev, "plugin", "warning" if payload.left_out else "info", payload.lines)


@NOTICE_HANDLERS.on(PluginUnloaded)
def _on_plugin_unloaded(draft: Draft, ev: Envelope, payload: PluginUnloaded) -> None:
    draft.add_notice(ev, "plugin", "info", payload.lines)


@NOTICE_HANDLERS.on(PluginFailed)
def _on_plugin_failed(draft: Draft, ev: Envelope, payload: PluginFailed) -> None:
    draft.add_notice(ev, "plugin", "warning", payload.lines)


@NOTICE_HANDLERS.on(RunStarted)
def _on_run_started(draft: Draft, ev: Envelope, payload: RunStarted) -> None:
    _note_crash(draft)


def _note_crash(draft: Draft) -> None:
    """After a crash, record the last event's time as the end of the running turn."""
    if draft.turn_running and draft.crash_time is None:
        draft.crash_time = draft.last_event_time


@NOTICE_HANDLERS.on(RunResumed)
def _on_run_resumed(draft: Draft, ev: Envelope, payload: RunResumed) -> None:
    if payload.clean:
        return
    calls = format_count(payload.closed_calls, "unfinished tool call was", "unfinished tool calls were")
    closed = f"{calls} ended." if payload.closed_calls else ""
    waits = any(
        row.state == "waiting" for row in map(draft.tool_entry, draft.tools.values()) if row is not None
    )
    approval = (
        "A call was waiting for your approval. It has not run, and you are asked again." if waits else ""
    )
    draft.add_notice(ev, "resume", "warning", ("The last run did not end properly.", closed, approval))


def _messages_until(draft: Draft, seq: int) -> Iterator[str]:
    """Yield the beginning of each message sent up to the event `seq`, in quotes, newest first."""
    for index in range(len(draft.entries) - 1, -1, -1):
        entry = draft.entries[index]
        if isinstance(entry, UserEntry) and entry.state == "sent" and entry.seq <= seq:
            text = entry.headline
            yield f"“{text if len(text) <= MAX_NAMED_CHARS else f'{text[:MAX_NAMED_CHARS].rstrip()}…'}”"


def _describe_place(draft: Draft, seq: int) -> str:
    """Describe the turn with the event `seq` by the beginning of its message, e.g. `the turn “fix the report”`."""
    message = next(_messages_until(draft, seq), "")
    return f"the turn {message}" if message else "the beginning"


def _describe_redo(draft: Draft, move: SessionHeadMoved) -> str:
    place, turns = _describe_place(draft, move.to_seq), move.restored_turns
    if move.redone == "branch":
        return f"Switched back to the branch with {place}."
    if turns > 1:
        # Not all messages start a turn, so the first of the turns cannot be named by counting messages.
        return f"Restored {turns} turns, up to {place}."
    is_whole = turns or move.redone == "undo"
    return f"Restored {'' if is_whole else 'the rest of '}{place}."


@NOTICE_HANDLERS.on(SessionHeadMoved)
def _on_session_head_moved(draft: Draft, ev: Envelope, payload: SessionHeadMoved) -> None:
    reason = payload.redone or payload.reason
    draft.is_redo, draft.undone_turn = payload.reason == "redo", payload.turn
    if payload.files and (reason == "hunk" or reason == "files"):
        draft.file_move = reason
        return  # `checkpoint.restored` follows and names the files
    if payload.reason == "redo":
        headline = _describe_redo(draft, payload)
    else:
        headline = _HEAD_MOVES[reason].format(place=_describe_place(draft, payload.to_seq))
    untouched = "No file was restored." if payload.reason in ("undo", "redo") else "Files were not changed."
    files = "" if payload.files else untouched
    draft.add_notice(ev, "resume", "info", (headline, files, *describe_remains(payload)))


@NOTICE_HANDLERS.on(CheckpointRestored)
def _on_checkpoint_restored(draft: Draft, ev: Envelope, payload: CheckpointRestored) -> None:
    kept_text = describe_kept_files(payload)
    move, draft.file_move = draft.file_move, None
    earlier, draft.unrestored = draft.unrestored, (frozenset(payload.kept_names), draft.is_redo)
    folders = tuple(folder.path for folder in payload.folders if folder.files)
    headline = list_restored(payload)
    if move is not None and (restored := (*payload.paths, *folders)):
        key: str = move
        earlier_names, was_redo = earlier
        if move == "files" and earlier_names.issuperset(restored):
            key = "kept in a redo" if was_redo and not draft.is_redo else "kept"
        elif move == "files":
            removed = payload.removed_count + sum(folder.removed for folder in payload.folders)
            total = (
                len(payload.paths) + payload.unlisted_count + sum(folder.files for folder in payload.folders)
            )
            key = "files" if not removed else "removed" if removed == total else "mixed"
        names_text = list_names(restored, is_complete=not payload.unlisted_count)
        counts = headline.removesuffix(".")
        headline = (_FILE_REDOS if draft.is_redo else _FILE_MOVES)[key].format(
            files=names_text, counts=counts
        )
    draft.add_notice(ev, "resume", "warning" if kept_text else "info", (headline, kept_text))


@NOTICE_HANDLERS.on(SessionForked)
def _on_session_forked(draft: Draft, ev: Envelope, payload: SessionForked) -> None:
    _note_crash(draft)
    for queue_id in tuple(draft.queued):
        draft.unqueue(queue_id)
    place = _describe_place(draft, payload.at_seq)
    headline = f"Forked from {payload.parent_session} at {place}. /tree shows both sessions."
    changes = "; ".join(fork_changes(payload.changes))
    left_out = describe_folders_left_out(payload.changes.left_out_folders)
    lines = (headline, f"Changed: {changes}." if changes else "", left_out)
    draft.add_notice(ev, "resume", "info", lines)


@NOTICE_HANDLERS.on(WorkspaceMoved)
def _on_workspace_moved(draft: Draft, ev: Envelope, payload: WorkspaceMoved) -> None:
    headline = f"The session now works in {payload.workspace}."
    draft.add_notice(ev, "resume", "info", (headline, f"Previous folder: {payload.previous}."))


@NOTICE_HANDLERS.on(HookRan)
def _on_hook_ran(draft: Draft, ev: Envelope, payload: HookRan) -> None:
    row = draft.tool_entry(draft.delegates.get(ev.agent, draft.tools.get(payload.call_id or CallId(""))))
    suffix = f" {row.verb} {row.target}".rstrip() if row is not None else f" {payload.tool}".rstrip()
    head, level = _describe_result(payload, suffix)
    if not head:
        return
    origin = ", from the project" if payload.source == "project" else ""
    source = f"hook: {payload.command} ({payload.event}{origin})"
    draft.add_notice(ev, "hook", level, (head, source))
    if payload.arguments_changed and row is not None and ev.agent not in draft.delegates:
        updated = replace(row, target=payload.target, arguments=payload.arguments)
        draft.replace_entry(draft.tools[row.call_id], updated)


def _describe_result(payload: HookRan, suffix: str) -> tuple[str, NoticeLevel]:
    """Return the headline and the level of the notice about a hook."""
    reason = f": {payload.reason}" if payload.reason else ""
    if payload.fault == HOOK_STOPPED:
        return f"A hook{' for' if suffix else ''}{suffix} was stopped", "info"
    if payload.fault:
        consequence = " The call needs your approval." if payload.event == "before_tool" else ""
        return f"A hook failed{' at' if suffix else ''}{suffix}: {payload.fault}{consequence}", "warning"
    if payload.decision == "deny":
        verb = "objects to" if payload.event.startswith("after") else "refused"
        return f"A hook {verb}{suffix}{reason}", "warning"
    if payload.arguments_changed:
        approval = " and requires your approval" if payload.decision == "ask" else ""
        return f"A hook changed{suffix}{approval}{reason}", "info"
    if payload.decision == "ask":
        return f"A hook requires your approval{' for' if suffix else ''}{suffix}{reason}", "info"
    if payload.context:
        return f"A hook added context{' to' if suffix else ''}{suffix}", "info"
    return "", "info"


@NOTICE_HANDLERS.on(JobStarted)
def _on_job_started(draft: Draft, ev: Envelope, payload: JobStarted) -> None:
    draft.jobs[payload.job_id] = payload.command, draft.tools.get(payload.call_id)


_STOP_REASONS: Final[dict[JobStopper, str]] = {
    "": "by the agent",
    "user": "by you",
    "agent": "by the agent",
    "rewind": "by an undo",
}


@NOTICE_HANDLERS.on(JobFinished)
def _on_job_finished(draft: Draft, ev: Envelope, payload: JobFinished) -> None:
    command, index = draft.jobs.pop(payload.job_id, ("", None))
    label = f"{payload.job_id} {command.splitlines()[0]}" if command else str(payload.job_id)
    outcome = _describe_end(payload)
    entry = draft.tool_entry(index)
    job = EndedJob(f"{payload.job_id}, {outcome}", _level(payload), f"{label}: {outcome}")
    if index is not None and entry is not None and entry.state == "running":
        draft.ended_jobs[index] = job  # The result of the call normally names the end.
        return
    draft.add_ended_job(ev, job, index)


def _level(payload: JobFinished) -> NoticeLevel:
    if payload.end in ("lost", "failed"):
        return "warning"
    return "error" if payload.end == "exited" and payload.exit_code else "info"


def _describe_end(payload: JobFinished) -> str:
    match payload.end:
        case "exited":
            return f"ended, exit {payload.exit_code}" if payload.exit_code is not None else "ended"
        case "stopped":
            return f"stopped {_STOP_REASONS[payload.stopped_by]}"
        case "session":
            return "ended with the session"
        case "forked":
            return "does not run in this fork"
        case "failed":
            return f"could not be started. {payload.message}".rstrip()
        case "lost":
            return "ended with the program"
