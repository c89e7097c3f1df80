"""The connection to one MCP server through the official SDK.

Invariant: the SDK is used only by this module and the modules that it imports, and only when a server starts.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import anyio
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from tui_agent import __version__
from tui_agent.errors import ConfigError, LoginNeeded, ToolError
from tui_agent.fast_dataclass import dataclass
from tui_agent.mcp.content.elicitation import Elicitation
from tui_agent.mcp.content.outside_text import MAX_DESCRIPTION_CHARS, clean_line, clean_text, describe_fault
from tui_agent.mcp.content.prompts import RemotePrompt
from tui_agent.mcp.content.resource_content import as_resource
from tui_agent.mcp.content.resources import MAX_RESOURCES, RemoteResources, TemplateSlot, can_be_typed
from tui_agent.mcp.content.results import as_tool_result
from tui_agent.mcp.content.schema_repair import repair_schema
from tui_agent.mcp.login import UNAUTHORIZED, ServerLogin
from tui_agent.mcp.offered_tools import CallServices, RemoteTool, digest_tool
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.mcp.transport import END_GRACE_S, ListCheck, StdioTransport
from tui_agent.ports.environment import ProcessOpener
from tui_agent.ports.tool import ResourceContent, ToolResult
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.units import format_time_limit

MAX_TOOLS = 1_000
MAX_PROMPTS = 100
PROMPTS_LIMIT_S = 5.0
MAX_PROMPT_CHARS = 100_000
_MAX_PAGES = 100
HTTP_ERROR = 400
_CHANGES: Mapping[type[object], str] = {
    types.ToolListChangedNotification: "tools",
    types.PromptListChangedNotification: "prompts",
    types.ResourceListChangedNotification: "resources",
}


class ServerGone(Exception):
    """Raised if the server ended or cannot be reached; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Connection:
    """An open connection to a server.

    `ended`: set when the server's process ends or the server refuses the login.
    """

    client: Client
    elicitation: Elicitation
    settings: ServerSettings
    lists: ListCheck
    ended: anyio.Event | None
    login: ServerLogin | None = None
    pipes: StdioTransport | None = None

    @property
    def version(self) -> str:
        """The version that the server reports; empty if it reports none."""
        info = self.client.server_info
        return "" if info is None else clean_line(info.version, 40)

    async def list_tools(self) -> tuple[RemoteTool, ...]:
        """Return up to `MAX_TOOLS` tools that the server offers, each name once."""
        if self.client.server_capabilities.tools is None:
            return ()
        self.lists.begin("tools")
        tools: dict[str, RemoteTool] = {}
        async for page in _pages(self.client.list_tools):
            for tool in page.tools:
                if tool.name in tools:
                    self.lists.leave_out_duplicate(tool.name)
                else:
                    tools[tool.name] = _as_remote_tool(tool)
            if len(tools) >= MAX_TOOLS:
                break
        return tuple(tools.values())[:MAX_TOOLS]

    @property
    def left_out(self) -> tuple[str, ...]:
        """A sentence for each tool and prompt of the server that is left out, because its description is not valid."""
        return self.lists.left_out("tools", "prompts")

    async def call_tool(self, name: str, arguments: JsonMap, services: CallServices) -> ToolResult:
        """Call a tool.

        Raise `ToolError` with a message for the model if the call fails.
        """

        async def report(progress: float, total: float | None, message: str | None) -> None:
            of = f"/{total:g}" if total else ""
            services.progress(f"{progress:g}{of} {clean_line(message or '')}".rstrip() + "\n")

        with _naming_faults(self), self.elicitation.during_call(services.ask, self.settings.timeout):
            result = await self.client.call_tool(name, arguments, progress_callback=report)
        return as_tool_result(result, services.blobs)

    @property
    def has_resources(self) -> bool:
        """True if the server offers resources."""
        return self.client.server_capabilities.resources is not None

    async def list_resources(self) -> RemoteResources:
        """Return up to `MAX_RESOURCES` resources that the server lists within its time limit.

        Raise `ToolError` if the request fails.
        """
        uris: list[str] = []
        templates: list[str] = []
        with _naming_faults(self), anyio.move_on_after(self.settings.timeout):
            async for page in _pages(self.client.list_resource_templates):
                templates += [item.uri_template for item in page.resource_templates]
            async for listed in _pages(self.client.list_resources):
                uris += [item.uri for item in listed.resources]
                if len(uris) >= MAX_RESOURCES:
                    break
        lists = (tuple(filter(can_be_typed, resources[:MAX_RESOURCES])) for resources in (uris, templates))
        return RemoteResources(*lists)

    async def read_resource(self, uri: str) -> ResourceContent:
        """Return the content of a resource. Raise `ToolError` if the request fails."""
        with _naming_faults(self), anyio.fail_after(self.settings.timeout):
            return as_resource(await self.client.read_resource(uri))

    async def complete_slot(self, slot: TemplateSlot) -> Sequence[str]:
        """Return the values that the server offers for a variable of a template.

        Raise `ToolError` if the request fails.
        """
        if self.client.server_capabilities.completions is None:
            return ()
        reference = types.ResourceTemplateReference(uri=slot.template)
        argument = {"name": slot.variable, "value": slot.typed}
        with _naming_faults(self), anyio.fail_after(self.settings.timeout):
            result = await self.client.complete(reference, argument, slot.values or None)
        return tuple(filter(can_be_typed, result.completion.values))

    async def list_prompts(self) -> tuple[RemotePrompt, ...]:
        """Return up to `MAX_PROMPTS` prompts that the server lists within `PROMPTS_LIMIT_S`.

        Raise `ToolError` if the request fails.
        """
        if self.client.server_capabilities.prompts is None:
            return ()
        self.lists.begin("prompts")
        with _naming_faults(self, PROMPTS_LIMIT_S), anyio.fail_after(PROMPTS_LIMIT_S):
            page = await self.client.list_prompts()
        return tuple(map(_as_remote_prompt, page.prompts[:MAX_PROMPTS]))

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt. Raise `ConfigError` if the server refuses or does not answer in time."""
        try:
            with _naming_faults(self), anyio.fail_after(self.settings.timeout):
                result = await self.client.get_prompt(name, dict(arguments))
        except ToolError as error:
            raise ConfigError(error.message) from error
        texts = [
            message.content.text
            for message in result.messages
            if isinstance(message.content, types.TextContent)
        ]
        return clean_text("\n\n".join(texts), MAX_PROMPT_CHARS)


class _Page(Protocol):
    @property
    def next_cursor(self) -> str | None: ...


PageT = TypeVar("PageT", bound=_Page)


async def _pages(fetch: Callable[..., Awaitable[PageT]]) -> AsyncIterator[PageT]:
    """Yield up to `_MAX_PAGES` pages of a list."""
    cursor: str | None = None
    # A faulty server could send pages without end.
    for _ in range(_MAX_PAGES):
        page = await fetch(cursor=cursor)
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return


@contextmanager
def _naming_faults(connection: Connection, limit_s: float | None = None) -> Iterator[None]:
    """Convert the errors of a request inside the `with` block to a `ToolError`.

    `limit_s`: time limit of the request; None for the server's own limit.
    """
    server = f"The MCP server {connection.settings.name}"
    try:
        yield
    except TimeoutError as error:
        limit = limit_s or connection.settings.timeout
        raise ToolError(f"{server} did not answer within {format_time_limit(limit)}.") from error
    except MCPError as error:
        if connection.login is not None and connection.login.refused.is_set():
            raise ToolError(f"{server} {LoginNeeded(connection.settings.name)}") from error
        if connection.ended is not None and connection.ended.is_set():
            fault = connection.pipes.fault if connection.pipes is not None else ""
            raise ToolError(f"{server} was stopped: {fault}." if fault else f"{server} ended.") from error
        raise ToolError(f"{server} refused the request: {clean_line(error.error.message, 500)}") from error
    except (ValidationError, RuntimeError, ValueError) as error:
        raise ToolError(f"{server} sent an answer that is not valid: {describe_fault(error)}") from error


def _as_remote_prompt(prompt: types.Prompt) -> RemotePrompt:
    arguments = {argument.name: bool(argument.required) for argument in prompt.arguments or ()}
    return RemotePrompt(prompt.name, clean_line(prompt.description or prompt.title or ""), arguments)


def _as_remote_tool(tool: types.Tool) -> RemoteTool:
    repaired = repair_schema(tool.input_schema)
    hints = tool.annotations
    return RemoteTool(
        tool.name,
        clean_text(tool.description or "", MAX_DESCRIPTION_CHARS),
        repaired.schema,
        repaired.original_names,
        read_only=hints is not None and bool(hints.read_only_hint),
        digest=digest_tool(tool.name, tool.description, tool.input_schema, hints and hints.read_only_hint),
    )


@asynccontextmanager
async def connect(
    settings: ServerSettings,
    opener: ProcessOpener,
    root: str,
    on_change: Callable[[str], None],
    login: ServerLogin | None = None,
) -> AsyncIterator[Connection]:
    """Start a server or connect to its address, and yield the connection.

    - `on_change`: called with the name of a changed list: `tools`, `prompts` or `resources`.
    - `login`: login to use instead of the saved one.

    Raise `EnvironmentFault` if the program cannot be started, and `LoginNeeded` if the server refuses the login. Raise
    an error of the SDK if the connection fails.
    """
    elicitation, lists = Elicitation(settings.name), ListCheck()
    if settings.url:
        async with _connect_to_address(settings, elicitation, lists, root, on_change, login) as connection:
            yield connection
        return
    process = await opener.open_process((settings.command, *settings.args), settings.env, settings.cwd)
    pipes = StdioTransport(process)
    exit_code: int | None = None
    is_open = False
    try:
        try:
            async with _open_client(elicitation, lists, pipes.open(), root, on_change) as client:
                is_open = True
                yield Connection(client, elicitation, settings, lists, pipes.ended, pipes=pipes)
        finally:
            # A server that never answered, or has ended, gets no time to say goodbye.
            exit_code = await process.end(END_GRACE_S if is_open and not pipes.ended.is_set() else 0.0)
    except (MCPError, ExceptionGroup) as error:
        if pipes.ended.is_set():
            raise ServerGone(pipes.describe_end(exit_code)) from error
        raise
    if pipes.ended.is_set():
        raise ServerGone(pipes.describe_end(exit_code))


@asynccontextmanager
async def _connect_to_address(
    settings: ServerSettings,
    elicitation: Elicitation,
    lists: ListCheck,
    root: str,
    on_change: Callable[[str], None],
    login: ServerLogin | None,
) -> AsyncIterator[Connection]:
    if login is None and settings.login is not None:
        login = ServerLogin(settings.login)
    logging.getLogger("mcp").handlers[:] = [logging.NullHandler()]  # its messages may hold tokens
    status = 0

    async def note_status(response: httpx2.Response) -> None:
        nonlocal status
        if response.request.method == "POST" and response.request.url == httpx2.URL(settings.url):
            status = response.status_code

    try:
        async with create_mcp_http_client(headers=dict(settings.headers), auth=login) as http:
            http.event_hooks = {"response": [note_status]}
            transport = streamable_http_client(settings.url, http_client=http)
            async with _open_client(elicitation, lists, transport, root, on_change) as client:
                ended = login.refused if login is not None else None
                yield Connection(client, elicitation, settings, lists, ended, login)
    except (MCPError, ExceptionGroup) as error:
        if login is not None and login.refused.is_set():
            raise LoginNeeded(settings.name) from error
        if login is not None and login.is_interactive:
            raise
        raise _explain_http_fault(error, status, settings) from error
    if login is not None and login.refused.is_set():
        raise LoginNeeded(settings.name)


def _explain_http_fault(
    error: BaseException, status: int, settings: ServerSettings
) -> ServerGone | ConfigError:
    """Return why an address does not work, in plain words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = clean_line(str(error))
    if isinstance(error, ConfigError):
        return error
    if status == UNAUTHORIZED and any(name.lower() == "authorization" for name in settings.headers):
        return ServerGone("it refused the Authorization header (HTTP 401)")
    if status >= HTTP_ERROR:
        return ServerGone(f"it answered with HTTP {status}")
    if isinstance(error, httpx2.HTTPError):
        return ServerGone(f"it cannot be reached: {text or type(error).__name__}")
    if text.startswith("Failed to parse"):
        return ServerGone("its answer is not an MCP message")
    return ServerGone(f"it does not answer like an MCP server: {text}")


@asynccontextmanager
async def _open_client(
    elicitation: Elicitation,
    lists: ListCheck,
    transport: AbstractAsyncContextManager[Any],
    root: str,
    on_change: Callable[[str], None],
) -> AsyncIterator[Client]:
    async def receive(message: IncomingMessage) -> None:
        change = _CHANGES.get(type(message))
        if change is not None:
            on_change(change)

    async def elicit(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        return await elicitation.answer(params)

    client = Client(
        lists.wrap(transport),
        elicitation_callback=elicit,
        message_handler=receive,
        list_roots_callback=partial(_list_roots, root),
        client_info=types.Implementation(name="tui-agent", version=__version__),
        cache=None,
    )
    async with client, anyio.create_task_group() as group:
        lists.version = client.protocol_version
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            group.start_soon(_subscribe_to_changes, client)
        yield client
        group.cancel_scope.cancel()


async def _list_roots(root: str, context: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri=f"file://{root}")])


async def _subscribe_to_changes(client: Client) -> None:
    """Subscribe to changes of lists on a server of the newer protocol."""
    can = client.server_capabilities
    tools = can.tools is not None and bool(can.tools.list_changed)
    prompts = can.prompts is not None and bool(can.prompts.list_changed)
    resources = can.resources is not None and bool(can.resources.list_changed)
    if not tools and not prompts and not resources:
        return
    async with client.listen(
        tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
    ) as events:
        async for _ in events:
            pass  # the client passes each change to its message handler; this only keeps the subscription
