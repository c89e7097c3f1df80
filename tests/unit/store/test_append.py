"""What is appended is what is read, whatever stands in it."""

import json
import stat
import zlib
from pathlib import Path

import pytest

from tests.stubs.store import said, store
from tui_agent.errors import BlobNotFound, SessionNotFound, StoreError
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import MemoryUpdated
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress
from tui_agent.protocol.ids import AgentId, CallId, CommandId, RequestId
from tui_agent.protocol.parts import ReasoningPart, TextContent, TextPart, Usage
from tui_agent.protocol.stored_text import BlobText
from tui_agent.store.blobs import BlobStore
from tui_agent.store.log_line import MAX_LINE_BYTES


def called(**arguments: object) -> ToolCalled:
    return ToolCalled(
        call_id=CallId("c1"),
        name="write_file",
        arguments=arguments,  # type: ignore[arg-type]
        iteration=1,
        verb="write",
        target="a.txt",
    )


def test_a_line_is_the_envelope_in_order_and_its_checksum(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    log.append(said("hello"), agent=AgentId("main"), cause=CommandId("cmd_1"))
    line = (log.folder / "events.jsonl").read_bytes()
    fields = json.loads(line)
    assert list(fields) == ["v", "seq", "time", "session", "agent", "parent", "cause", "payload", "crc"]
    assert fields["session"] == "s1"
    assert fields["cause"] == "cmd_1"
    body = line[: line.rindex(b',"crc"')]
    assert fields["crc"] == f"{zlib.crc32(body):08x}"
    assert line.endswith(b"}\n")


def test_reading_back_gives_what_append_returned(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    log = sessions.create("s1")
    events = [
        log.append(said("hello")),
        log.append(said("x" * 9_000)),
        log.append(said("half a character: \ud83d.")),
        log.append(called(content="y" * 20_000, nested={"deep": ["z" * 9_000]}, number=1.5, nothing=None)),
        log.append(ToolProgress(call_id=CallId("c1"), text="\x1b[31mred\x00")),
    ]
    assert list(log.read()) == events
    log.close()
    assert sessions.read("s1") == events
    reopened = sessions.open("s1")
    assert list(reopened.read()) == events
    assert list(reopened.read(after=2)) == events[3:]


def test_sequence_and_parents_go_on_after_reopening(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    log = sessions.create("s1")
    log.append(said("a"))
    log.append(said("b"))
    log.close()
    again = sessions.open("s1")
    event = again.append(said("c"))
    assert (event.seq, event.parent) == (2, 1)
    assert [record.seq for record in again.read()] == [0, 1, 2]


def test_the_parent_of_a_moved_head_is_where_it_moved_to(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    for text in "abc":
        log.append(said(text))
    moved = log.append(SessionHeadMoved(to_seq=0, from_seq=1, reason="revert"))
    after = log.append(said("d"))
    assert moved.parent == 0
    assert after.parent == moved.seq


def test_a_long_text_becomes_a_blob_with_a_preview(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    text = "ä" * 5_000
    event = log.append(said(text))
    kept = event.payload.text  # type: ignore[union-attr]
    assert isinstance(kept, BlobText)
    assert kept.size == 10_000
    assert kept.preview == "ä" * 1_024
    assert log.blobs.read_text(kept) == text


def test_long_strings_in_arguments_come_back_by_resolve(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    arguments = {"path": "a.txt", "content": "c" * 50_000, "more": [{"x": "d" * 9_000}]}
    event = log.append(called(**arguments))
    assert isinstance(event.payload, ToolCalled)
    assert event.payload.arguments["content"] != arguments["content"]
    assert log.blobs.resolve(event.payload.arguments) == arguments


@pytest.mark.parametrize("name", ["path", "tokenizer", "first_token_ms", "policy"])
def test_a_secret_beside_a_field_name_that_is_harmless_is_redacted(tmp_path: Path, name: str) -> None:
    secret = f"ghp_{'a1B2c3D4e5F6g7H8i9J0' * 2}"[:40]
    arguments = {"path": "notes.txt", "policy": "bypass", name: secret}
    event = store(tmp_path).create("s1").append(called(**arguments))
    assert isinstance(event.payload, ToolCalled)
    assert secret not in event.model_dump_json() and "redacted" in str(event.payload.arguments[name])


def test_arguments_that_look_like_a_marker_stay_what_they_were(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    forged = {"content": {"blob_sha256": "0" * 64, "size": 3, "preview": "abc"}}
    event = log.append(called(**forged))
    assert isinstance(event.payload, ToolCalled)
    assert log.blobs.resolve(event.payload.arguments) == forged


def test_a_marker_of_the_store_can_be_recorded_again(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    first = log.append(called(content="c" * 50_000))
    assert isinstance(first.payload, ToolCalled)
    second = log.append(called(**first.payload.arguments))
    assert isinstance(second.payload, ToolCalled)
    assert second.payload.arguments == first.payload.arguments


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "payload",
    [
        said("\x00" * 60_000),
        called(**{f"key{number}": "v" * 300 for number in range(2_000)}),
        called(many=[[number, "x"] for number in range(20_000)]),
        CheckpointTaken(part=1, commit="c", paths=tuple(f"src/folder/{n}/file.py" for n in range(9_000))),
        ModelResponded(
            request_id=RequestId("r"),
            first_part=0,
            parts=(
                ReasoningPart(text="t" * 9_000, opaque={"encrypted": "e" * 200_000}),
                *(TextPart(text="w" * 8_000) for _ in range(20)),
            ),
            finish="stop",
            usage=Usage(),
            cost_usd=None,
            duration_ms=1.0,
        ),
        ToolFinished(
            call_id=CallId("c"),
            name="n",
            status="ok",
            part=0,
            content=tuple(TextContent(text="q" * 7_000) for _ in range(30)),
        ),
    ],
    ids=["control characters", "many arguments", "deep list", "many paths", "long answer", "long results"],
)
def test_no_line_is_longer_than_the_limit_and_nothing_is_lost(tmp_path: Path, payload: ToolCalled) -> None:
    sessions = store(tmp_path)
    log = sessions.create("s1")
    event = log.append(payload)
    log.close()
    lines = (log.folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 1
    assert len(lines[0]) <= MAX_LINE_BYTES
    assert [MAX_LINE_BYTES] == [65_536]  # as docs/events.md says
    assert sessions.read("s1") == [event]
    if isinstance(payload, ToolCalled):
        assert isinstance(event.payload, ToolCalled)
        assert log.blobs.resolve(event.payload.arguments) == payload.arguments
    if isinstance(payload, CheckpointTaken):
        assert event.payload == payload


def test_a_signature_is_never_changed_but_for_its_place(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    signature = "sk-ant-" + "a1" * 30
    part = ReasoningPart(text="hm", signature=signature)
    event = log.append(
        ModelResponded(
            request_id=RequestId("r"),
            first_part=0,
            parts=(part,),
            finish="stop",
            usage=Usage(),
            cost_usd=None,
            duration_ms=1.0,
        )
    )
    assert isinstance(event.payload, ModelResponded)
    assert event.payload.parts == (part,)


def test_everything_is_private_to_the_user(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    log.append(said("x" * 9_000))
    for path in [log.folder, log.folder / "blobs"]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in [log.folder / "events.jsonl", log.folder / "lock", *(log.folder / "blobs").iterdir()]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_damaged_blob_is_reported_not_delivered(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    kept = log.blobs.put_text("x" * 9_000)
    assert isinstance(kept, BlobText)
    (log.folder / "blobs" / kept.blob_sha256).write_bytes(b"y" * 9_000)
    with pytest.raises(BlobNotFound):
        log.blobs.read_text(kept)
    again = BlobStore(log.folder / "blobs").put_text("x" * 9_000)
    assert log.blobs.read_text(again) == "x" * 9_000


def test_a_blob_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    (tmp_path / "secret").write_text("s")
    with pytest.raises(BlobNotFound):
        blobs.read("../secret")


def test_a_closed_log_takes_nothing(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    log.close()
    log.close()
    with pytest.raises(StoreError, match="closed"):
        log.append(said("late"))


def test_an_event_that_no_reader_would_understand_is_refused(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    broken = ToolProgress.model_construct(call_id=CallId("c"), text=7)
    with pytest.raises(StoreError, match="cannot be recorded"):
        log.append(broken)
    assert log.append(said("next")).seq == 0


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".hidden", "x" * 200, "a\x00b"])
def test_a_session_id_is_never_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(SessionNotFound):
        store(tmp_path).create(name)


def test_creating_a_session_twice_is_refused(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    sessions.create("s1").close()
    with pytest.raises(StoreError, match="already"):
        sessions.create("s1")


def test_events_of_other_agents_share_the_order(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    log.append(said("a"))
    other = log.append(said("b"), agent=AgentId("helper \ud800"))
    assert isinstance(other, Envelope)
    assert other.parent == 0
    assert log.read()[1] == other


def test_texts_in_tuples_of_json_are_made_fit_for_a_line_and_redacted(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    token = "ghp_" + "a1B2c3D4e5" * 4
    noted = MemoryUpdated(appended={"explored_files": ("n\udcff.py", f"key {token[:40]}")})
    log.append(noted, agent=AgentId("main"))
    (record,) = log.read()
    assert isinstance(record, Envelope) and isinstance(record.payload, MemoryUpdated)
    first, second = record.payload.appended["explored_files"]
    assert first == "n\ufffd.py" and token[:40] not in second


def test_words_of_a_command_are_redacted_by_the_words_in_front_of_them(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_1")
    argv = ("curl", "-u", "bob:hunter2xyzPW9", "https://example.org")
    log.append(
        PermissionDecided(
            call_id=CallId("c"), request_id=None, decision="allow", decided_by="user", policy="ask",
            rule_id="", reason="", digest="", effects=(RunEffect(argv=argv), RunEffect(argv=("ls", "-l"))),
        )
    )  # fmt: skip
    log.close()
    written = (tmp_path / "sessions" / "ses_1" / "events.jsonl").read_text()
    assert "hunter2xyzPW9" not in written
    assert '"argv":["curl","-u","bob:[redacted: password]","https://example.org"]' in written
    assert '"argv":["ls","-l"]' in written
