"""The supervisor of one MCP server: starts it, lists its tools, and restarts it a few times if it ends.

Invariant: every failure of the server becomes a message, and no error leaves `run`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread
from pydantic import ValidationError

from tui_agent.errors import ConfigError, EnvironmentFault, LoginNeeded, ToolError, TuiAgentError
from tui_agent.mcp.content.outside_text import clean_line, describe_fault
from tui_agent.mcp.content.prompts import RemotePrompt
from tui_agent.mcp.content.resources import MAX_OFFERED, ResourceList, find_matches, open_slots
from tui_agent.mcp.offered_tools import CallServices, RemoteTool
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.ports.environment import ProcessOpener
from tui_agent.ports.tool import ResourceContent, ToolResult
from tui_agent.protocol.events.plugin import NOT_ANSWERED, RESTARTS
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.units import format_time_limit

if TYPE_CHECKING:
    from tui_agent.mcp.connection import Connection

START_LIMIT_S = 30.0
"""Maximum seconds for a server to start and list its tools."""
RESTART_DELAYS_S = (1.0, 4.0, 15.0)
"""Seconds to wait before the first, second and third restart of a server that ended."""
STEADY_S = 60.0
"""Minimum run time of a server, in seconds, before its restarts are counted from zero again."""
LOGIN_CHECK_S = 2.0
"""Interval between checks for a login by the user, in seconds."""
CHANGE_PAUSE_S = 0.3
"""Seconds to wait after a server changed its lists. The wait keeps a server from flooding the session."""
OFF = ". The server is off for the rest of this session."
"""The last sentence of a server's error message if the server is not started again."""
SDK_MODULE = "tui_agent.mcp.connection"


class ServerRunner:
    """Runs one server.

    `on_change`: called after a change of the server's tools or fault.
    """

    def __init__(
        self,
        settings: ServerSettings,
        opener: ProcessOpener,
        root: str,
        on_change: Callable[[], object],
        delays: tuple[float, ...] = RESTART_DELAYS_S,
    ) -> None:
        self.settings = settings
        self.tools: tuple[RemoteTool, ...] = ()
        self.prompts: tuple[RemotePrompt, ...] = ()
        self.revealed: frozenset[str] = frozenset()
        """Names of the tools that were found with the server's search tool (see `ToolSearch`)."""
        self.left_out: tuple[str, ...] = ()
        """A sentence for each tool and prompt that is left out, because the server describes it wrongly."""
        self.version = ""
        self.fault = ""
        """The reason why the server cannot be used now; empty while it starts or runs."""
        self.start_began: float | None = None
        """Time at which the newest start began, on the event loop's clock. None before the first start."""
        self.start_seconds: float | None = None
        """Seconds that the newest complete start took; None if the server was never ready."""
        self.settled = anyio.Event()
        """Set when the first attempt to start the server has ended."""
        self._opener = opener
        self._root = root
        self._on_change = on_change
        self._delays = delays
        self._connection: Connection | None = None
        self._news = anyio.Event()
        self._lists_changed = False
        self._resources: ResourceList | None = None
        """The server's resources; None if it offers none."""
        self._is_closing = self._needs_login = False
        self._start: anyio.CancelScope | None = None
        """The cancel scope of an attempt to start the server; None while the server runs."""
        self._ready = anyio.Event()
        """Set while calls need not wait: the server runs or cannot be used now."""

    def close(self) -> None:
        """End the server for good."""
        self._is_closing = True
        self._news.set()
        if self._start is not None:
            self._start.cancel()

    def _must_stop(self) -> bool:
        # A function, because mypy assumes in the loop of `run` that `_is_closing` stays False.
        return self._is_closing

    async def run(self) -> None:
        """Keep the server running until `close` is called or no restart is left."""
        attempt = 0
        while not self._is_closing:
            started, login = anyio.current_time(), await self._read_login_stamp()
            fault, is_final = await self._serve()
            self._connection = None
            if self._must_stop():
                break
            if self._needs_login:
                await self._wait_for_login(fault, login)
                continue
            attempt = 0 if anyio.current_time() - started > STEADY_S else attempt
            if is_final or attempt >= len(self._delays):
                self._give_up(fault)
                break
            self._begin_waiting()
            self._set_fault(f"{fault}.{RESTARTS}")
            self.settled.set()
            with anyio.move_on_after(self._delays[attempt]):
                await self._news.wait()
            attempt += 1
        self._ready.set()
        self.settled.set()

    async def _read_login_stamp(self) -> object:
        login = self.settings.login
        return None if login is None else await to_thread.run_sync(login.stamp)

    async def _wait_for_login(self, fault: str, before: object) -> None:
        """Wait until the user logs in from another terminal, or until the session closes.

        `before`: result of `_read_login_stamp` before the login. A different result means that the user has logged in.
        """
        self.tools, self.prompts = (), ()
        self._set_fault(fault)
        self._ready.set()
        self.settled.set()
        while not self._is_closing and await self._read_login_stamp() == before:
            self._news = anyio.Event()
            with anyio.move_on_after(LOGIN_CHECK_S):
                await self._news.wait()
        self._begin_waiting()

    def _begin_waiting(self) -> None:
        """Make new calls wait until the server is ready again."""
        if self._ready.is_set():
            self._ready = anyio.Event()

    def _give_up(self, fault: str) -> None:
        self.tools, self.prompts = (), ()
        self._set_fault(f"{fault}{OFF}")

    def _set_fault(self, fault: str) -> None:
        if fault != self.fault:
            self.fault = fault
            self._on_change()

    async def _serve(self) -> tuple[str, bool]:
        """Run the server until it ends. Return (reason for its end, True if a restart would not help)."""
        self._needs_login = False
        try:
            with anyio.CancelScope() as start:
                self._start = start
                sdk: Any = await to_thread.run_sync(import_module, SDK_MODULE, abandon_on_cancel=True)
                # The limit starts after the import of the SDK, which can take seconds on a busy machine.
                self.start_began = anyio.current_time()
                start.deadline = self.start_began + min(START_LIMIT_S, self.settings.timeout)
                async with sdk.connect(
                    self.settings, self._opener, self._root, self._note_change
                ) as connection:
                    await self._list(connection)
                    start.deadline, self._start = float("inf"), None
                    self._connection, self.fault = connection, ""
                    self.start_seconds = anyio.current_time() - self.start_began
                    self._resources = ResourceList() if connection.has_resources else None
                    self._ready.set()
                    self.settled.set()
                    self._on_change()
                    await self._follow(connection)
            if start.cancelled_caught:
                return (
                    f"it did not answer within {format_time_limit(min(START_LIMIT_S, self.settings.timeout))}",
                    False,
                )
        except LoginNeeded as needed:
            self._needs_login = True
            return needed.message, True
        except EnvironmentFault as fault:
            return fault.message.rstrip("."), True
        except Exception as error:  # noqa: BLE001 - a supervisor: whatever a server or the SDK raises is named
            return _describe(error), False
        return "it ended", False

    async def _follow(self, connection: "Connection") -> None:
        """List tools and prompts again whenever they change, until the server ends or the session closes."""
        async with anyio.create_task_group() as group:
            if connection.ended is not None:
                group.start_soon(self._wake_at_end, connection.ended)
            if self._resources is not None:
                group.start_soon(self._resources.keep, connection.list_resources)
            while not self._is_closing and not (connection.ended is not None and connection.ended.is_set()):
                await self._news.wait()
                self._news = anyio.Event()
                if self._lists_changed and not self._is_closing:
                    await anyio.sleep(CHANGE_PAUSE_S)
                    self._lists_changed = False
                    if await self._list(connection):
                        self._on_change()
            group.cancel_scope.cancel()

    async def _wake_at_end(self, ended: anyio.Event) -> None:
        await ended.wait()
        self._news.set()

    def _note_change(self, list_name: str) -> None:
        if list_name == "resources":
            if self._resources is not None:
                self._resources.note_change()
            return
        self._lists_changed = True
        self._news.set()

    async def _list(self, connection: "Connection") -> bool:
        before = self.tools, self.prompts, self.left_out
        with anyio.fail_after(self.settings.timeout):
            tools = await connection.list_tools()
            self.prompts, self.left_out = await _list_prompts(connection)
            self.tools = tools
        self.version = connection.version
        return (self.tools, self.prompts, self.left_out) != before

    def record_no_answer(self) -> None:
        """Record that the session begins without this server, because it has not answered."""
        self._set_fault(NOT_ANSWERED)

    def reveal(self, names: Iterable[str]) -> None:
        """Add the tools `names`, which a search found, to all further requests."""
        revealed = self.revealed | frozenset(names)
        if revealed != self.revealed:
            self.revealed = revealed
            self._on_change()

    async def wait_until_ready(self) -> None:
        """Wait until the server runs, or until it cannot be used."""
        while not self._ready.is_set():  # a restart replaces the event
            await self._ready.wait()

    def explain_absence(self) -> str:
        """Return why the server cannot be used now; empty if it runs."""
        if self._connection is not None:
            return ""
        server = f"The MCP server {self.settings.name}"
        if self._needs_login:
            return f"{server} {self.fault}"
        status = "is off" if self.fault.endswith(OFF) else "does not run"
        return f"{server} {status}: {self.fault}" if self.fault else f"{server} has not started yet."

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt of the server. Raise `ConfigError` if the request fails."""
        return await (await self._wait_for_connection(ConfigError)).get_prompt(name, arguments)

    async def call(self, name: str, arguments: JsonMap, services: CallServices) -> ToolResult:
        """Wait until the server runs, and call one of its tools. Raise `ToolError` if the call fails."""
        return await (await self._wait_for_connection(ToolError)).call_tool(name, arguments, services)

    @property
    def has_resources(self) -> bool:
        """True if the server runs and offers resources."""
        return self._connection is not None and self._resources is not None

    async def read_resource(self, uri: str) -> ResourceContent:
        """Wait until the server runs, and return the content of a resource.

        Raise `ToolError` if the request fails.
        """
        return await (await self._wait_for_connection(ToolError)).read_resource(uri)

    async def complete_mention(self, query: str) -> Sequence[str]:
        """Return the matching mentions of the server's resources.

        Raise `ToolError` if the request fails.
        """
        connection, resources, server = self._connection, self._resources, self.settings.name
        if connection is None or resources is None:
            return ()
        known, values = await resources.get(), list[str]()
        if query.startswith(f"{server}:"):
            for slot in open_slots(query.removeprefix(f"{server}:"), known.templates):
                offered = await connection.complete_slot(slot)
                values += [f"{server}:{slot.before}{value}" for value in offered]
        return list(dict.fromkeys((*values, *find_matches(server, query, known))))[:MAX_OFFERED]

    async def _wait_for_connection(self, error: type[TuiAgentError]) -> "Connection":
        await self.wait_until_ready()
        if self._connection is None:
            raise error(self.explain_absence())
        return self._connection


async def _list_prompts(connection: "Connection") -> tuple[tuple[RemotePrompt, ...], tuple[str, ...]]:
    """Return the server's prompts, and a sentence for each tool or prompt that is left out."""
    try:
        return await connection.list_prompts(), connection.left_out
    except ToolError as error:
        if connection.ended is not None and connection.ended.is_set():
            raise
        return (), (*connection.left_out, f"Its prompts are left out: {error.message}")


def _describe(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ValidationError):
        return f"it sent an answer that is not valid: {describe_fault(error)}"
    text = clean_line(str(error))
    named = "ServerGone", "MCPError", "ConfigError"
    return text if text and type(error).__name__ in named else f"{type(error).__name__}: {text}".rstrip(": ")
