"""The body of a request: the same bytes as in one go, and never there twice."""

import json
import tracemalloc

import pytest

from tui_agent.models.http import CHUNK_BYTES, JSON_BATCH, encode_body
from tui_agent.protocol.stored_text import JsonMap


def history(count: int) -> list[JsonMap]:
    return [
        {"role": "user", "content": f"{at} – with \udcff half a sign, é and 🙂 " * 20} for at in range(count)
    ]


def whole(body: JsonMap) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


@pytest.mark.parametrize("count", [0, 1, JSON_BATCH - 1, JSON_BATCH, JSON_BATCH + 1, 3 * JSON_BATCH, 2_000])
def test_the_pieces_of_a_body_are_its_json(count: int) -> None:
    body: JsonMap = {"model": 'a"b', "messages": [*history(count)], "stream": True, "tools": [{"x": None}]}
    pieces = list(encode_body(body))
    assert b"".join(pieces) == whole(body)
    assert all(len(piece) >= CHUNK_BYTES for piece in pieces[:-1])
    assert (len(pieces) > 1) is (count == 2_000)


def test_an_empty_body_is_an_object() -> None:
    assert list(encode_body({})) == [b"{}"]


def test_a_long_history_is_there_once_while_it_is_made_into_json() -> None:
    body: JsonMap = {"messages": [*history(4_000)]}
    tracemalloc.start()
    size = sum(len(piece) for piece in list(encode_body(body)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 4 * CHUNK_BYTES
    assert peak < size * 1.2 + 4 * CHUNK_BYTES
