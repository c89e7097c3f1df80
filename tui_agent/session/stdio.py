"""Standard input and output, used for a protocol.

Invariant: only lines of the protocol reach the client.
"""

import asyncio
import os
from functools import partial


def claim_stdio() -> tuple[int, int]:
    """Return (descriptor to read the client's messages from, descriptor to write messages to the client).

    Afterwards, the process's standard input is empty, and its standard output goes to standard error.
    """
    # A `print` in a plugin, or the output of a child process, would otherwise end up between the protocol's lines.
    pipes = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return pipes


async def open_streams(
    input_fd: int, output_fd: int, *, limit: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a reader and a writer for two pipes. `limit`: maximum bytes of a line of input."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit)
    await loop.connect_read_pipe(
        partial(asyncio.StreamReaderProtocol, reader), os.fdopen(input_fd, "rb", buffering=0)
    )
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(output_fd, "wb", buffering=0)
    )
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)
