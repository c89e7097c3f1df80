import hashlib
from pathlib import Path

import pytest

from tests.stubs.memory_blobs import MemoryBlobs
from tui_agent.errors import StaleFile
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.file_change_events import RecordingEnvironment


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def emitted() -> list[Payload]:
    return []


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


@pytest.fixture
def env(tmp_path: Path, blobs: MemoryBlobs, emitted: list[Payload]) -> RecordingEnvironment:
    return RecordingEnvironment(LocalEnvironment(tmp_path), blobs, emitted.append, CallId("c1"))


async def test_each_change_is_recorded_with_both_contents_and_line_counts(env, blobs, emitted, tmp_path):
    await env.write("a/b.txt", b"one\ntwo\n", None)
    (tmp_path / "a/b.txt").chmod(0o640)
    await env.write("./a/b.txt", b"one\n2\nthree\n", digest(b"one\ntwo\n"))
    await env.remove("a/b.txt", digest(b"one\n2\nthree\n"))
    made, changed, removed = emitted
    assert (
        isinstance(made, FileChanged)
        and isinstance(changed, FileChanged)
        and isinstance(removed, FileChanged)
    )
    assert [event.path for event in (made, changed, removed)] == ["a/b.txt"] * 3
    assert (made.before, made.after, made.added, made.removed) == (None, digest(b"one\ntwo\n"), 2, 0)
    assert (changed.before_size, changed.after_size, changed.added, changed.removed) == (8, 12, 2, 1)
    assert changed.mode == 0o640
    assert (removed.after, removed.removed, removed.mode) == (None, 3, None)
    assert blobs.read(removed.before or "") == b"one\n2\nthree\n"
    assert (changed.call_id, changed.author) == (CallId("c1"), "agent")


async def test_what_was_refused_is_not_recorded(env, emitted, tmp_path):
    (tmp_path / "a").write_text("x")
    with pytest.raises(StaleFile):
        await env.write("a", b"y", None)
    with pytest.raises(StaleFile):
        await env.write("a", b"y", digest(b"other"))
    with pytest.raises(StaleFile):
        await env.write("gone", b"y", digest(b"other"))
    with pytest.raises(StaleFile):
        await env.remove("a", digest(b"other"))
    assert emitted == []


async def test_a_write_of_the_same_content_is_no_change(env, emitted, tmp_path):
    (tmp_path / "a").write_text("x")
    await env.write("a", b"x", digest(b"x"))
    assert emitted == []


async def test_binary_content_counts_no_lines(env, emitted):
    await env.write("a", b"\x00\n\n\n", None)
    assert (emitted[0].added, emitted[0].removed) == (0, 0)
