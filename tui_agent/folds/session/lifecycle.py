"""Handlers of session events that are not about turns: runs, settings, branches, checkpoints, files, plugin values."""

from dataclasses import replace

from pydantic import ValidationError

from tui_agent.folds.context.memory import apply_file_change, apply_update
from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.session.agents import delegate_chain
from tui_agent.folds.session.session_state import Draft
from tui_agent.folds.session.state_view import ReadFile, UncheckpointedChange
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextRestored,
    MemoryUpdated,
    RepomapBuilt,
    RepomapUsed,
)
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
from tui_agent.protocol.events.slash_command import CommandsOffered
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.settings import BudgetUse, SessionSettings
from tui_agent.protocol.stored_text import text_preview

LIFECYCLE_HANDLERS: Handlers[Draft] = Handlers()


@LIFECYCLE_HANDLERS.on(SessionStarted)
def _on_session_started(draft: Draft, ev: Envelope, payload: SessionStarted) -> None:
    draft.workspace, draft.settings, draft.title = payload.workspace, payload.settings, payload.title
    draft.started_at = ev.time
    draft.allowed_tools, draft.without = payload.allowed_tools, payload.without


@LIFECYCLE_HANDLERS.on(SessionForked)
def _on_session_forked(draft: Draft, ev: Envelope, payload: SessionForked) -> None:
    """Switch to the fork's own folder if the fork has one, and empty the queue."""
    draft.queue.clear()
    if payload.changes.workspace:  # the user allowed the parent's rules for the parent's folder only
        draft.granted_rules.clear()
    draft.used = BudgetUse()
    draft.workspace, draft.is_fork = payload.changes.workspace or draft.workspace, True
    draft.fork_changes, draft.clean = payload.changes, True
    draft.uncheckpointed, draft.crash_time = {}, None
    if not draft.turn_running:
        draft.last_turn_end, draft.head_moved = "interrupted", True


@LIFECYCLE_HANDLERS.on(WorkspaceMoved)
def _on_workspace_moved(draft: Draft, ev: Envelope, payload: WorkspaceMoved) -> None:
    """Switch to the session's new folder."""
    draft.granted_rules.clear()  # the user allowed these rules for the old folder only
    draft.workspace = payload.workspace


@LIFECYCLE_HANDLERS.on(SessionTitled)
def _on_session_titled(draft: Draft, ev: Envelope, payload: SessionTitled) -> None:
    draft.title, draft.titled_by = payload.title, payload.titled_by


@LIFECYCLE_HANDLERS.on(SettingsChanged)
def _on_settings_changed(draft: Draft, ev: Envelope, payload: SettingsChanged) -> None:
    if draft.settings is None:
        return
    values = draft.settings.model_dump(mode="json") | {payload.key: payload.value}
    try:
        draft.settings = SessionSettings.model_validate(values)
    except ValidationError:  # A value written by another version; keep the current setting.
        return
    match payload.key:
        case "model":
            draft.clear_fork_changes("model", "reasoning_effort")
        case "context_mode":
            draft.clear_fork_changes("context_mode")
        case _:
            pass


@LIFECYCLE_HANDLERS.on(RunStarted)
def _on_run_started(draft: Draft, ev: Envelope, payload: RunStarted) -> None:
    """Start a new run. If a crash interrupted a call that can change files, record the crash's time."""
    draft.run_id, draft.clean, draft.client = payload.run_id, False, payload.client
    crashed_in_write = draft.fork_changes is None and any(
        call.started and call.writes for call in draft.open_calls.values()
    )
    if crashed_in_write and draft.crash_time is None:
        draft.crash_time = draft.last_event_time


@LIFECYCLE_HANDLERS.on(RunResumed)
def _on_run_resumed(draft: Draft, ev: Envelope, payload: RunResumed) -> None:
    draft.run_id, draft.clean = payload.run_id, False


@LIFECYCLE_HANDLERS.on(RunFinished)
def _on_run_finished(draft: Draft, ev: Envelope, payload: RunFinished) -> None:
    draft.clean, draft.phase = True, "idle"


@LIFECYCLE_HANDLERS.on(SessionHeadMoved)
def _on_session_head_moved(draft: Draft, ev: Envelope, payload: SessionHeadMoved) -> None:
    """Update the counters after a move to an earlier event. The numbers of turns, parts and jobs never go down."""
    draft.parts, draft.turn = max(draft.parts, payload.parts), max(draft.turn, payload.turn)
    draft.iteration = max(draft.iteration, payload.iteration)
    draft.move_head(payload.used)
    draft.delegate_count = max(draft.delegate_count, payload.agents)
    draft.job_count = max(draft.job_count, payload.jobs)
    draft.run_id, draft.clean, draft.pending_prompt = payload.run_id or draft.run_id, False, None
    if not draft.turn_running:
        draft.last_turn_end, draft.head_moved, draft.phase = "interrupted", True, "idle"


@LIFECYCLE_HANDLERS.on(EnvStarted)
def _on_env_started(draft: Draft, ev: Envelope, payload: EnvStarted) -> None:
    draft.environment, draft.environment_details = payload.environment, payload.details
    draft.sandbox, draft.no_sandbox_reason = payload.workspace_sandbox, payload.no_sandbox_reason
    draft.exposed_variables = payload.exposed_variables


@LIFECYCLE_HANDLERS.on(JobStarted)
def _on_job_started(draft: Draft, ev: Envelope, payload: JobStarted) -> None:
    draft.jobs[payload.job_id] = payload
    draft.job_count += 1


@LIFECYCLE_HANDLERS.on(JobFinished)
def _on_job_finished(draft: Draft, ev: Envelope, payload: JobFinished) -> None:
    draft.jobs.pop(payload.job_id, None)


def _set_checkpoint(draft: Draft, commit: str) -> None:
    draft.commit, draft.uncheckpointed, draft.crash_time = commit, {}, None


@LIFECYCLE_HANDLERS.on(CheckpointTaken)
def _on_checkpoint_taken(draft: Draft, ev: Envelope, payload: CheckpointTaken) -> None:
    _set_checkpoint(draft, payload.commit)


@LIFECYCLE_HANDLERS.on(CheckpointRestored)
def _on_checkpoint_restored(draft: Draft, ev: Envelope, payload: CheckpointRestored) -> None:
    _set_checkpoint(draft, payload.commit)


@LIFECYCLE_HANDLERS.on(SessionContextLoaded)
def _on_session_context_loaded(draft: Draft, ev: Envelope, payload: SessionContextLoaded) -> None:
    draft.session_context = text_preview(payload.summary)


@LIFECYCLE_HANDLERS.on(ErrorRaised)
def _on_error_raised(draft: Draft, ev: Envelope, payload: ErrorRaised) -> None:
    draft.last_error = payload.message


@LIFECYCLE_HANDLERS.on(MemoryUpdated, main_only=True)
def _on_memory_updated(draft: Draft, ev: Envelope, payload: MemoryUpdated) -> None:
    draft.memory = apply_update(draft.memory, payload)


@LIFECYCLE_HANDLERS.on(RepomapUsed)
def _on_repomap_used(draft: Draft, ev: Envelope, payload: RepomapUsed) -> None:
    draft.has_repo_map = draft.has_repo_map or payload.injected
    draft.map_delay_reason = "" if payload.injected else draft.map_delay_reason


@LIFECYCLE_HANDLERS.on(RepomapBuilt)
def _on_repomap_built(draft: Draft, ev: Envelope, payload: RepomapBuilt) -> None:
    draft.map_delay_reason = payload.delay_reason or draft.map_delay_reason


@LIFECYCLE_HANDLERS.on(ContextCompacted)
def _on_context_compacted(draft: Draft, ev: Envelope, payload: ContextCompacted) -> None:
    draft.has_repo_map = draft.has_repo_map and ev.agent != MAIN_AGENT
    draft.artifacts.update({cut.artifact.id: cut.artifact for cut in payload.truncations})
    _count_shell_outputs(draft, ev)


@LIFECYCLE_HANDLERS.on(ContextRestored)
def _on_context_restored(draft: Draft, ev: Envelope, payload: ContextRestored) -> None:
    _count_shell_outputs(draft, ev)


def _count_shell_outputs(draft: Draft, ev: Envelope) -> None:
    """Record that the event's measured context size includes the outputs of all `!` commands so far."""
    if ev.agent == MAIN_AGENT:
        draft.unmeasured_shell_chars = 0


@LIFECYCLE_HANDLERS.on(FileRead)
def _on_file_read(draft: Draft, ev: Envelope, payload: FileRead) -> None:
    draft.explored_paths[payload.path] = None
    known = draft.read_files.get(payload.path)
    was_complete = known is not None and known.complete and known.digest == payload.digest
    draft.read_files[payload.path] = ReadFile(payload.digest, payload.complete or was_complete)


@LIFECYCLE_HANDLERS.on(FileChanged)
def _on_file_changed(draft: Draft, ev: Envelope, payload: FileChanged) -> None:
    """Record a changed file."""
    earlier = draft.uncheckpointed.get(payload.path)
    by_session = payload.author != "human" or (earlier is not None and earlier.by_session)
    draft.uncheckpointed[payload.path] = UncheckpointedChange(payload, ev.time, by_session)
    # A file that is too large for a checkpoint has no digest either, but it has a mode.
    if payload.disk_sha256_after is None and payload.mode is None:
        draft.removed_paths[payload.path] = draft.written_paths.get(payload.path, False)
    else:
        draft.removed_paths.pop(payload.path, None)
    if payload.author != "human":
        created_by_session = draft.written_paths.pop(payload.path, payload.disk_sha256_before is None)
        if not created_by_session or payload.disk_sha256_after is not None:
            draft.written_paths[payload.path] = created_by_session
    if draft.settings is not None and draft.settings.context_mode != "none":
        draft.memory = apply_file_change(draft.memory, payload)
    created, removed = payload.disk_sha256_before is None, payload.disk_sha256_after is None
    for delegate in delegate_chain(draft.delegates, ev.agent):
        draft.delegates[delegate.agent] = (
            delegate.with_removed_file(payload.path)
            if removed
            else delegate.with_changed_file(payload.path, created=created)
        )
        call = draft.open_calls.get(delegate.call_id) if delegate.call_id is not None else None
        if call is not None:
            draft.open_calls[call.call_id] = call.with_delegate_change(payload, ev.seq)
    if payload.disk_sha256_after is None:
        draft.read_files.pop(payload.path, None)
    elif payload.author == "agent":
        known = draft.read_files.get(payload.path)
        if created:
            draft.read_files[payload.path] = ReadFile(payload.disk_sha256_after, complete=True)
        elif known is not None and known.digest == payload.disk_sha256_before:
            draft.read_files[payload.path] = ReadFile(payload.disk_sha256_after, known.complete)
        elif known is not None:
            draft.read_files[payload.path] = replace(known, edited_digest=payload.disk_sha256_after)


@LIFECYCLE_HANDLERS.on(InstructionsLoaded)
def _on_instructions_loaded(draft: Draft, ev: Envelope, payload: InstructionsLoaded) -> None:
    delegate = draft.delegates.get(ev.agent)
    if delegate is not None:
        draft.delegates[ev.agent] = replace(
            delegate, instructions=delegate.instructions.with_event(payload, ev.seq)
        )
    elif ev.agent == MAIN_AGENT:
        draft.agent_instructions = draft.agent_instructions.with_event(payload, ev.seq)


@LIFECYCLE_HANDLERS.on(SkillsLoaded)
def _on_skills_loaded(draft: Draft, ev: Envelope, payload: SkillsLoaded) -> None:
    draft.skills = payload.skills


@LIFECYCLE_HANDLERS.on(CommandsOffered)
def _on_commands_offered(draft: Draft, ev: Envelope, payload: CommandsOffered) -> None:
    others = {owner: items for owner, items in draft.commands.items() if owner != payload.owner}
    draft.commands = {**others, payload.owner: payload.items} if payload.items else others


@LIFECYCLE_HANDLERS.on(PluginEvent)
def _on_plugin_event(draft: Draft, ev: Envelope, payload: PluginEvent) -> None:
    if payload.name == "state":
        draft.extra[payload.plugin] = payload.data
