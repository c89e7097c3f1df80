"""The server of `tui-agent acp`: one editor on standard input and output, until it disconnects.

Invariant: only the protocol's messages reach standard output.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import acp
import anyio

from tui_agent.acp.agent import EditorAgent
from tui_agent.acp.json_lines import MAX_LINE_BYTES, JsonLines
from tui_agent.config.options import SessionOptions
from tui_agent.session.remote import RemoteSession
from tui_agent.session.stdio import claim_stdio, open_streams


def run_stdio_server(options: SessionOptions) -> None:
    """Serve the editor that started this process. Each session has an engine process of its own."""
    anyio.run(_serve, options, *claim_stdio())


async def _serve(options: SessionOptions, input_fd: int, output_fd: int) -> None:
    lines = JsonLines(*await open_streams(input_fd, output_fd, limit=MAX_LINE_BYTES))
    with TemporaryDirectory(prefix="tui-agent-acp-") as images:
        async with anyio.create_task_group() as group:
            agent = EditorAgent(options, RemoteSession.spawn, group, Path(images))
            # Requests for methods that are not defined are answered with an error. The library allows that; its type does not.
            await acp.run_agent(cast(acp.Agent, agent), lines, use_unstable_protocol=True)
            await agent.aclose()
            group.cancel_scope.cancel()
