"""Import of a session from an archive.

Invariant: the folder becomes a session only after everything in the untrusted archive was checked.
"""

import gzip
import hashlib
import os
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from pydantic import ValidationError

from tui_agent.errors import CheckpointError, StoreError, StoreFull, UsageError, os_errors_as
from tui_agent.export.archive.archive import BLOBS, BUNDLE, MANIFEST, Manifest, Member
from tui_agent.export.archive.bundle import STORE, open_store
from tui_agent.protocol.base import is_session_id
from tui_agent.store.file_ops import FOLDER_MODE
from tui_agent.store.log_line import decode_line
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.session_store import REMOVED_PREFIX
from tui_agent.units import format_bytes

MANIFEST_BYTES = 64_000_000
CHUNK_BYTES = 1 << 20
_BLOB = re.compile(r"blobs/[0-9a-f]{64}")


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
        return Path(mkdtemp(prefix=REMOVED_PREFIX, dir=root))


def _unpack(archive: Path, folder: Path) -> Manifest:
    (folder / BLOBS).mkdir(mode=FOLDER_MODE)
    with _open_members(archive) as members:
        manifest = _read_manifest(members, archive)
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


Members = Iterator[tuple[tarfile.TarInfo, "tarfile.ExFileObject"]]


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
        source.replace(folder)
        return name
    raise StoreError(f"The sessions {session} and {new_id} already exist.", hint="Try again.")


def _invalid_archive(archive: Path, reason: str) -> UsageError:
    return UsageError(f"{archive} is not a complete session archive: {reason}.", hint="Export it again.")
