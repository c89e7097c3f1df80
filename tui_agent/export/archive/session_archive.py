"""Export of a whole session as one portable file, and import of such a file.

Invariant: the manifest comes first and lists every other file with its size and SHA-256. An imported folder becomes a
session only after everything in the untrusted archive was checked.
"""

import gzip
import hashlib
import io
import os
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Literal, NamedTuple

from pydantic import Field, ValidationError

from tui_agent import __version__
from tui_agent.errors import CheckpointError, StoreError, StoreFull, UsageError, os_errors_as
from tui_agent.export.archive.checkpoint_export import STORE, find_checkpoint_stores, open_store
from tui_agent.export.output_file import create_file
from tui_agent.export.redacted_log import RedactedLog
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.ids import is_session_id
from tui_agent.store.file_ops import FOLDER_MODE
from tui_agent.store.log_line import decode_line
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import REMOVED_PREFIX
from tui_agent.store.session_summary import summarise_session
from tui_agent.units import format_bytes

MANIFEST = "manifest.json"
BUNDLE = "repo.bundle"
BLOBS = "blobs/"
MEMBER_MODE = 0o600
MANIFEST_BYTES = 64_000_000
CHUNK_BYTES = 1 << 20
_BLOB = re.compile(r"blobs/[0-9a-f]{64}")
Members = Iterator[tuple[tarfile.TarInfo, "tarfile.ExFileObject"]]


class Member(FrozenModel):
    """One file in a session archive."""

    path: str
    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Manifest(FrozenModel):
    """The manifest of a session archive; `files` lists the other members in their order."""

    format: Literal["tui-agent session"] = "tui-agent session"
    version: Literal[1] = 1
    product: str
    session: str
    title: str
    workspace: str
    events: int
    files: tuple[Member, ...]


async def export_archive(
    folder: Path, redactor: Redactor, dest: Path, *, files: bool = True, redact_files: bool = False
) -> Manifest:
    """Write a session's log, blobs and checkpoints to a `.tar.gz`. Return the archive's manifest.

    - `files`: False to leave out the checkpoints.
    - `redact_files`: True to redact the checkpoints too, which changes their commit ids.
    """
    with TemporaryDirectory(prefix="tui-agent-export-") as temporary_folder, create_file(dest) as draft:
        staged = Path(temporary_folder)
        checkpoint_stores = find_checkpoint_stores(folder)
        renamed: dict[str, str] = {}
        if files and checkpoint_stores:
            checkpoint_redactor = redactor if redact_files else None
            renamed = await open_store(checkpoint_stores[0]).export_bundle(
                staged / BUNDLE, checkpoint_redactor
            )
        outgoing = RedactedLog(
            folder, redactor, renamed=renamed, hide_digests=redact_files or not (files and checkpoint_stores)
        )
        manifest = _stage(outgoing, folder, redactor, staged)
        _pack(staged, manifest, draft)
    return manifest


def _stage(outgoing: RedactedLog, folder: Path, redactor: Redactor, staged: Path) -> Manifest:
    (staged / BLOBS).mkdir()
    members = []
    for name, data in outgoing.blobs():
        (staged / BLOBS / name).write_bytes(data)
        members.append(Member(path=f"{BLOBS}{name}", size=len(data), sha256=name))
    with (staged / EVENTS_FILE).open("wb") as log:
        log.writelines(outgoing.lines())
    bundle = [BUNDLE] if (staged / BUNDLE).exists() else []
    main_files = [_member(staged, name) for name in (EVENTS_FILE, *bundle)]
    summary = summarise_session(folder)
    return Manifest(
        product=__version__,
        session=folder.name,
        title=redactor.redact_text(summary.title) if summary else "",
        workspace=summary.workspace if summary else "",
        events=summary.events if summary else 0,
        files=(*main_files, *members),
    )


def _member(staged: Path, name: str) -> Member:
    path = staged / name
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Member(path=name, size=path.stat().st_size, sha256=digest)


def _pack(staged: Path, manifest: Manifest, draft: Path) -> None:
    with (
        draft.open("wb") as out,
        # No time and no name, so that the same session gives the same bytes.
        gzip.GzipFile("", "wb", 6, out, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        manifest_json = manifest.model_dump_json(indent=1).encode()
        archive.addfile(_tar_info(MANIFEST, len(manifest_json)), io.BytesIO(manifest_json))
        for member in manifest.files:
            with (staged / member.path).open("rb") as file:
                archive.addfile(_tar_info(member.path, member.size), file)


def _tar_info(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, MEMBER_MODE
    return info


class ImportResult(NamedTuple):
    """The result of the import of an archive.

    `trouble`: reason why the archive's checkpoints were not imported.
    """

    session: str
    manifest: Manifest
    trouble: str


async def import_archive(archive: Path, root: Path, new_id: str) -> ImportResult:
    """Import an archive as a session below `root`. The session gets the id `new_id` if its own id is taken.

    Raise `UsageError` if the file is not a complete session archive, and `StoreFull` if the disk has no space.
    """
    folder = _make_folder(root)
    try:
        manifest = _unpack(archive, folder)
        _check_log(folder / EVENTS_FILE, archive)
        trouble = await _import_checkpoints(folder)
        session = _install(folder, root, manifest.session, new_id)
    except OSError as fault:
        raise StoreFull(
            f"{archive} could not be imported: {fault.strerror or fault}.",
            hint="Check the disk and the file.",
        ) from fault
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ImportResult(session, manifest, trouble)


def _make_folder(root: Path) -> Path:
    """Create a temporary folder for the imported session."""
    with os_errors_as(StoreFull, f"A session cannot be created in {root}"):
        root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        # Folders with this prefix are not listed as sessions, and `sessions prune` removes those that are left
        # behind.
        return Path(mkdtemp(prefix=REMOVED_PREFIX, dir=root))


def _unpack(archive: Path, folder: Path) -> Manifest:
    (folder / BLOBS).mkdir(mode=FOLDER_MODE)
    with _open_members(archive) as members:
        manifest = _read_manifest(members, archive)
        # Each size is checked against the manifest below, so a small archive cannot unpack to more than this.
        _require_room(manifest, folder)
        expected = {member.path: member for member in manifest.files}
        for info, content in members:
            member = expected.pop(info.name, None)
            if member is None or not info.isreg() or info.size != member.size:
                raise _invalid_archive(archive, f"{info.name!r} does not match its manifest")
            _write(folder / member.path, content, member, archive)
    if expected:
        raise _invalid_archive(archive, f"{next(iter(expected))} is missing")
    return manifest


@contextmanager
def _open_members(archive: Path) -> Iterator[Members]:
    """Yield an iterator over the archive's files; errors of the libraries become `UsageError`."""
    try:
        with tarfile.open(archive, "r|gz") as tar:

            def iterate() -> Members:
                for info in tar:
                    content = tar.extractfile(info) if info.isreg() else None
                    if content is None:
                        raise _invalid_archive(archive, f"{info.name!r} is not a regular file")
                    yield info, content  # type: ignore[misc]

            yield iterate()
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as fault:
        raise _invalid_archive(archive, "it cannot be unpacked") from fault


def _read_manifest(members: Members, archive: Path) -> Manifest:
    info, content = next(members, (None, None))
    if info is None or content is None or info.name != MANIFEST or info.size > MANIFEST_BYTES:
        raise _invalid_archive(archive, "it does not begin with a manifest")
    try:
        manifest = Manifest.model_validate_json(content.read())
    except ValidationError as fault:
        raise _invalid_archive(
            archive, "its manifest cannot be read; it may be from a newer version"
        ) from fault
    paths = [member.path for member in manifest.files]
    for path in paths:
        if path not in (EVENTS_FILE, BUNDLE) and not _BLOB.fullmatch(path):
            raise _invalid_archive(archive, f"it contains {path!r}, which is not a file of a session")
    if len(paths) != len(set(paths)) or EVENTS_FILE not in paths or not is_session_id(manifest.session):
        raise _invalid_archive(archive, "its manifest does not describe a session")
    return manifest


def _require_room(manifest: Manifest, folder: Path) -> None:
    needed, free = sum(member.size for member in manifest.files), shutil.disk_usage(folder).free
    if needed > free:
        raise StoreFull(
            f"The session needs {format_bytes(needed)}, but {folder.parent} has only {format_bytes(free)} free.",
            hint="Free some space.",
        )


def _write(path: Path, content: "tarfile.ExFileObject", member: Member, archive: Path) -> None:
    digest, remaining = hashlib.sha256(), member.size
    # Members are written by hand, not with `extract`: no owner, mode or link of the archive is applied.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as out:
        while remaining and (piece := content.read(min(CHUNK_BYTES, remaining))):
            digest.update(piece)
            out.write(piece)
            remaining -= len(piece)
        out.flush()
        os.fsync(out.fileno())
    expected_sha256 = path.name if path.parent.name == BLOBS.rstrip("/") else member.sha256
    if remaining or digest.hexdigest() != member.sha256 or expected_sha256 != member.sha256:
        raise _invalid_archive(archive, f"{member.path} does not match its manifest")


def _check_log(log: Path, archive: Path) -> None:
    last = -1
    with log.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            record = decode_line(line.rstrip(b"\n"))
            if record is None or record.seq <= last or (last < 0 and record.seq != 0):
                raise _invalid_archive(archive, f"line {number} of its log is damaged or out of order")
            last = record.seq
    if last < 0:
        raise _invalid_archive(archive, "its log is empty")


async def _import_checkpoints(folder: Path) -> str:
    """Create the checkpoint store of an imported session, and return the reason for a failure or an empty string."""
    bundle = folder / BUNDLE
    if not bundle.exists():
        return ""
    try:
        await open_store(folder / STORE).import_bundle(bundle)
    except CheckpointError as fault:
        return fault.message
    finally:
        bundle.unlink()
    return ""


def _install(source: Path, root: Path, session: str, new_id: str) -> str:
    for name in (session, new_id):
        folder = root / name
        try:
            folder.mkdir(mode=FOLDER_MODE)  # creating it reserves the name
        except FileExistsError:
            continue
        # A rename replaces an empty folder, and fails for any other.
        source.replace(folder)
        return name
    raise StoreError(f"The sessions {session} and {new_id} already exist.", hint="Try again.")


def _invalid_archive(archive: Path, reason: str) -> UsageError:
    return UsageError(f"{archive} is not a complete session archive: {reason}.", hint="Export it again.")
