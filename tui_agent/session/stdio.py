"""The standard input and output of a process that speaks a protocol over them.

Invariant: only protocol lines reach the other side. Descriptor 1 is redirected, so that output printed by a library
goes to standard error.
"""

import asyncio
import os
from functools import partial


def claim_stdio() -> tuple[int, int]:
    """Return copies of the two descriptors that connect this process with its client, as (input, output).

    Redirects standard output to standard error, and standard input to an empty file.
    """
    pipes = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return pipes


async def open_streams(
    input_fd: int, output_fd: int, *, limit: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a reader and a writer of two pipes. A line that is read may have up to `limit` bytes."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit)
    await loop.connect_read_pipe(
        partial(asyncio.StreamReaderProtocol, reader), os.fdopen(input_fd, "rb", buffering=0)
    )
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(output_fd, "wb", buffering=0)
    )
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)
