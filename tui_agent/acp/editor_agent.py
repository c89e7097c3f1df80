"""The agent that an editor talks to: opens, lists and controls sessions.

Invariant: a failed request is answered with an error, and other requests continue.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import acp
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionInfo,
    SessionListCapabilities,
    SessionMode,
    SessionModeState,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
)
from anyio import Lock, to_thread
from anyio.abc import TaskGroup

from tui_agent import __version__
from tui_agent.acp.editor_input import EditorServer, PromptBlock, build_prompt, server_entries
from tui_agent.acp.editor_session import EditorSession
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import SessionNotFound, TuiAgentError, UsageError
from tui_agent.plugin_host.loader import LoadedPlugins
from tui_agent.ports.session import AppSession
from tui_agent.protocol.commands import SetEffort, SetModel, SetPolicy
from tui_agent.protocol.settings import POLICIES, ModelInfo, PolicyName, SessionSettings
from tui_agent.protocol.unicode_text import list_first
from tui_agent.wiring.models import build_model_factory
from tui_agent.wiring.startup_context import StartupContext, load_startup_context

OpenSession = Callable[[SessionOptions], AppSession]
MAX_LISTED: Final = 100
MODEL_OPTION: Final = "model"
EFFORT_OPTION: Final = "effort"
DEFAULT_EFFORT: Final = "default"
"""Value of the effort option if no reasoning effort is set."""
_MODES: Final[dict[PolicyName, str]] = {
    "plan": "Reads and plans; changes nothing",
    "ask": "Asks before it changes files or runs commands that are not known to be harmless",
    "accept-edits": "Changes files in the workspace without asking",
    "bypass": "Never asks, but still refuses to read secrets or wipe a folder",
}


class EditorAgent:
    """The agent for one connection to an editor.

    `group`: the task group that runs the sessions' tasks.
    """

    def __init__(
        self, options: SessionOptions, open_session: OpenSession, group: TaskGroup, images: Path
    ) -> None:
        self._options = options
        self._open_session = open_session
        self._group = group
        self._images = images
        self._sessions: dict[str, EditorSession] = {}
        self._models: dict[str, list[SessionConfigSelectOption]] = {}
        """Maps a session's id to the models offered in this session."""
        self._places: dict[str, tuple[str, list[EditorServer] | None]] = {}
        """Maps a session's id to the folder and the MCP servers that the editor gave for this session."""
        self._opening: defaultdict[str, Lock] = defaultdict(Lock)
        """Maps a session's id to a lock. The lock is held while the session is opened."""
        self._client: Client | None = None

    def on_connect(self, conn: Client) -> None:
        """Store the connection, used to send updates and requests to the editor."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Return the protocol's version, and the name and the capabilities of this agent."""
        return InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_info=Implementation(name="tui-agent", title="tui-agent", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                mcp_capabilities=McpCapabilities(http=True, sse=False),
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True, audio=False),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    async def new_session(
        self, cwd: str, mcp_servers: list[EditorServer] | None = None, **_: Any
    ) -> NewSessionResponse:
        """Create a session in the folder `cwd`."""
        with _answering_errors():
            session = await self._open(cwd, mcp_servers)
            self._group.start_soon(session.run, self._group)
            return NewSessionResponse(session_id=session.id, **self._offers(session))

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: list[EditorServer] | None = None, **_: Any
    ) -> LoadSessionResponse:
        """Open an earlier session, and send its history as updates before the answer."""
        with _answering_errors():
            async with self._opening[session_id]:
                session = await self._open(cwd, mcp_servers, session_id)
            await session.replay()
            self._group.start_soon(session.run, self._group)
            return LoadSessionResponse(**self._offers(session))

    async def resume_session(
        self, cwd: str, session_id: str, mcp_servers: list[EditorServer] | None = None, **_: Any
    ) -> ResumeSessionResponse:
        """Open an earlier session without sending its history."""
        with _answering_errors():
            async with self._opening[session_id]:
                session = await self._open(cwd, mcp_servers, session_id)
            self._group.start_soon(session.run, self._group)
            return ResumeSessionResponse(**self._offers(session))

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> ListSessionsResponse:
        """List the newest sessions; if `cwd` is given, only sessions of this folder."""
        with _answering_errors():
            base = await to_thread.run_sync(load_startup_context, self._options)
            summaries = await to_thread.run_sync(base.store.list, cwd)
            return ListSessionsResponse(
                sessions=[
                    SessionInfo(
                        session_id=summary.id,
                        cwd=summary.workspace,
                        title=summary.title or None,
                        updated_at=datetime.fromtimestamp(summary.updated, UTC).isoformat(),
                    )
                    for summary in summaries[:MAX_LISTED]
                    if summary.workspace
                ]
            )

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """Close a session; a running turn is stopped."""
        with _answering_errors():
            session = self._find(session_id)
            del self._sessions[session_id]
            await session.aclose()
            return CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        """Switch a session to the policy `mode_id`."""
        with _answering_errors():
            session = await self._find_open(session_id)
            policy = next((name for name in POLICIES if name == mode_id), None)
            if policy is None:
                raise UsageError(f"There is no mode {mode_id!r}.", hint=f"Use {', '.join(POLICIES)}.")
            if policy != session.settings.policy:
                await session.carry_out(SetPolicy(policy=policy))
            return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        """Switch a session to another model or reasoning effort."""
        with _answering_errors():
            session = await self._find_open(session_id)
            model = session.settings.model
            effort = next((level for level in model.efforts if level == value), None)
            if config_id == MODEL_OPTION and isinstance(value, str):
                if value != model.profile:
                    await session.carry_out(SetModel(model=value))
            elif config_id == EFFORT_OPTION and (effort is not None or value == DEFAULT_EFFORT):
                if effort is not None and effort != model.effort:
                    await session.carry_out(SetEffort(effort=effort))
            else:
                raise UsageError(f"The option {config_id!r} does not exist, or does not accept this value.")
            return SetSessionConfigOptionResponse(config_options=self._options_of(session))

    async def prompt(self, session_id: str, prompt: list[PromptBlock], **_: Any) -> PromptResponse:
        """Run a turn with the editor's message, and return why the turn ended."""
        with _answering_errors():
            session = await self._find_open(session_id)
            return await session.prompt(build_prompt(prompt, session.workspace, self._images))

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the running turn of a session."""
        if session_id in self._sessions:
            self._sessions[session_id].cancel()

    async def aclose(self) -> None:
        """Close all sessions."""
        while self._sessions:  # the editor may open or close one meanwhile
            await self._sessions.popitem()[1].aclose()

    def _find(self, session_id: str) -> EditorSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise UsageError(f"The session {session_id} is not open.", hint="Load the session first.")
        return session

    async def _find_open(self, session_id: str) -> EditorSession:
        """Return the session `session_id`. Open the session again if its engine has ended."""
        async with self._opening[session_id]:
            session = self._find(session_id)
            if session.is_closed:
                session = await self._open(*self._places[session_id], session_id)
                self._group.start_soon(session.run, self._group)
            return session

    async def _open(
        self, cwd: str, servers: list[EditorServer] | None, session_id: str | None = None
    ) -> EditorSession:
        """Open the session `session_id`; if the id is None, create a new session."""
        assert self._client is not None
        entries = server_entries(servers or ())
        base = await to_thread.run_sync(self._startup_context, cwd, session_id, entries)
        if session_id in self._sessions:
            await self._sessions[session_id].aclose()
        session = EditorSession(
            self._open_session(base.options), self._client, base.options.cwd, _trust_notice(base)
        )
        await session.open(self._group)
        self._sessions[session.id] = session
        self._places[session.id] = cwd, servers
        self._models[session.id] = await to_thread.run_sync(_model_choices, base)
        return session

    def _startup_context(
        self, cwd: str, session_id: str | None, servers: tuple[tuple[str, str], ...]
    ) -> StartupContext:
        workspace = Path(cwd)
        if not workspace.is_absolute() or not workspace.is_dir():
            raise UsageError(f"Folder not found: {cwd}.")
        options = replace(
            self._options,
            cwd=workspace.resolve(),
            session=session_id,
            cwd_given=True,
            mcp_servers=servers,
        )
        if session_id is not None:  # an earlier session keeps its own model and mode
            options = replace(options, model=None, base_url=None, effort=None, policy=None)
        base = load_startup_context(options)
        if session_id is not None and base.store.resolve(session_id) != session_id:
            raise SessionNotFound(f"There is no session {session_id!r}.")
        return base

    def _offers(self, session: EditorSession) -> dict[str, Any]:
        """Return the modes (policies) and options (model, effort) for a response, with the session's current values."""
        modes = [SessionMode(id=name, name=name, description=text) for name, text in _MODES.items()]
        state = SessionModeState(current_mode_id=session.settings.policy, available_modes=modes)
        return {"modes": state, "config_options": self._options_of(session)}

    def _options_of(self, session: EditorSession) -> list[SessionConfigOptionSelect]:
        settings = session.settings
        return [_model_option(settings, self._models[session.id]), *_effort_options(settings.model)]


def _model_option(
    settings: SessionSettings, choices: list[SessionConfigSelectOption]
) -> SessionConfigOptionSelect:
    current = settings.model.profile
    if current not in {choice.value for choice in choices}:
        name = current or "no model set"
        choices = [SessionConfigSelectOption(value=current, name=name), *choices]
    return SessionConfigOptionSelect(
        type="select",
        id=MODEL_OPTION,
        name="Model",
        category="model",
        current_value=current,
        options=choices,
    )


def _effort_options(model: ModelInfo) -> list[SessionConfigOptionSelect]:
    """Return a list with the option for the reasoning effort, or an empty list if the model supports no efforts."""
    if not model.efforts:
        return []
    current = model.effort or DEFAULT_EFFORT
    choices = [SessionConfigSelectOption(value=level, name=level) for level in model.efforts]
    if current not in model.efforts:
        name = "the model's default" if current == DEFAULT_EFFORT else current
        choices.insert(0, SessionConfigSelectOption(value=current, name=name))
    option = SessionConfigOptionSelect(
        type="select",
        id=EFFORT_OPTION,
        name="Reasoning effort",
        category="thought_level",
        current_value=current,
        options=choices,
    )
    return [option]


def _model_choices(base: StartupContext) -> list[SessionConfigSelectOption]:
    """Return the usable models, without the models of plugins and demos."""
    return [
        SessionConfigSelectOption(value=info.profile, name=info.profile, description=info.model)
        for info in build_model_factory(base, LoadedPlugins()).usable_models()
        if info.provider != "scripted"
    ]


def _trust_notice(base: StartupContext) -> str:
    """Return a notice that lists the project files without a trust decision; empty if there are none."""
    undecided = [file.name for project in base.config.undecided_projects for file in project.files]
    if not undecided:
        return ""
    return (
        f"These files are not used, because you have not trusted them yet: {list_first(undecided, 4)}. "
        f"To see the files and decide, run `tui-agent trust` in {base.options.cwd}."
    )


@contextmanager
def _answering_errors() -> Iterator[None]:
    """Convert a `TuiAgentError` in the `with` block to an error of the protocol."""
    try:
        yield
    except UsageError as error:
        raise acp.RequestError(-32602, str(error)) from error
    except TuiAgentError as error:
        raise acp.RequestError(-32603, str(error)) from error
