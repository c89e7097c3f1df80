"""Client of a Jupyter kernel: sends orders to the program `kernel_runner`, and collects the outputs.

Invariant: whatever the kernel does, memory use stays bounded.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

import tui_agent.plugin_api as api

from .outputs import output_text

MAX_LINE_BYTES = 16_000_000
START_LIMIT_S = 90.0
STOP_LIMIT_S = 5.0
"""Maximum seconds to wait for the end of an interrupted cell."""
_ERROR_TAIL_BYTES = 4_000


class KernelGone(Exception):
    """Raised if the kernel ended, or had to be ended; the message gives the reason."""


class CellRun:
    """A run of a cell, with its outputs so far; `status` is empty until the run ends."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self.on_text = on_text
        self.outputs: list[dict[str, Any]] = []
        self.status = ""
        self.count: int | None = None
        self.ended = anyio.Event()

    def add(self, output: dict[str, Any]) -> None:
        """Add an output. If `output` continues the stream of the previous output, append the text to the previous
        output.
        """
        last = self.outputs[-1] if self.outputs else {}
        if output.get("output_type") == "stream" == last.get("output_type") and output.get(
            "name"
        ) == last.get("name"):
            last["text"] += str(output.get("text"))
        else:
            self.outputs.append(output)
        self.on_text(output_text(output))


class Kernel:
    """A running kernel."""

    def __init__(self, process: api.PipedProcess) -> None:
        self._process = process
        self._ready = anyio.Event()
        self._run: CellRun | None = None
        self._errors = b""
        self.fault = ""
        """The reason why the kernel ended; empty while it runs."""
        self.is_new = True
        """True until the first cell has run."""

    async def run(self, code: str, on_text: Callable[[str], None]) -> CellRun:
        """Run a cell to its end. If the call is cancelled, interrupt the cell. Raise `KernelGone` if the kernel ends.

        `on_text`: called with output as it arrives.
        """
        # The previous cell may have been interrupted, and still run.
        if self._run is not None:
            with anyio.move_on_after(STOP_LIMIT_S):
                await self._run.ended.wait()
            if not self._run.ended.is_set():
                raise KernelGone(
                    f"the interrupted cell did not stop within {api.format_time_limit(STOP_LIMIT_S)}"
                )
        self._run = run = CellRun(on_text)
        await self._order({"run": code})
        self.is_new = False
        try:
            await run.ended.wait()
        finally:
            if not run.ended.is_set():
                # The tool call is over, so it cannot show more output.
                run.on_text = lambda text: None
                # Shielded, because the caller is cancelled but the interrupt must be sent.
                with anyio.move_on_after(1, shield=True):
                    await self._order({"interrupt": True})
        if not run.status:
            raise KernelGone(self.fault)
        return run

    async def _order(self, order: dict[str, Any]) -> None:
        if self.fault:
            raise KernelGone(self.fault)
        try:
            await self._process.write(json.dumps(order).encode() + b"\n")
        except api.EnvironmentFault as error:
            raise KernelGone("it ended") from error

    async def wait_until_ready(self) -> None:
        """Wait until the kernel accepts orders; raise `KernelGone` if it ends or takes too long."""
        with anyio.move_on_after(START_LIMIT_S):
            await self._ready.wait()
        if self.fault or not self._ready.is_set():
            raise KernelGone(self.fault or f"it did not start within {api.format_time_limit(START_LIMIT_S)}")

    async def read_messages(self) -> None:
        """Read the runner's messages until the runner ends."""
        buffer = bytearray()
        while data := await self._process.read_output():
            searched = len(buffer)
            buffer += data
            while (end := buffer.find(b"\n", searched)) >= 0:
                line, searched = bytes(buffer[:end]), 0
                del buffer[: end + 1]
                self._receive(line)
            if len(buffer) > MAX_LINE_BYTES:
                self.fault = "it sent an output that is too large"
                break
        lines = self._errors.decode("utf-8", "replace").strip().splitlines()
        last = f": {api.escape_unprintable(lines[-1][:200])}" if lines and not self._ready.is_set() else ""
        self.fault = (self.fault or "it ended") + last
        # Callers that wait for the start must notice the end.
        self._ready.set()
        if self._run is not None:
            self._run.ended.set()

    async def read_errors(self) -> None:
        """Keep the last lines of the error output of runner and kernel."""
        while data := await self._process.read_errors():
            self._errors = (self._errors + data)[-_ERROR_TAIL_BYTES:]

    def _receive(self, line: bytes) -> None:
        try:
            message = api.parse_json(line)
        except ValueError:
            return  # a cell's program can write to the same pipe
        run = self._run
        match message:
            case {"ready": True}:
                self._ready.set()
            case {"fault": str(fault)}:
                self.fault = api.escape_unprintable(fault)[:300]
            case {"output": dict(output)} if run is not None:
                run.add(output)
            case {"done": str(status), "count": count} if run is not None:
                run.status, run.count = status, count if isinstance(count, int) else None
                run.ended.set()


@asynccontextmanager
async def run_kernel(process: api.PipedProcess, python: str) -> AsyncIterator[Kernel]:
    """Yield the kernel that runs in `process`, ready for orders.

    `python`: the Python program of the kernel, for the error message. Raise `ToolError` if the kernel does not start.
    """
    kernel, problem = Kernel(process), ""
    async with anyio.create_task_group() as group:
        group.start_soon(kernel.read_messages)
        group.start_soon(kernel.read_errors)
        try:
            await kernel.wait_until_ready()
        except KernelGone as error:
            problem = str(error)
        if not problem:
            yield kernel
        group.cancel_scope.cancel()
    if problem:
        raise api.ToolError(
            f"The kernel could not start: {problem}.",
            hint=f"{python} needs ipykernel: install it there, or choose another one with `python` in [plugins.notebook].",
        )
