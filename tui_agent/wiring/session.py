"""Composition of a complete session from options and configuration.

This package may import every package in the layers below it (see `tool.importlinter` in pyproject.toml).

Invariant: `open_session` closes everything it opens, even after an error.
"""

import os
import random
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio

from tui_agent import __version__
from tui_agent.config.extensions.note_files import list_note_locations, notes_folder
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.config_toml_edits import save_readable_files
from tui_agent.context.compaction.compaction_settings import CompactionSettings
from tui_agent.context.token_counter import Tokens
from tui_agent.context.token_counter import load_bundled_vocabulary as vocabulary
from tui_agent.engine.components import ChangedExtensions, CurrentExtensions, EngineParts
from tui_agent.engine.engine import Engine
from tui_agent.engine.middleware.prompt_sections import PromptTexts
from tui_agent.engine.middleware.subagents import Subagents
from tui_agent.engine.recorder import Recorder
from tui_agent.errors import ConfigError, TuiAgentError
from tui_agent.fast_dataclass import dataclass
from tui_agent.mcp.servers import McpServers
from tui_agent.models.factory import ModelFactory
from tui_agent.plugin_host.error_text import unwrap_group
from tui_agent.plugin_host.load_records import LoadRecords
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.plugin_host.plugin_watch import time_saved, watch_file, watch_plugins
from tui_agent.policy.decision.rule_file import append_rule
from tui_agent.ports.environment import Environment
from tui_agent.ports.repomap import RepoMaps
from tui_agent.ports.tool import Service
from tui_agent.protocol.commands import ReloadPlugins
from tui_agent.protocol.events.session import (
    ErrorRaised,
    RunStarted,
    SessionContextLoaded,
    SessionStarted,
    WorkspaceMoved,
)
from tui_agent.protocol.settings import SessionSettings
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.session.local_session import LocalSession
from tui_agent.session.resume import (
    StartingFold,
    UnfinishedHistory,
    carry_over_summary,
    load_branch_fold,
    lost_call_warnings,
    record_new_session,
    resume_session,
)
from tui_agent.store.event_search import find_changes_by_others
from tui_agent.store.log_reader import pause_gc, read_marks
from tui_agent.store.session_log import SessionLog
from tui_agent.wiring.ablation import Ablation
from tui_agent.wiring.context import ContextComposition
from tui_agent.wiring.environments import Environments, start_detection, start_environments
from tui_agent.wiring.extensions import ExtensionBuilder, build_listeners
from tui_agent.wiring.mcp import build_servers
from tui_agent.wiring.models import ClientCache, build_model_factory
from tui_agent.wiring.plugins import (
    agent_factories,
    agent_folders,
    load_records_folder,
    plugin_host,
    require_agent,
    require_program,
    watched_folders,
)
from tui_agent.wiring.policy import build_policy
from tui_agent.wiring.repomap import SessionMaps, index_folder
from tui_agent.wiring.settings import apply_fork_changes, apply_options, build_settings
from tui_agent.wiring.startup_context import StartupContext, load_startup_context, require_trust_decision
from tui_agent.workspace.checkpoints.checkpoint_limits import read_limits
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

PRODUCT = f"tui-agent/{__version__}"
HEADLESS_TURN_SECONDS = 7200.0
"""Default time limit of a turn in a run without the app, in seconds."""
REDUCE_TO_FRACTION = 0.7
"""Target size of a reduced conversation, as a fraction of the size that triggers the reduction."""


@asynccontextmanager
async def open_session(
    options: SessionOptions,
    base: StartupContext | None = None,
    on_trouble: Callable[[TuiAgentError], None] | None = None,
    on_hold: Callable[[SessionLog], None] | None = None,
) -> AsyncIterator[LocalSession]:
    """Open or create the session, serve it, and close it at the end.

    Raise `ConfigError`, `SessionLocked`, `SessionNotFound` or `StoreError` before anything runs.

    `on_hold`: called with the log as soon as it is locked, before a long history is read.
    """
    base = base or load_startup_context(options)
    # The time is read first, so that a change during a slow start is noticed.
    settings, settings_time = base.config.paths.user_config, time_saved(base.config.paths.user_config)
    assembled = await _open(base, on_trouble, on_hold)
    opened, servers = assembled.session, assembled.servers
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(servers.run)
            if not options.is_attended:
                await servers.wait_until_settled(options.prompt or "")
                assembled.use_changed()
            # Only now: until here, changes take effect directly, before the session is served.
            reload = servers.on_change = partial(opened.submit, ReloadPlugins(automatic=True))
            group.start_soon(opened.serve)
            if options.is_attended and not options.no_plugins:
                group.start_soon(watch_plugins, watched_folders(base), reload)
                group.start_soon(watch_file, settings, settings_time, reload)
                for record in LoadRecords(load_records_folder(base)).files():
                    group.start_soon(watch_file, record, time_saved(record), reload)
            try:
                yield opened
            finally:
                with anyio.CancelScope(shield=True):
                    await opened.aclose()
                group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        raise unwrap_group(errors) from None


async def _open(
    base: StartupContext,
    on_trouble: Callable[[TuiAgentError], None] | None,
    on_hold: Callable[[SessionLog], None] | None,
) -> "_UnservedSession":
    # Most mistakes in the configuration are found before the session is created or locked.
    if not base.options.is_attended:
        require_trust_decision(base)
    start_detection(base)
    host = plugin_host(base)
    loaded = host.load()
    models = build_model_factory(base, loaded)
    settings = build_settings(base, models)
    if base.config.investigator_profile:
        models.resolve(base.config.investigator_profile)  # only to report an unusable profile now
    require_agent(settings.agent, agent_factories(loaded))
    carry_from = base.options.carry_from
    earlier = carry_over_summary(base.store.find(carry_from)) if carry_from else None
    log, has_events = _lock_log(base)
    try:
        if on_hold is not None:
            on_hold(log)
        past = StartingFold.load(log) if has_events else StartingFold()
        unfinished = UnfinishedHistory(has_earlier_history=past.snapshot is not None)
        plain = base.config.secrets.model_sees == "plain"
        recorder = _build_recorder(log, past, unfinished, loaded, plain=plain)
        workspace = _workspace(base, recorder, unfinished)
        environments = await start_environments(base, loaded, workspace, recorder.state.environment)
        try:
            await require_program(environments.active, settings.agent)
            parts = (models, host, loaded, settings, log, recorder, unfinished, environments)
            assembled = _assemble(base, *parts, on_trouble, earlier)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await environments.aclose()
            raise
        if past.snapshot is None:  # the whole log was read, so the next start would be as slow
            assembled.session.save_fold()
        return assembled
    except BaseException:
        log.close()
        raise


def _lock_log(base: StartupContext) -> tuple[SessionLog, bool]:
    """Lock the log selected by the options. Return (log, True if the log has events)."""
    options, store = base.options, base.store
    session_id = options.session
    if session_id == "latest":
        session_id = store.resolve(session_id)
    if session_id is None and options.continue_latest:
        session_id = store.latest_session_id(str(options.cwd.resolve()))
    if session_id is None:
        return store.create(base.ids.session(), lazy=True), False
    if not (store.folder(session_id) / "events.jsonl").exists():
        return store.create(session_id), False
    if options.carry_from:
        raise ConfigError(
            f"The session {session_id} already exists; only a new session can start with a summary of another one.",
            hint="Leave out --session, or choose a new id.",
        )
    return store.open(session_id), True


@dataclass(frozen=True, slots=True)
class _UnservedSession:
    """A session that is not served yet, and its MCP servers."""

    session: LocalSession
    servers: McpServers
    extensions: CurrentExtensions
    recorder: Recorder
    load_changed: Callable[[bool], ChangedExtensions | None]

    def use_changed(self) -> None:
        """Use the tools of the servers that have started. Call it only before the session is served."""
        changed = self.load_changed(False) if self.servers.is_any else None
        if changed is not None:
            self.extensions.replace_later(changed)
            self.extensions.take_over(self.recorder)


def _assemble(
    base: StartupContext,
    models: ModelFactory,
    host: PluginHost,
    loaded: LoadedPlugins,
    settings: SessionSettings,
    log: SessionLog,
    recorder: Recorder,
    unfinished: UnfinishedHistory,
    environments: Environments,
    on_trouble: Callable[[TuiAgentError], None] | None,
    earlier: SessionContextLoaded | None,
) -> _UnservedSession:
    env, workspace, clients = environments.active, environments.workspace, ClientCache(models)
    run, lost = _record_start(base, models, loaded, recorder, log, unfinished, workspace, settings, earlier)
    judge, refused = build_policy(base, loaded.policy_tables, reloading=True)
    subagents = Subagents(base.config, agent_folders(host))
    recorder.append(environments.started_event())
    maps = _build_maps(base, loaded, workspace)
    context = ContextComposition(base, recorder, maps, env, log, judge, subagents.roles)
    servers, unusable = build_servers(base, environments.local, str(workspace))
    builder = ExtensionBuilder(base, host, recorder, environments.local, context, servers)
    extensions, failed = builder.build(loaded)
    if unfinished.is_empty:
        context.ablation.require_known(extensions.tools.names(), recorder.state.allowed_tools)
    faults = subagents.fault_events(extensions.tools.names(), models.resolve)
    for event in [*loaded.events, *failed, *refused, *faults, *unusable, *lost]:
        recorder.append(event)
    parts = EngineParts(
        recorder=recorder,
        blobs=log.blobs,
        env=env,
        extensions=CurrentExtensions(extensions),
        policy=judge,
        client_for=clients.get,
        resolve_model=models.resolve_again,
        tokens=Tokens(vocabulary, recorder.calibration),
        repomap=maps,
        knowledge=context.knowledge,
        jitter=random.random,
        clock=base.clock,
        ids=base.ids,
        interactive=base.options.is_attended,
        turn_seconds=HEADLESS_TURN_SECONDS if base.options.client == "headless" else None,
        missing_services=_missing_services(base),
        try_confined=base.config.sandbox.try_confined,
        remember_rule=partial(append_rule, base.config.paths.config_dir / "policy.toml"),
        remember_readable=partial(save_readable_files, base.config.paths.user_config),
        checkpoints=_checkpoints(base, workspace, log),
        hook_facts=_hook_facts(log, env),
        delegation=subagents.rules,
        compaction_limits=_compaction_limits(base, context.ablation),
        load_changed=builder.load_changed,
        tool_servers=servers,
        find_changes_by_others=partial(find_changes_by_others, base.store, log.folder.name),
    )
    release = partial(_release, environments, clients, maps, servers, recorder)
    engine, warm = Engine(parts, on_trouble or _write_stderr), partial(models.preload, settings.model)
    session = LocalSession(log, recorder, engine, base.ids, run.run_id, release, warm)
    return _UnservedSession(session, servers, parts.extensions, recorder, builder.load_changed)


def _build_maps(base: StartupContext, loaded: LoadedPlugins, workspace: Path) -> SessionMaps:
    languages = [offered.language for offered in loaded.languages]
    return SessionMaps(workspace, index_folder(base.options, base.config), languages, base.redaction)


def _missing_services(base: StartupContext) -> frozenset[Service]:
    missing: set[Service] = set()
    if not base.options.is_attended:
        missing.add("ask")
    if not list_note_locations(notes_folder(base.config)):
        missing.add("notes")
    return frozenset(missing)


def _compaction_limits(base: StartupContext, ablation: Ablation) -> CompactionSettings:
    context = base.config.context
    if ablation.leaves_out_compaction:
        return CompactionSettings(reduce_at=0, reduce_to=0, compact_at=0, keep=context.keep)
    return CompactionSettings(
        reduce_at=context.reduce_at,
        reduce_to=context.reduce_at * REDUCE_TO_FRACTION,
        compact_at=context.compact_at,
        keep=context.keep,
        prompt=PromptTexts((base.config.paths.config_dir / "prompts",)).get("compact"),
    )


def _record_start(
    base: StartupContext,
    models: ModelFactory,
    loaded: LoadedPlugins,
    recorder: Recorder,
    log: SessionLog,
    past: UnfinishedHistory,
    workspace: Path,
    settings: SessionSettings,
    earlier: SessionContextLoaded | None,
) -> tuple[RunStarted, Sequence[ErrorRaised]]:
    run, lost = _run_started(base, settings), lost_call_warnings(recorder.state, loaded)
    if past.is_empty:
        record_new_session(
            recorder,
            run,
            workspace=str(workspace),
            settings=settings,
            repaired=log.repair,
            earlier=earlier,
            allowed_tools=base.options.allowed_tools,
            without=base.options.without,
        )
    else:
        _repeat_start(recorder, workspace, settings)
        askable = log.blobs if base.options.is_attended else None
        resume_session(recorder, run, past.records, log.repair, askable)
        apply_fork_changes(base, models, recorder)
        apply_options(base, recorder, settings)  # last: the options of this start win over the fork's changes
    return run, lost


def _hook_facts(log: SessionLog, env: Environment) -> JsonMap:
    return {"session_id": log.session, "transcript_path": str(log.folder / "events.jsonl"), "cwd": env.root}


def _run_started(base: StartupContext, settings: SessionSettings) -> RunStarted:
    return RunStarted(
        run_id=base.ids.run(),
        pid=os.getpid(),
        client=base.options.client,
        product=PRODUCT,
        model=settings.model,
    )


def _checkpoints(base: StartupContext, workspace: Path, log: SessionLog) -> GitCheckpoints:
    return GitCheckpoints(
        workspace,
        log.folder / "checkpoints.git",
        limits=read_limits(base.config.checkpoints),
        sessions=base.store.root,
    )


def _repeat_start(recorder: Recorder, workspace: Path, settings: SessionSettings) -> None:
    """Record `session.started` again if the log's first line is damaged, and record a move of the workspace."""
    state, place = recorder.state, str(workspace)
    if state.settings is None:
        recorder.append(
            SessionStarted(workspace=place, product=PRODUCT, settings=settings, title=state.title)
        )
    elif state.workspace and Path(state.workspace) != workspace:
        recorder.append(WorkspaceMoved(workspace=place, previous=state.workspace))


def _build_recorder(
    log: SessionLog, past: StartingFold, unfinished: UnfinishedHistory, loaded: LoadedPlugins, *, plain: bool
) -> Recorder:
    with pause_gc():
        marks = read_marks(log.folder) if log.last_seq >= 0 and past.snapshot is None else ()
        recorder = Recorder(
            log,
            unfinished.track(past.history),
            (),
            marks,
            past.snapshot,
            partial(load_branch_fold, log),
            plain,
        )
    # Only now, because a listener's failure is recorded: the listeners need the recorder.
    recorder.listeners = build_listeners(loaded, recorder.append)
    return recorder


async def _release(
    environments: Environments, clients: ClientCache, maps: RepoMaps, servers: McpServers, recorder: Recorder
) -> int:
    await servers.aclose()  # first, because the servers run in an environment
    try:
        return await environments.aclose()
    finally:
        await clients.aclose(recorder.append)
        await maps.aclose()


def _workspace(base: StartupContext, recorder: Recorder, past: UnfinishedHistory) -> Path:
    known = recorder.state.workspace or past.root
    workspace = Path(known) if known else base.options.cwd.resolve()
    if not workspace.is_dir() and base.options.cwd_given:
        workspace = base.options.cwd.resolve()
    if not workspace.is_dir():
        raise ConfigError(
            f"The workspace {workspace} was not found.",
            hint="Name its current folder with -C DIR to continue the session there.",
        )
    if not os.access(workspace, os.R_OK | os.X_OK):
        raise ConfigError(f"The workspace {workspace} cannot be read.", hint="Check its permissions.")
    return workspace


def _write_stderr(error: TuiAgentError) -> None:
    sys.stderr.write(f"tui-agent: {error}\n")  # the log cannot store the error
