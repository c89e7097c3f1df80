"""Servers on this machine are found; nothing else is asked."""

import asyncio

from tui_agent.models.probe import local_models

NOWHERE = {
    "LM_STUDIO_API_BASE": "127.0.0.1:1",
    "LLAMAFILE_API_BASE": "127.0.0.1:1",
    "VLLM_API_BASE": "127.0.0.1:1",
}


async def test_the_models_of_a_server_that_answers_are_named() -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        body = b'{"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "org/other"}, {}]}'
        writer.write(
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
        )
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        found = await local_models({**NOWHERE, "OLLAMA_HOST": f"127.0.0.1:{port}"})
    finally:
        server.close()
    assert found == ["ollama/qwen3:8b", "ollama/org/other"]
    assert asked[0].startswith(b"GET /v1/models ")


async def test_only_this_machine_is_asked_and_silence_is_no_fault() -> None:
    assert await local_models({**NOWHERE, "OLLAMA_HOST": "https://example.invalid"}) == []
