"""Program that runs one Jupyter kernel, in the same place as the session's commands, such as the sandbox.

Messages are JSON objects, one per line:
- orders: `{"run": code}`, `{"interrupt": true}`
- first output: `{"ready": true}`
- output of a run: any number of `{"output": …}` (as in a notebook file), then `{"done": status, "count": number}`
- last line after an error: `{"fault": text}`

Invariant: the kernel ends when this program's input ends.
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from queue import Empty
from typing import Any

import anyio

MAX_OUTPUT_CHARS = 2_000_000
"""Maximum characters of the outputs of one run; further characters are counted and dropped."""
START_LIMIT_S = 60.0
_POLL_S = 0.5


def write_message(message: dict[str, Any]) -> None:
    """Write one message to the plugin."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class Runner:
    """One kernel, and the cell that it runs."""

    def __init__(self, manager: Any, client: Any) -> None:
        self._manager = manager
        self._client = client
        self._room = 0

    async def run(self, code: str) -> None:
        """Run a cell to its end."""
        self._room = MAX_OUTPUT_CHARS
        number = self._client.execute(code, allow_stdin=False)
        await self._follow(number)
        reply = await self._reply(number)
        if self._room < 0:
            text = f"[{-self._room} more characters of output were not kept]\n"
            write_message({"output": {"output_type": "stream", "name": "stderr", "text": text}})
        write_message({"done": reply.get("status", "error"), "count": reply.get("execution_count")})

    async def _follow(self, number: str) -> None:
        """Write the outputs of a run as messages until the kernel is idle."""
        while True:
            try:
                message = await self._client.get_iopub_msg(timeout=_POLL_S)
            except Empty:
                # Jupyter sends no message when a kernel dies.
                await self._require_alive()
                continue
            # It belongs to an earlier cell, whose threads may still print.
            if message["parent_header"].get("msg_id") != number:
                continue
            kind: str = message["msg_type"]
            content: dict[str, Any] = message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return
            self._pass_on(kind, content)

    def _pass_on(self, kind: str, content: dict[str, Any]) -> None:
        fields = {
            "stream": ("name", "text"),
            "display_data": ("data", "metadata"),
            "execute_result": ("data", "metadata", "execution_count"),
            "error": ("ename", "evalue", "traceback"),
        }.get(kind)
        if fields is None:
            return
        output = {"output_type": kind, **{name: content.get(name) for name in fields}}
        size = len(json.dumps(output))
        if kind == "stream" and 0 < self._room < size:
            output["text"] = str(content["text"])[: self._room]
        # The error of a cell is kept even if the outputs before it were too large.
        if self._room > 0 or (kind == "error" and size < MAX_OUTPUT_CHARS):
            write_message({"output": output})
        self._room -= size

    async def _reply(self, number: str) -> dict[str, Any]:
        while True:
            message = await self._client.get_shell_msg(timeout=START_LIMIT_S)
            if message["parent_header"].get("msg_id") == number:
                content: dict[str, Any] = message["content"]
                return content

    async def _require_alive(self) -> None:
        if not await self._manager.is_alive():
            code = getattr(self._manager.provisioner.process, "returncode", None)
            raise ChildProcessError(f"it ended with {code}")


async def read_orders(manager: Any, queue: "asyncio.Queue[str | None]") -> None:
    """Read orders until the input ends. An interrupt is carried out at once, even while a cell runs."""
    # An order is a line that contains all code of a cell, so the default limit of 64 KiB is too small.
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=1 << 26)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        order = json.loads(line)
        if "interrupt" in order:
            await manager.interrupt_kernel()
        else:
            await queue.put(order["run"])
    await queue.put(None)


async def serve(python: str, folder: str) -> None:
    """Start a kernel, with sockets in `folder`, and carry out orders until the input ends."""
    from jupyter_client.kernelspec import KernelSpec  # noqa: PLC0415 - slow, and may be missing
    from jupyter_client.manager import AsyncKernelManager  # noqa: PLC0415

    # Sockets in a private folder, because other users could connect to a port.
    manager: Any = AsyncKernelManager(transport="ipc", ip=f"{folder}/kernel")
    manager._kernel_spec = KernelSpec(  # the only way to give an interpreter without an installed spec
        argv=[python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        display_name="Python",
        language="python",
    )
    # Standard output is only for messages to the plugin.
    await manager.start_kernel(stdout=2, stderr=2)
    try:
        client = manager.client()
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=START_LIMIT_S)
        except RuntimeError as error:
            if not await manager.is_alive():
                raise ChildProcessError("it could not start") from error
            raise
        write_message({"ready": True})
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        runner = Runner(manager, client)
        async with anyio.create_task_group() as group:
            group.start_soon(read_orders, manager, queue)
            while (code := await queue.get()) is not None:
                await runner.run(code)
    finally:
        with suppress(OSError, RuntimeError):
            await manager.shutdown_kernel(now=True)


def find_program(python: str) -> str:
    """Return the path of a Python program. If `python` is not found, as on Debian, return the path of `python3`."""
    # Jupyter would replace a bare `python` by the Python that runs this file.
    return shutil.which(python) or (shutil.which("python3") if python == "python" else None) or python


def main() -> None:
    """Run the program: `kernel_runner.py PYTHON`."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR"):
            os.environ[name] = folder
        try:
            asyncio.run(serve(find_program(sys.argv[1]), folder))
        except* ImportError as group:
            write_message({"fault": str(group.exceptions[0])})
        except* (OSError, RuntimeError, Empty) as group:
            error = group.exceptions[0]
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            write_message({"fault": str(error) or type(error).__name__})


if __name__ == "__main__":
    main()
