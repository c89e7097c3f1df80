"""What is kept of a file's content is without secrets, and what depends on the file's own bytes still knows them."""

import hashlib
from itertools import pairwise
from pathlib import Path

import pytest

from tests.stubs.memory_blobs import MemoryBlobs
from tui_agent.engine.checkpoints.attribution import file_changed_event
from tui_agent.folds.comparison.net_changes import net_file_changes
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.session.fold import SessionState
from tui_agent.ports.checkpoint import FileDifference
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.session.clock import SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_log import SessionLog
from tui_agent.store.session_store import SessionStore
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.file_change_events import RecordingEnvironment

VALUE = 'Zq8w+Xv/7"1Lk\\Ä'
ISSUED = "".join(("gh", "p_", "Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4fGh7J"))
REDACTOR = Redactor(secrets={"MY_LOGIN": VALUE})


@pytest.fixture
def log(tmp_path: Path) -> SessionLog:
    return SessionStore(tmp_path / "sessions", SystemClock(), REDACTOR).create("ses_1")


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def stand(before: bytes | None, after: bytes | None) -> FileDifference:
    sizes = (len(before or b""), len(after or b""))
    return FileDifference(
        path="a", before=before, after=after, before_size=sizes[0], after_size=sizes[1], mode=None
    )


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("secret", [VALUE, ISSUED, f"_{ISSUED}"])
def test_a_text_is_kept_without_its_secrets_in_any_encoding(codec: str, secret: str) -> None:
    kept = REDACTOR.redact_content(f"one\n{secret}\ntwo\n".encode(codec)).decode(codec)
    assert secret.strip("_") not in kept
    assert kept.startswith("one\n") and kept.endswith("\ntwo\n") and "[redacted: " in kept


def test_bytes_that_are_no_utf_8_stay_what_they_are() -> None:
    assert REDACTOR.redact_content(b"\xff\xfa " + ISSUED.encode() + b" \xe4\n").startswith(
        b"\xff\xfa [redacted: "
    )
    assert REDACTOR.redact_content(b"\xff\xfa " + ISSUED.encode() + b" \xe4\n").endswith(b"] \xe4\n")
    plain = b"\xff\xfa a key, a token and a secret\n"
    assert REDACTOR.redact_content(plain) is plain


def test_of_a_binary_content_the_given_secrets_are_taken_out() -> None:
    assert REDACTOR.redact_content(b"\0\1" + VALUE.encode() + b"\0") == b"\0\1[redacted: MY_LOGIN]\0"


def test_the_event_names_what_is_kept_and_tells_the_files_own_digests(log: SessionLog) -> None:
    old, new = f"token {VALUE}\n".encode(), b"nothing\n"
    event = file_changed_event(log.blobs, stand(old, new), "command", None)
    assert event.before is not None and log.blobs.read(event.before) == b"token [redacted: MY_LOGIN]\n"
    assert (event.before_sha256, event.disk_sha256_before) == (sha(old), sha(old))
    assert (event.after, event.after_sha256, event.disk_sha256_after) == (sha(new), None, sha(new))
    gone = file_changed_event(log.blobs, stand(old, None), "command", None)
    assert (gone.after, gone.disk_sha256_after, gone.disk_sha256_before) == (None, None, sha(old))


async def test_a_write_that_only_changes_a_secret_is_a_change_and_the_agent_knows_the_file(
    log: SessionLog, tmp_path: Path
) -> None:
    emitted: list[Payload] = []
    folder = tmp_path / "work"
    folder.mkdir()
    env = RecordingEnvironment(LocalEnvironment(folder), log.blobs, emitted.append, CallId("c1"))
    first, second = (f"key = {ISSUED[:-1]}{end}\nlogin = {VALUE}\n".encode() for end in "JK")
    await env.write(".env.local", first, None)
    await env.write(".env.local", second, sha(first))
    await env.write(".env.local", second, sha(second))
    assert len(emitted) == 2
    events: list[Envelope] = [log.append(one, agent="main") for one in emitted]  # type: ignore[arg-type]
    written = [one.payload for one in events if isinstance(one.payload, FileChanged)]
    assert written[0].after == written[1].after != written[1].disk_sha256_after == sha(second)
    state, files = SessionState(), FilesChanged()
    for event in events:
        state.apply(event)
    for event in events[1:]:
        files.apply(event)
    assert state.view().read_files[".env.local"].digest == sha(second)
    assert [one.path for one in files.view().files] == [".env.local"]
    (end,) = net_file_changes(events[1:], log.blobs.find)
    assert (end.before, end.after, end.added, end.removed) == (sha(first), sha(second), 1, 1)
    assert "+key = [redacted: github token] [a hidden value differs]\n login" in end.hunks
    held = b"".join(path.read_bytes() for path in log.folder.rglob("*") if path.is_file())
    assert ISSUED[:-1].encode() not in held and VALUE.encode() not in held


def test_what_holds_no_secret_is_stored_as_it_is_under_its_own_digest(log: SessionLog) -> None:
    data = b"def key(token): return token\n" * 100
    stored = log.blobs.put_file("key.py", data)
    assert (stored.blob, stored.sha256, stored.original_sha256) == (sha(data), sha(data), None)
    assert MemoryBlobs().put_file("key.py", data) == stored


OTHER = ISSUED.replace("Ab3dEf", "Zy3dEf")
FIXTURE = f"const h =\n  'key={{}}'\nconst n = {{}}\nconst k = '{ISSUED}'\n"
HIDDEN = "[redacted: github token]"


@pytest.mark.parametrize("codec", ["utf-8", "utf-16"])
@pytest.mark.parametrize("new_value", [OTHER, HIDDEN])
def test_a_line_whose_hidden_value_changed_is_a_change_in_the_diff(
    log: SessionLog, new_value: str, codec: str
) -> None:
    texts = [FIXTURE.format(ISSUED, 1), FIXTURE.format(ISSUED, 2), FIXTURE.format(new_value, 3)]
    contents = [text.encode(codec) for text in texts]
    for before, after in pairwise(contents):
        log.append(file_changed_event(log.blobs, stand(before, after), "command", None))
    events = [record for record in log.read() if isinstance(record, Envelope)]
    assert [len(event.payload.hidden_changes) for event in events] == [0, 1]  # type: ignore[union-attr]
    [net] = net_file_changes(events, log.blobs.find)
    assert (net.added, net.removed) == (2, 2)
    assert (
        f"-  'key={HIDDEN}'\n-const n = 1\n+  'key={HIDDEN}' [a hidden value differs]\n+const n = 3\n"
        in net.hunks
    )
    assert f"\n const k = '{HIDDEN}'\n" in net.hunks


def test_a_secret_of_many_lines_does_not_shift_the_lines_after_it(log: SessionLog) -> None:
    marks = [f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END")]
    key = "\n".join([marks[0], *["MIIEowIBAAKCAQEA" + "x9Kq" * 12] * 4, marks[1]])
    before, after = (f"{key}\ntoken = '{value}'\n".encode() for value in (ISSUED, OTHER))
    event = file_changed_event(log.blobs, stand(before, after), "command", None)
    assert len(event.hidden_changes) == 1


def test_a_removed_or_moved_secret_is_not_a_hidden_change(log: SessionLog) -> None:
    before = f"a = '{ISSUED}'\nb = '{OTHER}'\n".encode()
    for after in (f"a = '{ISSUED}'\n", f"b = '{OTHER}'\na = '{ISSUED}'\n", "none\n"):
        assert (
            file_changed_event(log.blobs, stand(before, after.encode()), "command", None).hidden_changes == ()
        )


@pytest.mark.parametrize(
    ("middle_value", "new_value", "hidden_counts", "counts"),
    [(ISSUED, ISSUED, [0, 0], (1, 1)), (OTHER, OTHER, [1, 0], (1, 1)), (ISSUED, OTHER, [0, 1], (1, 1))],
)
def test_a_change_after_a_recorded_change_counts_no_line_whose_secret_is_the_same(
    log: SessionLog, middle_value: str, new_value: str, hidden_counts: list[int], counts: tuple[int, int]
) -> None:
    values = (ISSUED, middle_value, new_value)
    before, middle, after = (
        FIXTURE.format(value, number).encode() for number, value in enumerate(values, start=1)
    )
    recorded = file_changed_event(log.blobs, stand(before, middle), "agent", None)
    event = file_changed_event(log.blobs, stand(before, after), "human", None, recorded)
    assert (event.before, event.disk_sha256_before) == (recorded.after, sha(middle))
    assert [len(change.hidden_changes) for change in (recorded, event)] == hidden_counts
    assert (event.added, event.removed) == counts
