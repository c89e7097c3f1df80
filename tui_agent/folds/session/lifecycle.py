"""Handlers of session events other than turns: runs, settings, branches, checkpoints, files, plugin values."""

from dataclasses import replace

from pydantic import ValidationError

from tui_agent.folds.context.memory import apply_file_change, apply_update
from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.session.delegates import delegate_chain
from tui_agent.folds.session.state import SessionFold
from tui_agent.folds.session.uncheckpointed_changes import update_change
from tui_agent.folds.session.view import ReadFile
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextCompacted, MemoryUpdated, RepomapBuilt, RepomapUsed
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken, FileChanged, FileRead
from tui_agent.protocol.events.instructions import InstructionsLoaded, SkillsLoaded
from tui_agent.protocol.events.job import JobFinished, JobStarted
from tui_agent.protocol.events.plugin import PluginEvent
from tui_agent.protocol.events.session import (
    ErrorRaised,
    RunFinished,
    RunResumed,
    RunStarted,
    SessionContextLoaded,
    SessionForked,
    SessionHeadMoved,
    SessionStarted,
    SessionTitled,
    SettingsChanged,
    WorkspaceMoved,
)
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.settings import SessionSettings

LIFECYCLE_HANDLERS: Handlers[SessionFold] = Handlers()


@LIFECYCLE_HANDLERS.on(SessionStarted)
def _on_session_started(fold: SessionFold, ev: Envelope, payload: SessionStarted) -> None:
    draft = fold.draft
    draft.workspace, draft.settings, draft.title = payload.workspace, payload.settings, payload.title


@LIFECYCLE_HANDLERS.on(SessionForked)
def _on_session_forked(fold: SessionFold, ev: Envelope, payload: SessionForked) -> None:
    """A fork may work in its own folder; its parent's queue waits until the user continues."""
    draft = fold.draft
    draft.workspace = payload.changes.workspace or draft.workspace
    draft.fork_changes, draft.clean = payload.changes, True
    draft.unkept, draft.crash_time = {}, None
    if not draft.turn_running:
        draft.last_turn_end, draft.head_moved = "interrupted", True


@LIFECYCLE_HANDLERS.on(WorkspaceMoved)
def _on_workspace_moved(fold: SessionFold, ev: Envelope, payload: WorkspaceMoved) -> None:
    fold.draft.workspace = payload.workspace


@LIFECYCLE_HANDLERS.on(SessionTitled)
def _on_session_titled(fold: SessionFold, ev: Envelope, payload: SessionTitled) -> None:
    fold.draft.title = payload.title


@LIFECYCLE_HANDLERS.on(SettingsChanged)
def _on_settings_changed(fold: SessionFold, ev: Envelope, payload: SettingsChanged) -> None:
    draft = fold.draft
    if draft.settings is None:
        return
    values = draft.settings.model_dump(mode="json") | {payload.key: payload.value}
    try:
        draft.settings = SessionSettings.model_validate(values)
    except ValidationError:  # a value of another version: keep the current setting
        return
    match payload.key:
        case "model":
            fold.clear_fork_changes("model", "reasoning_effort")
        case "context_mode":
            fold.clear_fork_changes("context_mode")
        case _:
            pass


@LIFECYCLE_HANDLERS.on(RunStarted)
def _on_run_started(fold: SessionFold, ev: Envelope, payload: RunStarted) -> None:
    """If the earlier run ended during a call that writes, no checkpoint holds the changes of that call."""
    draft = fold.draft
    draft.run_id, draft.clean = payload.run_id, False
    crashed_in_write = draft.fork_changes is None and any(
        call.started and call.writes for call in draft.open_calls.values()
    )
    if crashed_in_write and draft.crash_time is None:
        draft.crash_time = draft.last_event_time


@LIFECYCLE_HANDLERS.on(RunResumed)
def _on_run_resumed(fold: SessionFold, ev: Envelope, payload: RunResumed) -> None:
    fold.draft.run_id, fold.draft.clean = payload.run_id, False


@LIFECYCLE_HANDLERS.on(RunFinished)
def _on_run_finished(fold: SessionFold, ev: Envelope, payload: RunFinished) -> None:
    fold.draft.clean, fold.draft.phase = True, "idle"


@LIFECYCLE_HANDLERS.on(SessionHeadMoved)
def _on_session_head_moved(fold: SessionFold, ev: Envelope, payload: SessionHeadMoved) -> None:
    """Return to an earlier state. Counters go on, and queued messages wait until the user continues."""
    draft = fold.draft
    draft.parts, draft.turn = max(draft.parts, payload.parts), max(draft.turn, payload.turn)
    draft.iteration = max(draft.iteration, payload.iteration)
    draft.delegate_count = max(draft.delegate_count, payload.agents)
    draft.run_id, draft.clean, draft.pending_prompt = payload.run_id or draft.run_id, False, None
    if not draft.turn_running:
        draft.last_turn_end, draft.head_moved, draft.phase = "interrupted", True, "idle"


@LIFECYCLE_HANDLERS.on(EnvStarted)
def _on_env_started(fold: SessionFold, ev: Envelope, payload: EnvStarted) -> None:
    fold.draft.sandbox, fold.draft.no_sandbox_reason = payload.sandbox, payload.no_sandbox_reason
    fold.draft.exposed_variables = payload.exposed_variables


@LIFECYCLE_HANDLERS.on(JobStarted)
def _on_job_started(fold: SessionFold, ev: Envelope, payload: JobStarted) -> None:
    fold.draft.jobs[payload.job_id] = payload
    fold.draft.job_count += 1


@LIFECYCLE_HANDLERS.on(JobFinished)
def _on_job_finished(fold: SessionFold, ev: Envelope, payload: JobFinished) -> None:
    fold.draft.jobs.pop(payload.job_id, None)


def _set_checkpoint(fold: SessionFold, commit: str) -> None:
    fold.draft.commit, fold.draft.unkept, fold.draft.crash_time = commit, {}, None


@LIFECYCLE_HANDLERS.on(CheckpointTaken)
def _on_checkpoint_taken(fold: SessionFold, ev: Envelope, payload: CheckpointTaken) -> None:
    _set_checkpoint(fold, payload.commit)


@LIFECYCLE_HANDLERS.on(CheckpointRestored)
def _on_checkpoint_restored(fold: SessionFold, ev: Envelope, payload: CheckpointRestored) -> None:
    _set_checkpoint(fold, payload.commit)


@LIFECYCLE_HANDLERS.on(SessionContextLoaded)
def _on_session_context_loaded(fold: SessionFold, ev: Envelope, payload: SessionContextLoaded) -> None:
    fold.draft.session_context = text_preview(payload.summary)


@LIFECYCLE_HANDLERS.on(ErrorRaised)
def _on_error_raised(fold: SessionFold, ev: Envelope, payload: ErrorRaised) -> None:
    fold.draft.last_error = payload.message


@LIFECYCLE_HANDLERS.on(MemoryUpdated)
def _on_memory_updated(fold: SessionFold, ev: Envelope, payload: MemoryUpdated) -> None:
    if ev.agent != MAIN_AGENT:
        return
    fold.draft.memory = apply_update(fold.draft.memory, payload)


@LIFECYCLE_HANDLERS.on(RepomapUsed)
def _on_repomap_used(fold: SessionFold, ev: Envelope, payload: RepomapUsed) -> None:
    fold.draft.has_repo_map = fold.draft.has_repo_map or payload.injected
    fold.draft.map_delay_reason = "" if payload.injected else fold.draft.map_delay_reason


@LIFECYCLE_HANDLERS.on(RepomapBuilt)
def _on_repomap_built(fold: SessionFold, ev: Envelope, payload: RepomapBuilt) -> None:
    fold.draft.map_delay_reason = payload.delay_reason or fold.draft.map_delay_reason


@LIFECYCLE_HANDLERS.on(ContextCompacted)
def _on_context_compacted(fold: SessionFold, ev: Envelope, payload: ContextCompacted) -> None:
    fold.draft.has_repo_map = fold.draft.has_repo_map and ev.agent != MAIN_AGENT
    fold.draft.artifacts.update({cut.artifact.id: cut.artifact for cut in payload.truncations})


@LIFECYCLE_HANDLERS.on(FileRead)
def _on_file_read(fold: SessionFold, ev: Envelope, payload: FileRead) -> None:
    draft = fold.draft
    draft.explored[payload.path] = None
    known = draft.read_files.get(payload.path)
    was_complete = known is not None and known.complete and known.digest == payload.digest
    draft.read_files[payload.path] = ReadFile(payload.digest, payload.complete or was_complete)


@LIFECYCLE_HANDLERS.on(FileChanged)
def _on_file_changed(fold: SessionFold, ev: Envelope, payload: FileChanged) -> None:
    """The agent knows only what it wrote: another author's change makes its reading outdated."""
    draft = fold.draft
    draft.unkept[payload.path] = update_change(draft.unkept, payload, ev.time)
    if payload.author != "human":
        created_by_session = draft.written.pop(payload.path, payload.disk_sha256_before is None)
        if not created_by_session or payload.disk_sha256_after is not None:
            draft.written[payload.path] = created_by_session
    if draft.settings is not None and draft.settings.context_mode != "none":
        draft.memory = apply_file_change(draft.memory, payload)
    created, removed = payload.disk_sha256_before is None, payload.disk_sha256_after is None
    for delegate in delegate_chain(draft.delegates, ev.agent):
        draft.delegates[delegate.agent] = (
            delegate.with_removed_file(payload.path)
            if removed
            else delegate.with_changed_file(payload.path, created=created)
        )
    if payload.disk_sha256_after is None:
        draft.read_files.pop(payload.path, None)
    elif payload.author == "agent":
        known = draft.read_files.get(payload.path)
        whole = payload.disk_sha256_before is None or (known is not None and known.complete)
        draft.read_files[payload.path] = ReadFile(payload.disk_sha256_after, whole)


@LIFECYCLE_HANDLERS.on(InstructionsLoaded)
def _on_instructions_loaded(fold: SessionFold, ev: Envelope, payload: InstructionsLoaded) -> None:
    draft = fold.draft
    delegate = draft.delegates.get(ev.agent)
    if delegate is not None:
        draft.delegates[ev.agent] = replace(
            delegate, instructions=delegate.instructions.with_event(payload, ev.seq)
        )
    elif ev.agent == MAIN_AGENT:
        draft.agent_instructions = draft.agent_instructions.with_event(payload, ev.seq)


@LIFECYCLE_HANDLERS.on(SkillsLoaded)
def _on_skills_loaded(fold: SessionFold, ev: Envelope, payload: SkillsLoaded) -> None:
    fold.draft.skills = payload.skills


@LIFECYCLE_HANDLERS.on(PluginEvent)
def _on_plugin_event(fold: SessionFold, ev: Envelope, payload: PluginEvent) -> None:
    if payload.name != "state":
        return
    fold.draft.extra[payload.plugin] = payload.data
