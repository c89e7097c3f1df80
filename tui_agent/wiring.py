"""Composition root: options and configuration to a session. The only place that knows every package below `cli`.

Invariant: nothing happens on import; what `session` opens it closes, whatever happens in between.
"""

import os
import random
import sys
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio

from tui_agent import __version__, confining, judging
from tui_agent.checkpoints.git_shadow import GitShadow
from tui_agent.checkpoints.limits import limits_of
from tui_agent.config.keep import keep_readable
from tui_agent.config.notes import notes_folder
from tui_agent.config.options import SessionOptions
from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.context.tokens import Tokens
from tui_agent.context.tokens import bundled as vocabulary
from tui_agent.contributing import Contributing
from tui_agent.engine.clients import Clients
from tui_agent.engine.model_agent import ModelAgent
from tui_agent.engine.parts import EngineParts
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.serve import Engine
from tui_agent.environments.local import LocalEnvironment
from tui_agent.errors import ConfigError, PluginError, TuiAgentError
from tui_agent.ground import Ground, ground, require_decision
from tui_agent.hooking import hooks, listeners
from tui_agent.mapping import SessionMaps, index_folder
from tui_agent.middleware.subagents import Subagents
from tui_agent.models.factory import NO_MODEL, ModelFactory
from tui_agent.models.replay import Recording, recording
from tui_agent.plugin_host.bundled import bundled
from tui_agent.plugin_host.copies import lay_out
from tui_agent.plugin_host.discover import PluginPlaces
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.policy.rule_file import append_rule
from tui_agent.ports.agent import Agent
from tui_agent.ports.model import ModelClient
from tui_agent.ports.repomap import RepoMaps
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.events.session import (
    RunStarted,
    SessionContextLoaded,
    SessionStarted,
    SettingsChanged,
    WorkspaceMoved,
)
from tui_agent.protocol.settings import Budgets, Effort, ModelInfo, SessionSettings
from tui_agent.session.carrying import carried
from tui_agent.session.fork_change import take_on_settings
from tui_agent.session.local import LocalSession
from tui_agent.session.past import Past, earlier_fold
from tui_agent.session.resume import Unfinished, begin, take_up
from tui_agent.shrinking import shrinking
from tui_agent.store.bulk import many_objects
from tui_agent.store.lineage import blobs_of
from tui_agent.store.log import SessionLog
from tui_agent.store.reader import read_marks
from tui_agent.store.sessions import SessionStore
from tui_agent.tools.registry import ToolRegistry

PRODUCT = f"tui-agent/{__version__}"
PROJECT_PLUGINS = f"{PROJECT_FOLDER}/plugins"
CHOOSERS = ("app", "web", "editor")
"""Clients in which another model can be chosen once the session is open."""


@asynccontextmanager
async def session(
    options: SessionOptions,
    base: Ground | None = None,
    on_trouble: Callable[[TuiAgentError], None] | None = None,
    on_hold: Callable[[SessionLog], None] | None = None,
) -> AsyncIterator[LocalSession]:
    """Open (or make) the session that the options name, serve it, and close it in order at the end.

    `on_hold` is told of the log as soon as its lock is held, before a long history is folded.

    Raises `ConfigError`, `SessionLocked`, `SessionNotFound`, `StoreError` before anything runs.
    """
    base = base or ground(options)
    opened = _open(base, on_trouble, on_hold)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(opened.serve)
            try:
                yield opened
            finally:
                with anyio.CancelScope(shield=True):
                    await opened.aclose()
    except BaseExceptionGroup as several:
        raise _only(several) from None


def _only(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one exception of a group, as its raiser raised it; a group of several stays one."""
    inner = several.exceptions
    if len(inner) != 1:
        return several
    return _only(inner[0]) if isinstance(inner[0], BaseExceptionGroup) else inner[0]


def _open(
    base: Ground,
    on_trouble: Callable[[TuiAgentError], None] | None,
    on_hold: Callable[[SessionLog], None] | None,
) -> LocalSession:
    if not base.options.attended:
        require_decision(base)
    confining.look(base)
    loaded = _plugins(base)
    models = model_factory(base, loaded)
    settings = _settings(base, models)
    if base.config.investigator_profile:
        models.resolve(base.config.investigator_profile)
    _require_agent(settings.agent, _agents(loaded))
    earlier = carried(base.store.find(base.options.carry_from)) if base.options.carry_from else None
    log, old = _hold(base)
    try:
        if on_hold is not None:
            on_hold(log)
        past = Past.of(log) if old else Past()
        opened = _assemble(base, models, loaded, settings, log, past, on_trouble, earlier)
        if past.kept is None:
            opened.keep_fold()
        return opened
    except BaseException:
        log.close()
        raise


def model_factory(base: Ground, loaded: LoadedPlugins | None = None) -> ModelFactory:
    """The models that this start can reach: its profiles, the vendors, the demos, the recordings, the plugins'.

    `loaded` are the plugins where the caller has them; without, they are loaded.
    """
    loaded = loaded or _plugins(base)
    demos = bundled("demos")
    models = ModelFactory(
        base.config.models,
        base.keys,
        base.clock,
        replay_source=partial(_recorded, base.store),
        demo_scripts=demos if demos is not None else Path("demos"),
    )
    for offered in loaded.models:
        models.add(offered.provider, offered.make)
    return models


def _recorded(store: SessionStore, session_id: str) -> Recording:
    return recording(store.read(session_id), blobs_of(store.folder(session_id)))


def _hold(base: Ground) -> tuple[SessionLog, bool]:
    """The log that the options ask for, and whether it holds anything already."""
    options, store = base.options, base.store
    wanted = options.session
    if wanted is None and options.continue_latest:
        wanted = store.latest(str(options.cwd.resolve()))
    if wanted is None:
        return store.create(base.ids.session(), lazily=True), False
    if not (store.folder(wanted) / "events.jsonl").exists():
        return store.create(wanted), False
    if options.carry_from:
        raise ConfigError(
            f"The session {wanted} has begun; only a new one can carry on from another.",
            hint="Leave --session out, or give an id that no session has.",
        )
    return store.open(wanted), True


def _assemble(
    base: Ground,
    models: ModelFactory,
    loaded: LoadedPlugins,
    settings: SessionSettings,
    log: SessionLog,
    before: Past,
    on_trouble: Callable[[TuiAgentError], None] | None,
    earlier: SessionContextLoaded | None,
) -> LocalSession:
    past = Unfinished(begun=before.kept is not None)
    recorder = _recorder(log, before, past, loaded, plain=base.config.secrets.model_sees == "plain")
    run = _run(base, settings)
    workspace = _workspace(base, recorder, past)
    if past.empty:
        begin(recorder, run, workspace=str(workspace), settings=settings, earlier=earlier)
    else:
        _go_on(base, models, recorder, log, past, run, workspace, settings)
    tools, failed = _tools(loaded)
    judge, refused = judging.following(base, loaded.policy_tables)
    subagents = Subagents(base.config)
    for event in [*loaded.events, *failed, *refused, *subagents.faulty]:
        recorder.append(event)
    env = _environment(base, workspace, recorder)
    taught = [one.language for one in loaded.languages]
    maps = SessionMaps(workspace, index_folder(base.options, base.config), taught)
    said = Contributing.begun(base, recorder, maps)
    clients = Clients(partial(_client_for, models))
    parts = EngineParts(
        recorder=recorder,
        blobs=log.blobs,
        env=env,
        tools=tools,
        policy=judge,
        middlewares=said.middlewares(env, log, tools.names(), subagents.roles, loaded),
        agents=_agents(loaded),
        client=clients.get,
        resolve_model=models.resolve,
        tokens=Tokens(vocabulary),
        repomap=maps,
        knowledge=said.knowledge,
        jitter=random.random,
        clock=base.clock,
        ids=base.ids,
        interactive=base.options.attended,
        remember_rule=partial(_remember, base.config.paths.config_dir / "policy.toml"),
        remember_readable=partial(keep_readable, base.config.paths.user_config),
        checkpoints=_checkpoints(base, workspace, log),
        hooks=hooks(base, loaded, env),
        hook_facts=_hook_facts(log, env),
        delegation=subagents.rules,
        shrinking=shrinking(base),
    )
    trouble = on_trouble if on_trouble is not None else _tell_stderr
    release = partial(_release, env, clients, maps)
    warm = partial(models.warm, settings.model)
    return LocalSession(log, recorder, Engine(parts, trouble), base.ids, run.run_id, release, warm)


def _go_on(
    base: Ground,
    models: ModelFactory,
    recorder: Recorder,
    log: SessionLog,
    past: Unfinished,
    run: RunStarted,
    workspace: Path,
    settings: SessionSettings,
) -> None:
    """Take the session up where an earlier run left it, with what this start asks for."""
    _start_again(recorder, workspace, settings)
    askable = log.blobs if base.options.attended else None
    take_up(recorder, run, past.records, log.repaired, askable)
    _take_on_changes(base, models, recorder)
    _apply_options(base, recorder, settings)


def _hook_facts(log: SessionLog, env: LocalEnvironment) -> JsonMap:
    """What every hook is told of the session that it is in."""
    return {"session_id": log.session, "transcript_path": str(log.folder / "events.jsonl"), "cwd": env.root}


def _environment(base: Ground, workspace: Path, recorder: Recorder) -> LocalEnvironment:
    """Where its tools work, recorded with what confines the commands there."""
    named = (profile.api_key_env for profile in base.config.models.values())
    env = LocalEnvironment(
        workspace,
        hidden=tuple(base.keys.secrets(named)),
        confinement=confining.confinement(base, workspace),
    )
    recorder.append(
        EnvStarted(
            environment=env.name,
            root=env.root,
            sandbox=env.sandbox.kind,
            sandbox_why_not=env.sandbox.why_not,
        )
    )
    return env


def _run(base: Ground, settings: SessionSettings) -> RunStarted:
    return RunStarted(
        run_id=base.ids.run(),
        pid=os.getpid(),
        client=base.options.client,
        product=PRODUCT,
        model=settings.model,
    )


def _checkpoints(base: Ground, workspace: Path, log: SessionLog) -> GitShadow:
    return GitShadow(
        workspace,
        log.folder / "checkpoints.git",
        limits=limits_of(base.config.checkpoints),
        sessions=base.store.root,
    )


def _start_again(recorder: Recorder, workspace: Path, settings: SessionSettings) -> None:
    """Say again what a damaged first line said, and in which folder the session goes on where its own is gone."""
    state, place = recorder.state, str(workspace)
    if state.settings is None:
        recorder.append(
            SessionStarted(workspace=place, product=PRODUCT, settings=settings, title=state.title)
        )
    elif state.workspace and Path(state.workspace) != workspace:
        recorder.append(WorkspaceMoved(workspace=place, previous=state.workspace))


def _recorder(
    log: SessionLog, before: Past, past: Unfinished, loaded: LoadedPlugins, *, plain: bool
) -> Recorder:
    """Fold what stands in the log: the branch, and the moves and messages beside it; or what came since it was kept."""
    with many_objects():
        marks = read_marks(log.folder) if log.last_seq >= 0 and before.kept is None else ()
        return Recorder(
            log,
            past.passing(before.history),
            listeners(loaded),
            marks,
            before.kept,
            partial(earlier_fold, log),
            plain,
        )


async def _release(env: LocalEnvironment, clients: Clients, maps: RepoMaps) -> int:
    """Let go of what the engine used; how many processes had to be killed."""
    try:
        return await env.aclose()
    finally:
        await clients.aclose()
        await maps.aclose()


def _settings(base: Ground, models: ModelFactory) -> SessionSettings:
    config = base.config
    return SessionSettings(
        model=_model(base, models),
        policy=config.policy,
        agent=config.agent,
        context_mode=config.context_mode,
        repo_map=config.repo_map,
        budgets=config.budgets,
    )


def _model(base: Ground, models: ModelFactory) -> ModelInfo:
    """The model to begin with. Where another one can be chosen, one that cannot be used keeps nothing from opening."""
    config = base.config
    if not config.model and not config.base_url:
        return models.absent()
    try:
        return models.resolve(config.model, config.base_url, config.reasoning_effort)
    except ConfigError as error:
        if base.options.client not in CHOOSERS:
            raise
        return models.absent(str(error))


def _take_on_changes(base: Ground, models: ModelFactory, recorder: Recorder) -> None:
    """What a fork was made with. A model that cannot be used keeps nothing from opening where one can be chosen."""
    options = base.options

    def resolve(name: str, base_url: str, effort: Effort | None) -> ModelInfo:
        try:
            return models.resolve(name, base_url, effort)
        except ConfigError as error:
            if options.client not in CHOOSERS:
                raise
            return models.absent(str(error))

    take_on_settings(recorder, resolve, model_given=bool(options.model or options.base_url))


def _apply_options(base: Ground, recorder: Recorder, settings: SessionSettings) -> None:
    """A session that is taken up keeps its settings, but for what this start asked for."""
    known = recorder.state.settings
    if known is None:
        return
    options = base.options
    asked: list[tuple[str, object]] = [
        ("model", options.model or options.base_url or options.effort or None),
        ("policy", options.policy),
        ("agent", options.agent),
        ("context_mode", options.context_mode),
    ]
    changed = {key for key, value in asked if value is not None}
    if known.model.provider == NO_MODEL:
        changed.add("model")
    if settings.budgets != Budgets():
        changed.add("budgets")
    for key in sorted(changed):
        _change(recorder, key, settings, known)


def _change(recorder: Recorder, key: str, settings: SessionSettings, known: SessionSettings) -> None:
    new = settings.model_dump(mode="json")[key]
    old = known.model_dump(mode="json")[key]
    if new != old:
        recorder.append(SettingsChanged.model_validate({"key": key, "value": new, "previous": old}))


def _workspace(base: Ground, recorder: Recorder, past: Unfinished) -> Path:
    known = recorder.state.workspace or past.root
    workspace = Path(known) if known else base.options.cwd.resolve()
    if not workspace.is_dir() and base.options.cwd_given:
        workspace = base.options.cwd.resolve()
    if not workspace.is_dir():
        raise ConfigError(
            f"The workspace {workspace} is not there.",
            hint="Say where it is now: -C DIR. The session goes on there.",
        )
    if not os.access(workspace, os.R_OK | os.X_OK):
        raise ConfigError(f"The workspace {workspace} cannot be read.", hint="Check its permissions.")
    return workspace


def plugin_places(base: Ground) -> PluginPlaces:
    """Where this start looks for plugins."""
    paths, options = base.config.paths, base.options
    return PluginPlaces(
        bundled=bundled("plugins"),
        user=paths.config_dir / "plugins",
        project=lay_out(base.config.project, PROJECT_PLUGINS, paths.trusted_copies),
        extra=tuple(dict.fromkeys((*base.config.plugin_dirs, *options.plugin_dirs))),
        only_bundled=options.no_plugins,
        notes=notes_folder(base.config),
    )


def outside_plugins(base: Ground) -> LoadedPlugins:
    """The plugins that did not come with the product: for what only they could add."""
    places = replace(plugin_places(base), bundled=None)
    return PluginHost(places, base.config.plugins_disabled).load()


def _plugins(base: Ground) -> LoadedPlugins:
    return PluginHost(plugin_places(base), base.config.plugins_disabled).load()


def _tools(loaded: LoadedPlugins) -> tuple[ToolRegistry, list[PluginFailed]]:
    registry = ToolRegistry()
    failed = []
    for offered in loaded.tools:
        try:
            registry.add(offered.owner, offered.tool)
        except PluginError as error:
            failed.append(PluginFailed(plugin=offered.owner, message=str(error)))
    return registry, failed


def _remember(path: Path, rule: str) -> None:
    append_rule(path, rule)


def _agents(loaded: LoadedPlugins) -> dict[str, Callable[[], Agent]]:
    agents: dict[str, Callable[[], Agent]] = {"default": ModelAgent}
    for offered in loaded.agents:
        agents.setdefault(offered.name, offered.make)
    return agents


def _require_agent(name: str, agents: Collection[str]) -> None:
    """Refuse an agent that is not there before anything is made."""
    if name not in agents:
        raise ConfigError(f"There is no agent {name!r}.", hint=f"There are: {', '.join(sorted(agents))}.")


def _client_for(models: ModelFactory, info: ModelInfo) -> ModelClient:
    if info.provider == NO_MODEL:
        raise ConfigError(
            info.fault or "No model is set.",
            hint="/model chooses one; tui-agent demo works without an account.",
        )
    return models.client(info)


def _tell_stderr(error: TuiAgentError) -> None:
    sys.stderr.write(f"tui-agent: {error}\n")  # the store cannot take it: the last way out
