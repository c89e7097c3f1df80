"""What changes a session's state beside its turns: runs, settings, branches, checkpoints, files, plugins' values."""

from dataclasses import replace

from pydantic import ValidationError

from tui_agent.folds.context.memory import after_change, after_update
from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.session.delegates import line_of
from tui_agent.folds.session.state import SessionFold
from tui_agent.folds.session.uncheckpointed_changes import told_after
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

ON_LIFE: Handlers[SessionFold] = Handlers()


@ON_LIFE.on(SessionStarted)
def _started(fold: SessionFold, ev: Envelope, payload: SessionStarted) -> bool:
    now = fold.draft
    now.workspace, now.settings, now.title = payload.workspace, payload.settings, payload.title
    return True


@ON_LIFE.on(SessionForked)
def _forked(fold: SessionFold, ev: Envelope, payload: SessionForked) -> bool:
    """A fork may work in a folder of its own; what waited in its parent waits until someone says so."""
    now = fold.draft
    now.workspace = payload.changed.workspace or now.workspace
    now.forked, now.clean = payload.changed, True
    now.unkept, now.lost_at = {}, None
    if not now.turn_running:
        now.last_turn_end, now.moved = "interrupted", True
    return True


@ON_LIFE.on(WorkspaceMoved)
def _workspace_moved(fold: SessionFold, ev: Envelope, payload: WorkspaceMoved) -> bool:
    fold.draft.workspace = payload.workspace
    return True


@ON_LIFE.on(SessionTitled)
def _titled(fold: SessionFold, ev: Envelope, payload: SessionTitled) -> bool:
    fold.draft.title = payload.title
    return True


@ON_LIFE.on(SettingsChanged)
def _settings(fold: SessionFold, ev: Envelope, payload: SettingsChanged) -> bool:
    now = fold.draft
    if now.settings is None:
        return False
    plain = now.settings.model_dump(mode="json") | {payload.key: payload.value}
    try:
        now.settings = SessionSettings.model_validate(plain)
    except ValidationError:  # a value of another version: the one before stays
        return False
    match payload.key:
        case "model":
            fold.taken_on("model", "reasoning_effort")
        case "context_mode":
            fold.taken_on("context_mode")
        case _:
            pass
    return True


@ON_LIFE.on(RunStarted)
def _run_started(fold: SessionFold, ev: Envelope, payload: RunStarted) -> bool:
    """Where the run before ended in a call that writes, what that did is in no checkpoint."""
    now = fold.draft
    now.run_id, now.clean = payload.run_id, False
    lost = now.forked is None and any(call.started and call.writes for call in now.open_calls.values())
    if lost and now.lost_at is None:
        now.lost_at = now.seen_at
    return True


@ON_LIFE.on(RunResumed)
def _run_resumed(fold: SessionFold, ev: Envelope, payload: RunResumed) -> bool:
    fold.draft.run_id, fold.draft.clean = payload.run_id, False
    return True


@ON_LIFE.on(RunFinished)
def _run_finished(fold: SessionFold, ev: Envelope, payload: RunFinished) -> bool:
    fold.draft.clean, fold.draft.phase = True, "idle"
    return True


@ON_LIFE.on(SessionHeadMoved)
def _moved(fold: SessionFold, ev: Envelope, payload: SessionHeadMoved) -> bool:
    """Back at an earlier state; what was counted goes on, and what waited then waits until someone says so."""
    now = fold.draft
    now.parts, now.turn = max(now.parts, payload.parts), max(now.turn, payload.turn)
    now.iteration = max(now.iteration, payload.iteration)
    now.agents_begun = max(now.agents_begun, payload.agents)
    now.run_id, now.clean, now.pending_prompt = payload.run_id or now.run_id, False, None
    if not now.turn_running:
        now.last_turn_end, now.moved, now.phase = "interrupted", True, "idle"
    return True


@ON_LIFE.on(EnvStarted)
def _environment(fold: SessionFold, ev: Envelope, payload: EnvStarted) -> bool:
    fold.draft.sandbox, fold.draft.sandbox_why_not = payload.sandbox, payload.sandbox_why_not
    fold.draft.variables = payload.variables
    return True


@ON_LIFE.on(JobStarted)
def _job_started(fold: SessionFold, ev: Envelope, payload: JobStarted) -> bool:
    fold.draft.jobs[payload.job_id] = payload
    fold.draft.jobs_begun += 1
    return True


@ON_LIFE.on(JobFinished)
def _job_finished(fold: SessionFold, ev: Envelope, payload: JobFinished) -> bool:
    return fold.draft.jobs.pop(payload.job_id, None) is not None


def _kept(fold: SessionFold, commit: str) -> None:
    fold.draft.commit, fold.draft.unkept, fold.draft.lost_at = commit, {}, None


@ON_LIFE.on(CheckpointTaken)
def _checkpoint(fold: SessionFold, ev: Envelope, payload: CheckpointTaken) -> bool:
    _kept(fold, payload.commit)
    return True


@ON_LIFE.on(CheckpointRestored)
def _restored(fold: SessionFold, ev: Envelope, payload: CheckpointRestored) -> bool:
    _kept(fold, payload.commit)
    return True


@ON_LIFE.on(SessionContextLoaded)
def _context_loaded(fold: SessionFold, ev: Envelope, payload: SessionContextLoaded) -> bool:
    fold.draft.session_context = text_preview(payload.summary)
    return True


@ON_LIFE.on(ErrorRaised)
def _error(fold: SessionFold, ev: Envelope, payload: ErrorRaised) -> bool:
    fold.draft.last_error = payload.message
    return True


@ON_LIFE.on(MemoryUpdated)
def _memory(fold: SessionFold, ev: Envelope, payload: MemoryUpdated) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    fold.draft.memory = after_update(fold.draft.memory, payload)
    return True


@ON_LIFE.on(RepomapUsed)
def _mapped(fold: SessionFold, ev: Envelope, payload: RepomapUsed) -> bool:
    fold.draft.mapped = fold.draft.mapped or payload.injected
    fold.draft.map_late = "" if payload.injected else fold.draft.map_late
    return True


@ON_LIFE.on(RepomapBuilt)
def _built(fold: SessionFold, ev: Envelope, payload: RepomapBuilt) -> bool:
    fold.draft.map_late = payload.late or fold.draft.map_late
    return True


@ON_LIFE.on(ContextCompacted)
def _compacted(fold: SessionFold, ev: Envelope, payload: ContextCompacted) -> bool:
    fold.draft.mapped = fold.draft.mapped and ev.agent != MAIN_AGENT
    fold.draft.artifacts.update({each.artifact.id: each.artifact for each in payload.cuts})
    return True


@ON_LIFE.on(FileRead)
def _read(fold: SessionFold, ev: Envelope, payload: FileRead) -> bool:
    now = fold.draft
    now.explored[payload.path] = None
    known = now.read_files.get(payload.path)
    seen_whole = known is not None and known.whole and known.digest == payload.digest
    now.read_files[payload.path] = ReadFile(payload.digest, payload.whole or seen_whole)
    return True


@ON_LIFE.on(FileChanged)
def _changed(fold: SessionFold, ev: Envelope, payload: FileChanged) -> bool:
    """Only what the agent wrote is known to it: after another author's change its reading is out of date."""
    now = fold.draft
    now.unkept[payload.path] = told_after(now.unkept, payload, ev.at)
    if payload.author != "human":
        made = now.written.pop(payload.path, payload.held is None)
        if not made or payload.holds is not None:
            now.written[payload.path] = made
    if now.settings is not None and now.settings.context_mode != "none":
        now.memory = after_change(now.memory, payload)
    for one in line_of(now.delegates, ev.agent):
        created = payload.held is None
        gone = payload.holds is None
        now.delegates[one.agent] = (
            one.removed(payload.path) if gone else one.changed(payload.path, created=created)
        )
    if payload.holds is None:
        now.read_files.pop(payload.path, None)
    elif payload.author == "agent":
        known = now.read_files.get(payload.path)
        whole = payload.held is None or (known is not None and known.whole)
        now.read_files[payload.path] = ReadFile(payload.holds, whole)
    return True


@ON_LIFE.on(InstructionsLoaded)
def _instructions(fold: SessionFold, ev: Envelope, payload: InstructionsLoaded) -> bool:
    now = fold.draft
    one = now.delegates.get(ev.agent)
    if one is not None:
        now.delegates[ev.agent] = replace(one, instructed=one.instructed.taking(payload, ev.seq))
    elif ev.agent == MAIN_AGENT:
        now.instructed = now.instructed.taking(payload, ev.seq)
    return True


@ON_LIFE.on(SkillsLoaded)
def _skills(fold: SessionFold, ev: Envelope, payload: SkillsLoaded) -> bool:
    fold.draft.skills = payload.skills
    return True


@ON_LIFE.on(PluginEvent)
def _plugin(fold: SessionFold, ev: Envelope, payload: PluginEvent) -> bool:
    if payload.name != "state":
        return False
    fold.draft.extra[payload.plugin] = payload.data
    return True
