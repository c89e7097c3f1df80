"""A session goes out whole and redacted and comes back the same; a foreign archive can do nothing but be a session."""

import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.stubs.store import said, store
from tui_agent.errors import UsageError
from tui_agent.export.archive.session_archive import export_archive, import_archive
from tui_agent.export.redacted_log import to_jsonl
from tui_agent.folds.text.redaction_placeholders import SECRET_FILE_CONTENT
from tui_agent.policy.places.path_places import may_hold_secrets
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import FileChanged, FileRead
from tui_agent.protocol.events.instructions import InstructionFile, InstructionsLoaded
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.protocol.stored_text import BlobText
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_line import seal_line
from tui_agent.store.log_reader import read_records, read_stored_lines
from tui_agent.store.redaction.redactor import Redactor

SETTINGS = SessionSettings(model=ModelInfo(profile="p", provider="x", model="m"))
SECRET = "correct-horse-battery-staple"
KNOWING = Redactor(secrets={"HORSE": SECRET})


def recorded(root: Path, *texts: str, session: str = "ses_a") -> Path:
    log = store(root).create(session)
    log.append(SessionStarted(workspace="/work", product="p", settings=SETTINGS, title="A talk"))
    for text in texts:
        log.append(said(text))
    log.close()
    return log.folder


async def packed(folder: Path, dest: Path, redactor: Redactor | None = None) -> Path:
    await export_archive(folder, redactor or Redactor(), dest)
    return dest


def messages(folder: Path) -> list[str]:
    blobs = open_blobs(folder)
    found = (record.payload for record in read_records(folder) if isinstance(record, Envelope))
    return [blobs.read_text(payload.text) for payload in found if isinstance(payload, UserMessageReceived)]


async def test_a_session_comes_back_byte_for_byte_under_its_own_id(tmp_path: Path) -> None:
    folder = recorded(tmp_path, "short", "long " * 4_000)
    archive = await packed(folder, tmp_path / "a.tar.gz")
    made = await import_archive(archive, tmp_path / "other" / "sessions", "ses_new")
    there = tmp_path / "other" / "sessions" / "ses_a"
    assert (made.session, made.manifest.title, made.manifest.events) == ("ses_a", "A talk", 3)
    assert (there / "events.jsonl").read_bytes() == (folder / "events.jsonl").read_bytes()
    assert messages(there) == ["short", "long " * 4_000]
    assert (there.stat().st_mode & 0o777, (there / "events.jsonl").stat().st_mode & 0o777) == (0o700, 0o600)
    assert [path.name for path in there.parent.iterdir()] == ["ses_a"]


async def test_where_the_id_is_taken_it_gets_another_and_goes_on(tmp_path: Path) -> None:
    folder = recorded(tmp_path, "short")
    archive = await packed(folder, tmp_path / "a.tar.gz")
    made = await import_archive(archive, folder.parent, "ses_new")
    assert made.session == "ses_new"
    log = store(tmp_path).open("ses_new")
    log.append(said("more"))
    log.close()
    assert messages(folder.parent / "ses_new") == ["short", "more"]
    assert messages(folder) == ["short"]


async def test_the_same_session_gives_the_same_archive(tmp_path: Path) -> None:
    folder = recorded(tmp_path, "short", "long " * 4_000)
    first = await packed(folder, tmp_path / "a.tar.gz")
    assert first.read_bytes() == (await packed(folder, tmp_path / "b.tar.gz")).read_bytes()


async def test_a_fork_goes_out_with_what_it_takes_from_its_parent(tmp_path: Path) -> None:
    folder = recorded(tmp_path, "of the parent " * 1_000, "left behind")
    store(tmp_path).fork("ses_a", 1, "ses_b")
    archive = await packed(folder.with_name("ses_b"), tmp_path / "b.tar.gz")
    await import_archive(archive, tmp_path / "other" / "sessions", "ses_new")
    assert messages(tmp_path / "other" / "sessions" / "ses_b") == ["of the parent " * 1_000]


async def test_a_secret_that_is_known_only_now_is_in_no_file_of_the_archive(tmp_path: Path) -> None:
    inside = json.dumps({"note": f"{SECRET} " * 800})
    folder = recorded(tmp_path, f"it is {SECRET}", f"long {SECRET} " * 800, inside)
    assert SECRET in (folder / "events.jsonl").read_text()
    archive = await packed(folder, tmp_path / "a.tar.gz", KNOWING)
    with tarfile.open(archive) as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            assert SECRET.encode() not in content.read()
    await import_archive(archive, tmp_path / "other" / "sessions", "ses_new")
    there = tmp_path / "other" / "sessions" / "ses_a"
    assert messages(there)[:2] == ["it is [redacted: HORSE]", "long [redacted: HORSE] " * 800]
    assert json.loads(messages(there)[2]) == {"note": "[redacted: HORSE] " * 800}
    assert len(list(read_stored_lines(there))) == 4
    sizes = [
        record.payload.text
        for record in read_records(there)
        if isinstance(record, Envelope) and isinstance(record.payload, UserMessageReceived)
    ]
    assert isinstance(sizes[1], BlobText)
    assert sizes[1].size == len("long [redacted: HORSE] " * 800)


async def test_an_archive_lacks_the_content_of_a_secret_file_that_an_older_version_stored(
    tmp_path: Path,
) -> None:
    log = store(tmp_path).create("ses_a")
    log.append(SessionStarted(workspace="/work", product="p", settings=SETTINGS, title="A talk"))
    before, after, empty = (
        log.blobs.put_bytes(data) for data in (b"PIN=4711-9932\n", b"PIN=8888-1111\n", b"")
    )
    for path, old, new in (("config/.env", before, after), ("copy.txt", None, before), (".env", None, empty)):
        log.append(
            FileChanged(
                path=path,
                before=old,
                after=new,
                before_size=14 if old else 0,
                after_size=0 if new == empty else 14,
                mode=0o644,
                author="command",
                added=1,
                removed=1,
            )
        )
    log.close()
    archive = await packed(log.folder, tmp_path / "a.tar.gz", Redactor(is_secret_file=may_hold_secrets))
    await import_archive(archive, tmp_path / "other" / "sessions", "ses_new")
    there = tmp_path / "other" / "sessions" / "ses_a"
    assert {path.read_bytes() for path in (there / "blobs").iterdir()} == {SECRET_FILE_CONTENT, b""}
    changes = [record.payload for record in read_records(there) if isinstance(record.payload, FileChanged)]
    assert [open_blobs(there).read(change.after or "") for change in changes] == [
        SECRET_FILE_CONTENT,
        SECRET_FILE_CONTENT,
        b"",
    ]
    first, copy, emptied = changes
    assert first.disk_sha256_before != first.disk_sha256_after, "it is still seen as a change"
    assert first.disk_sha256_before == copy.disk_sha256_after, "equal contents are still equal"
    assert emptied.disk_sha256_after == empty
    exported = (there / "events.jsonl").read_text()
    assert before not in exported and after not in exported, "a PIN could be guessed from them"


async def test_the_digest_of_a_redacted_content_cannot_be_used_to_guess_it(tmp_path: Path) -> None:
    log = store(tmp_path, redactor=Redactor(is_secret_file=may_hold_secrets)).create("ses_a")
    log.append(SessionStarted(workspace="/work", product="p", settings=SETTINGS, title="A talk"))
    contents = [b"PIN=4711-9932\n", b"PIN=8888-1111\n"]
    stored = [log.blobs.put_file(".env", content) for content in contents]
    originals = [hashlib.sha256(content).hexdigest() for content in contents]
    log.append(
        FileChanged(
            path=".env",
            before=stored[0].blob,
            after=stored[1].blob,
            before_size=14,
            after_size=14,
            mode=0o644,
            author="command",
            added=1,
            removed=1,
            before_sha256=originals[0],
            after_sha256=originals[1],
        )
    )
    log.append(FileRead(path=".env", digest=originals[1], size=14, first_line=1, last_line=1, complete=True))
    log.close()
    redactor = Redactor(is_secret_file=may_hold_secrets)
    archive = await packed(log.folder, tmp_path / "a.tar.gz", redactor)
    await import_archive(archive, tmp_path / "other" / "sessions", "ses_new")
    there = tmp_path / "other" / "sessions" / "ses_a"
    for exported in ((there / "events.jsonl").read_text(), to_jsonl(log.folder, redactor).decode()):
        assert not any(digest in exported for digest in originals)
    _, changed, read = (record.payload for record in read_records(there))
    assert isinstance(changed, FileChanged) and isinstance(read, FileRead)
    assert changed.before_sha256 != changed.after_sha256 == read.digest


async def test_no_digest_of_a_content_that_is_not_exported_stays(tmp_path: Path) -> None:
    redactor = Redactor(secrets={"HORSE": SECRET}, is_secret_file=may_hold_secrets)
    log = store(tmp_path, redactor=redactor).create("ses_a")
    log.append(SessionStarted(workspace="/work", product="p", settings=SETTINGS, title="A talk"))
    secret, plain = b"PIN=4711-9932\n", b"x = 1\n"
    digest, plain_digest = (hashlib.sha256(content).hexdigest() for content in (secret, plain))
    stored = log.blobs.put_file("plain.py", plain).blob
    log.append(file_changed("plain.py", stored))
    for read in (digest, plain_digest):
        log.append(FileRead(path="a", digest=read, size=14, first_line=1, last_line=1, complete=True))
    mention = Mention(reference="@.env", kind="file", path=".env", sha256=digest)
    many = tuple(mention.model_copy(update={"note": "n" * 7_000}) for _ in range(12))
    for mentions in (
        (mention,),
        many,
    ):  # the second event is too long for a line, so its payload is in a blob
        log.append(UserMessageReceived(text="look", mentions=mentions))
    log.append(
        InstructionsLoaded(
            trigger="turn",
            files=(
                InstructionFile(
                    path="a.md", scope="user", sha256=digest, size=9, tokens=1, text="it is hidden"
                ),
            ),
        )
    )
    log.close()
    archive = await packed(log.folder, tmp_path / "a.tar.gz", redactor)
    await import_archive(archive, tmp_path / "other" / "sessions", "ses_new")
    there = tmp_path / "other" / "sessions" / "ses_a"
    exported = [path.read_bytes() for path in (there / "events.jsonl", *(there / "blobs").iterdir())]
    assert len(exported) == 3
    assert not any(digest.encode() in data for data in (*exported, to_jsonl(log.folder, redactor)))
    _, changed, hidden, read, first, second, loaded = (record.payload for record in read_records(there))
    assert isinstance(changed, FileChanged) and isinstance(read, FileRead) and isinstance(hidden, FileRead)
    assert changed.after == read.digest == plain_digest, "the content itself is exported"
    assert isinstance(first, UserMessageReceived) and isinstance(second, UserMessageReceived)
    assert isinstance(loaded, InstructionsLoaded)
    equal = {hidden.digest, first.mentions[0].sha256, second.mentions[11].sha256, loaded.files[0].sha256}
    assert len(equal) == 1, "equal contents are still equal"


async def test_a_change_in_an_unknown_form_is_exported_without_its_secrets(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    log.append(SessionStarted(workspace="/work", product="p", settings=SETTINGS, title="A talk"))
    names = [log.blobs.put_bytes(data) for data in (f"it is {SECRET}\n".encode(), b"PIN=4711-9932\n")]
    for path, name in zip(("a.py", ".env"), names, strict=True):
        log.append(file_changed(path, name))
    log.close()
    events = log.folder / "events.jsonl"
    first, *changes = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(first + b"".join(map(with_unknown_author, changes)))
    redactor = Redactor(secrets={"HORSE": SECRET}, is_secret_file=may_hold_secrets)
    archive = await packed(log.folder, tmp_path / "a.tar.gz", redactor)
    await import_archive(archive, tmp_path / "other" / "sessions", "ses_new")
    there = tmp_path / "other" / "sessions" / "ses_a"
    assert {path.read_bytes() for path in (there / "blobs").iterdir()} == {
        b"it is [redacted: HORSE]\n",
        SECRET_FILE_CONTENT,
    }
    for exported in ((there / "events.jsonl").read_text(), to_jsonl(log.folder, redactor).decode()):
        assert '"robot"' in exported and not any(name in exported for name in names)


def file_changed(path: str, blob: str) -> FileChanged:
    return FileChanged(
        path=path,
        before=None,
        after=blob,
        before_size=0,
        after_size=14,
        mode=0o644,
        author="command",
        added=1,
        removed=0,
    )


def with_unknown_author(line: bytes) -> bytes:
    """The line of an event as a later version may write it."""
    event = json.loads(line)
    event["payload"]["author"] = "robot"
    del event["crc"]
    return seal_line(json.dumps(event, separators=(",", ":")).encode()[:-1])


async def test_an_export_overwrites_nothing_and_leaves_nothing_half(tmp_path: Path) -> None:
    folder = recorded(tmp_path, "short")
    (tmp_path / "a.tar.gz").write_text("mine")
    with pytest.raises(UsageError, match="already"):
        await packed(folder, tmp_path / "a.tar.gz")
    assert (tmp_path / "a.tar.gz").read_text() == "mine"
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="already"):
        await packed(folder, tmp_path / "link")
    assert sorted(path.name for path in Path.iterdir(tmp_path)) == ["a.tar.gz", "link", "sessions"]


def changed(
    archive: Path, dest: Path, extra: Sequence[tuple[tarfile.TarInfo, bytes]], **other: bytes
) -> Path:
    """The archive with members more, and others' contents replaced."""
    with tarfile.open(archive) as old, tarfile.open(dest, "w:gz") as new:
        for member in old:
            content = old.extractfile(member)
            assert content is not None
            data = other.get(member.name.split(".")[0], content.read())
            member.size = len(data)
            new.addfile(member, io.BytesIO(data))
        for info, data in extra:
            new.addfile(info, io.BytesIO(data))
    return dest


def member(name: str, size: int = 0, **fields: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    for field, value in fields.items():
        setattr(info, field, value)
    return info


@pytest.mark.parametrize(
    "info",
    [
        member("../escaped", 4),
        member("/tmp/escaped", 4),
        member("blobs/../../escaped", 4),
        member("lock", 4),
        member("events.jsonl", 4),
        member("events.jsonl", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("blobs/" + "0" * 64, type=tarfile.LNKTYPE, linkname="/etc/passwd"),
        member("blobs", type=tarfile.SYMTYPE, linkname="/tmp"),
        member("pipe", type=tarfile.FIFOTYPE),
    ],
    ids=lambda info: f"{info.name[:20]}-{info.type.decode()}",
)
async def test_what_the_manifest_does_not_name_is_refused(tmp_path: Path, info: tarfile.TarInfo) -> None:
    archive = await packed(recorded(tmp_path, "short"), tmp_path / "a.tar.gz")
    bad = changed(archive, tmp_path / "bad.tar.gz", [(info, b"evil"[: info.size])])
    with pytest.raises(UsageError, match="not a complete session archive"):
        await import_archive(bad, tmp_path / "other" / "sessions", "ses_new")
    assert list((tmp_path / "other" / "sessions").iterdir()) == []
    assert not (tmp_path / "other" / "escaped").exists()


@pytest.mark.parametrize(
    ("path", "session"), [("../../evil", "ses_a"), ("lock", "ses_a"), ("events.jsonl", "../evil")]
)
async def test_a_manifest_that_names_other_places_is_refused(tmp_path: Path, path: str, session: str) -> None:
    archive = await packed(recorded(tmp_path, "short"), tmp_path / "a.tar.gz")
    with tarfile.open(archive) as tar:
        content = tar.extractfile("manifest.json")
        assert content is not None
        manifest = json.load(content)
    manifest["session"] = session
    manifest["files"].append({"path": path, "size": 0, "sha256": "0" * 64})
    bad = changed(archive, tmp_path / "bad.tar.gz", [], manifest=json.dumps(manifest).encode())
    with pytest.raises(UsageError, match="not a complete session archive"):
        await import_archive(bad, tmp_path / "other" / "sessions", "ses_new")


async def test_an_archive_that_was_cut_or_changed_anywhere_is_refused(tmp_path: Path) -> None:
    folder = recorded(tmp_path, "short")
    archive = await packed(folder, tmp_path / "a.tar.gz")
    data = archive.read_bytes()
    bad = tmp_path / "bad.tar.gz"
    for cut in (0, 1, 40, len(data) // 2, len(data) - 200):
        bad.write_bytes(data[:cut])
        with pytest.raises(UsageError):
            await import_archive(bad, tmp_path / "other" / "sessions", "ses_new")
    for place in range(12, len(data) - 8, 37):
        bad.write_bytes(data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :])
        try:
            await import_archive(bad, tmp_path / "flipped" / str(place), "ses_new")
        except UsageError:
            continue
        there = tmp_path / "flipped" / str(place) / "ses_a"  # a byte that means nothing, between two files
        assert (there / "events.jsonl").read_bytes() == (folder / "events.jsonl").read_bytes()
    changed(archive, bad, [], events=b"{}\n")
    with pytest.raises(UsageError):
        await import_archive(bad, tmp_path / "other" / "sessions", "ses_new")
    assert list((tmp_path / "other" / "sessions").iterdir()) == []


async def test_more_than_the_manifest_promises_is_not_unpacked(tmp_path: Path) -> None:
    archive = await packed(recorded(tmp_path, "short"), tmp_path / "a.tar.gz")
    bad = changed(archive, tmp_path / "bad.tar.gz", [], events=b"\0" * 50_000_000)
    with pytest.raises(UsageError, match=r"does not match its manifest"):
        await import_archive(bad, tmp_path / "other" / "sessions", "ses_new")
