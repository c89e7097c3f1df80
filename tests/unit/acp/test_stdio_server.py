"""Messages as lines: what is no message is skipped, and a connection that is gone is an error."""

import asyncio
import os

import pytest

from tui_agent.acp.stdio_server import JsonLines
from tui_agent.session.stdio import open_streams


async def connection(limit: int = 64) -> tuple[JsonLines, int, int]:
    """The connection, and the editor's ends to write and to read."""
    (theirs, editor_writes), (editor_reads, ours) = os.pipe(), os.pipe()
    return JsonLines(*await open_streams(theirs, ours, limit=limit)), editor_writes, editor_reads


async def ended(lines: JsonLines, write: int) -> None:
    """Close the connection, and let the reader see its end."""
    os.close(write)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await lines.close()


async def test_lines_that_are_no_objects_are_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    lines, write, read = await connection()
    os.write(write, b'\n{\n[1]\n"x"\n\xff\n{"id":1}\n{"cut')
    assert await lines.receive() == {"id": 1}
    os.close(write)
    assert await lines.receive() is None
    assert capsys.readouterr().err.count("was skipped") == 4
    await lines.send({"text": "é\n"})
    assert os.read(read, 99) == b'{"text":"\\u00e9\\n"}\n'
    await lines.close()
    os.close(read)


async def test_a_message_that_is_too_long_ends_the_connection() -> None:
    lines, write, read = await connection(limit=16)
    os.write(write, b"[" * 20 + b"\n" + b"{}\n")
    assert await lines.receive() is None
    await ended(lines, write)
    os.close(read)


async def test_sending_to_an_editor_that_is_gone_is_an_error() -> None:
    lines, write, read = await connection()
    os.close(read)
    with pytest.raises(ConnectionError):
        for _ in range(50):
            await lines.send({})
            await asyncio.sleep(0)
    await ended(lines, write)
