"""Chat handlers for events about tool calls, permissions, delegates and changed files."""

from dataclasses import replace

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.text.labels import TOOL_END_LABELS, describe_saved_rule
from tui_agent.folds.transcript.entries import Subtask, ToolEntry, ToolState, TurnEntry
from tui_agent.folds.transcript.transcript_state import Draft
from tui_agent.protocol.display_blocks import DiffBlock, TextBlock
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned
from tui_agent.protocol.events.files import CheckpointTaken, FileChanged
from tui_agent.protocol.events.model import ModelRequested, ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted, ToolStatus
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.stored_text import JsonMap, text_preview

TOOL_HANDLERS: Handlers[Draft] = Handlers()

_STATES: dict[ToolStatus, ToolState] = {
    "ok": "done",
    "failed": "failed",
    "invalid": "failed",
    "denied": "denied",
    "interrupted": "interrupted",
    "lost": "lost",
}


def _find_row(draft: Draft, ev: Envelope, call_id: CallId) -> int | None:
    """Return the index of the entry that shows a call, or None."""
    return draft.delegates.get(ev.agent, draft.tools.get(call_id))


@TOOL_HANDLERS.on(ToolCalled)
def _on_tool_called(draft: Draft, ev: Envelope, payload: ToolCalled) -> None:
    row = draft.delegates.get(ev.agent)
    if row is not None:
        label = f"{payload.verb} {payload.target}".strip() or payload.name
        draft.delegate_labels[payload.call_id] = label
        _count_delegate_call(draft, row, label)
    elif draft.tool_entry(draft.tools.get(payload.call_id)) is None:
        draft.tools[payload.call_id] = draft.add(
            _new_entry(draft, ev, payload, payload.verb, payload.target, payload.arguments)
        )


def _new_entry(
    draft: Draft,
    ev: Envelope,
    call: ToolCalled | ToolFinished,
    verb: str,
    target: str = "",
    arguments: JsonMap | None = None,
) -> ToolEntry:
    head = draft.entry_fields(ev, f"tool.{call.call_id}")
    return ToolEntry(*head, call.call_id, call.name, verb, target, "queued", arguments or {})


def _count_delegate_call(draft: Draft, row: int, label: str) -> None:
    """Add a delegate's tool call to the count and the output of the delegate's entry."""
    entry = draft.tool_entry(row)
    if entry is None:
        return
    calls = draft.delegate_calls[row] = draft.delegate_calls.get(row, 0) + (1 if label else 0)
    outcome = "1 tool call" if calls == 1 else f"{calls} tool calls"
    subtask = replace(entry.subtask, calls=calls) if entry.subtask is not None else None
    draft.replace_entry(row, replace(entry, outcome=outcome, subtask=subtask))
    if label:
        draft.append_text(row, label + "\n")


def _mark_delegate_call(draft: Draft, row: int, finished: ToolFinished) -> None:
    """Append the status of a delegate's unsuccessful call to the line of the call, e.g. `write a.md (denied)`."""
    label, entry = draft.delegate_labels.pop(finished.call_id, ""), draft.tool_entry(row)
    if finished.status == "ok" or not label or entry is None:
        return
    before, line, after = f"\n{entry.output}".rpartition(f"\n{label}\n")
    if line:
        status = TOOL_END_LABELS[finished.status]
        output = f"{before}\n{label} ({status})\n{after}".removeprefix("\n")
        draft.replace_entry(row, replace(entry, output=output))


@TOOL_HANDLERS.on(ModelRequested)
def _on_model_requested(draft: Draft, ev: Envelope, payload: ModelRequested) -> None:
    row = draft.delegates.get(ev.agent)
    if row is not None:
        _update_subtask(draft, row, ev.agent, iteration=payload.local_iteration)
        _count_delegate_call(draft, row, "")


@TOOL_HANDLERS.on(ModelResponded)
def _on_model_responded(draft: Draft, ev: Envelope, payload: ModelResponded) -> None:
    row = draft.delegates.get(ev.agent)
    if row is not None:
        _update_subtask(draft, row, ev.agent, answer=payload)


def _update_subtask(
    draft: Draft, row: int, agent: AgentId, *, iteration: int = 0, answer: ModelResponded | None = None
) -> None:
    """Set a delegate's iteration on its entry, and add the tokens of `answer`."""
    entry = draft.tool_entry(row)
    if entry is None or entry.subtask is None:
        return
    subtask = entry.subtask
    own_iteration = iteration if iteration and subtask.agent == agent else subtask.iteration
    usage = subtask.usage if answer is None else subtask.usage.with_call(answer)
    subtask = replace(subtask, iteration=own_iteration, usage=usage)
    draft.replace_entry(row, replace(entry, subtask=subtask))


@TOOL_HANDLERS.on(PermissionRequested)
def _on_permission_requested(draft: Draft, ev: Envelope, payload: PermissionRequested) -> None:
    index = _find_row(draft, ev, payload.call_id)
    entry = draft.tool_entry(index)
    if index is None or entry is None:
        return
    target_only = (TextBlock(text=entry.target),)  # The row already shows the target.
    is_known = ev.agent in draft.delegates or payload.preview == target_only
    blocks = entry.blocks if is_known else payload.preview
    draft.replace_entry(index, replace(entry, state="waiting", asked_at=ev.time, blocks=blocks))


@TOOL_HANDLERS.on(PermissionDecided)
def _on_permission_decided(draft: Draft, ev: Envelope, payload: PermissionDecided) -> None:
    index = _find_row(draft, ev, payload.call_id)
    entry = draft.tool_entry(index)
    if index is None or entry is None:
        return
    by_delegate = ev.agent in draft.delegates
    if payload.decision == "deny" and not by_delegate:
        by_user = payload.decided_by == "user"
        message = text_preview(payload.message)
        denial = f"You said no{f': {message}' if message else ''}" if by_user else payload.reason
        draft.replace_entry(index, replace(entry, state="denied", denial=denial, denied_by_user=by_user))
    elif entry.state == "waiting":
        started_at = entry.started_at
        state: ToolState = "queued" if started_at is None else "running"
        # The time in which the user was asked does not count as running time.
        if started_at is not None and entry.asked_at is not None and not by_delegate:
            started_at += max(0.0, ev.time - entry.asked_at)
        draft.replace_entry(index, replace(entry, state=state, started_at=started_at))
    if saved := describe_saved_rule(payload):
        draft.add_notice(ev, "settings", "info", (saved,))


@TOOL_HANDLERS.on(ToolStarted)
def _on_tool_started(draft: Draft, ev: Envelope, payload: ToolStarted) -> None:
    if payload.writes:
        draft.sums.writing.add(payload.call_id)
    index = draft.tools.get(payload.call_id)
    entry = draft.tool_entry(index)
    if index is None or entry is None or ev.agent in draft.delegates:
        return
    # A preview that is a diff stays until the result brings its own diff. Other previews make room for the live output.
    blocks = tuple(block for block in entry.blocks if isinstance(block, DiffBlock))
    draft.replace_entry(index, replace(entry, state="running", started_at=ev.time, blocks=blocks))


@TOOL_HANDLERS.on(ToolProgress)
def _on_tool_progress(draft: Draft, ev: Envelope, payload: ToolProgress) -> None:
    index = draft.tools.get(payload.call_id)
    if index is not None and ev.agent not in draft.delegates:
        draft.append_text(index, payload.text, payload.skipped_lines)


@TOOL_HANDLERS.on(ToolFinished)
def _on_tool_finished(draft: Draft, ev: Envelope, payload: ToolFinished) -> None:
    if payload.status == "lost" and payload.call_id in draft.sums.writing:
        draft.sums.has_unknown_changes = True
    row = draft.delegates.get(ev.agent)
    if row is not None:
        _mark_delegate_call(draft, row, payload)
        return
    index = draft.tools.pop(payload.call_id, None)
    entry = draft.tool_entry(index)
    if index is None or entry is None:
        entry = _new_entry(draft, ev, payload, payload.name)
        index = draft.add(entry)
    if (question := draft.question_calls.pop(payload.call_id, None)) is not None:
        draft.void_question(question)
    draft.sums.results += payload.status in ("ok", "failed")
    state = _STATES[payload.status]
    elapsed_ms = None if entry.started_at is None else draft.elapsed_ms(entry.started_at, ev)
    finished = replace(
        entry,
        state=state,
        outcome=payload.summary or entry.outcome,
        duration_ms=elapsed_ms if entry.subtask is not None else payload.duration_ms or elapsed_ms,
        output="" if payload.display and entry.subtask is None else entry.output,
        blocks=payload.display or (entry.blocks if state == "denied" else ()),
        full_output=payload.full_output,
    )
    draft.replace_entry(index, finished)
    job = draft.ended_jobs.pop(index, None)
    if job is not None and payload.data.get("state", "running") == "running":
        draft.add_ended_job(ev, job, index)


@TOOL_HANDLERS.on(AgentSpawned)
def _on_agent_spawned(draft: Draft, ev: Envelope, payload: AgentSpawned) -> None:
    row = draft.delegates.get(payload.parent_agent)
    if row is None and payload.call_id is not None:
        row = draft.tools.get(payload.call_id)
    if row is None:
        return
    draft.delegates[ev.agent] = row
    entry = draft.tool_entry(row)
    if entry is None or entry.subtask is not None:
        return
    waited = 0.0 if entry.started_at is None else draft.elapsed_ms(entry.started_at, ev)
    subtask = Subtask(ev.agent, waited_ms=waited)
    task = entry.target.removeprefix(f"{payload.name}: ")
    draft.replace_entry(
        row, replace(entry, target=f"{ev.agent}: {task}", subtask=subtask, started_at=ev.time)
    )


@TOOL_HANDLERS.on(AgentFinished)
def _on_agent_finished(draft: Draft, ev: Envelope, payload: AgentFinished) -> None:
    draft.delegates.pop(ev.agent, None)


@TOOL_HANDLERS.on(FileChanged)
def _on_file_changed(draft: Draft, ev: Envelope, payload: FileChanged) -> None:
    if payload.author == "human":  # a person's change belongs to no turn
        return
    draft.sums.add_change(payload, ev.seq)


@TOOL_HANDLERS.on(CheckpointTaken)
def _on_checkpoint_taken(draft: Draft, ev: Envelope, payload: CheckpointTaken) -> None:
    if payload.author == "human":
        return
    draft.sums.generated.add(payload.folders)
    draft.sums.unlisted_count += payload.unlisted_count
    entry = None if draft.turn_running or draft.turn_end is None else draft.entries[draft.turn_end]
    if draft.turn_end is not None and isinstance(entry, TurnEntry):
        # A crash ended the turn, and only now the changes of its last calls are known.
        entry = replace(entry, has_unknown_changes=False, **draft.sums.count_changes())
        draft.replace_entry(draft.turn_end, entry)
