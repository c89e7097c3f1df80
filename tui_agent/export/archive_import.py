"""Taking in a session that was packed elsewhere.

Invariant: the archive is foreign. Only names of a fixed shape are ever written, each one to a new file in a folder of
our own, only as many bytes as the manifest promises, and nothing becomes a session before all of it was checked.
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

from tui_agent.errors import CheckpointError, StoreError, StoreFull, UsageError
from tui_agent.export.archive import BLOBS, BUNDLE, MANIFEST, Manifest, Member
from tui_agent.export.bundle import STORE, shadow_of
from tui_agent.store.files import FOLDER_MODE
from tui_agent.store.line import decode
from tui_agent.store.names import is_session_id
from tui_agent.store.repair import EVENTS
from tui_agent.store.sessions import REMOVED

MANIFEST_BYTES = 64_000_000
PIECE = 1 << 20
_BLOB = re.compile(r"blobs/[0-9a-f]{64}")


class Imported(NamedTuple):
    """What came of an archive. `trouble` says why there are no checkpoints although it had some."""

    session: str
    manifest: Manifest
    trouble: str


async def import_archive(archive: Path, root: Path, new_id: str) -> Imported:
    """Make a session of an archive below `root`, under its own id, or `new_id` where that is taken.

    Raises `UsageError` for what is no whole archive of a session, `StoreFull`. Then nothing has changed.
    """
    place = _place(root)
    try:
        manifest = _unpack(archive, place)
        _check_log(place / EVENTS, archive)
        trouble = await _checkpoints(place)
        session = _settle(place, root, manifest.session, new_id)
    except OSError as fault:
        raise StoreFull(
            f"{archive} could not be taken in: {fault.strerror or fault}.",
            hint="Check the disk and the file.",
        ) from fault
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return Imported(session, manifest, trouble)


def _place(root: Path) -> Path:
    """A folder of our own, named like one that is being deleted: what a killed import leaves is cleared away as such."""
    try:
        root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        return Path(mkdtemp(prefix=REMOVED, dir=root))
    except OSError as fault:
        raise StoreFull(f"No session can be made in {root}: {fault.strerror or fault}.") from fault


def _unpack(archive: Path, place: Path) -> Manifest:
    (place / BLOBS).mkdir(mode=FOLDER_MODE)
    with _members(archive) as members:
        manifest = _manifest(members, archive)
        _require_room(manifest, place)
        expected = {member.path: member for member in manifest.files}
        for info, content in members:
            member = expected.pop(info.name, None)
            if member is None or not info.isreg() or info.size != member.size:
                raise _broken(archive, f"it holds {info.name!r}, of which its manifest says something else")
            _write(place / member.path, content, member, archive)
    if expected:
        raise _broken(archive, f"{next(iter(expected))} is missing")
    return manifest


Members = Iterator[tuple[tarfile.TarInfo, "tarfile.ExFileObject"]]


@contextmanager
def _members(archive: Path) -> Iterator[Members]:
    """The archive's files one by one; its faults as ours."""
    try:
        with tarfile.open(archive, "r|gz") as tar:

            def each() -> Members:
                for info in tar:
                    content = tar.extractfile(info) if info.isreg() else None
                    if content is None:
                        raise _broken(archive, f"{info.name!r} is no plain file")
                    yield info, content  # type: ignore[misc]

            yield each()
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as fault:
        raise _broken(archive, "it cannot be unpacked") from fault


def _manifest(members: Members, archive: Path) -> Manifest:
    info, content = next(members, (None, None))
    if info is None or content is None or info.name != MANIFEST or info.size > MANIFEST_BYTES:
        raise _broken(archive, "it does not begin with a manifest")
    try:
        manifest = Manifest.model_validate_json(content.read())
    except ValidationError as fault:
        raise _broken(archive, "its manifest cannot be read; it may be of a newer version") from fault
    paths = [member.path for member in manifest.files]
    for path in paths:
        if path not in (EVENTS, BUNDLE) and not _BLOB.fullmatch(path):
            raise _broken(archive, f"it has a file {path!r}, which no session has")
    if len(paths) != len(set(paths)) or EVENTS not in paths or not is_session_id(manifest.session):
        raise _broken(archive, "its manifest is not that of a session")
    return manifest


def _require_room(manifest: Manifest, place: Path) -> None:
    needed, free = sum(member.size for member in manifest.files), shutil.disk_usage(place).free
    if needed > free:
        raise StoreFull(
            f"The session takes {needed} bytes, and {place.parent} has {free} left.", hint="Free some space."
        )


def _write(path: Path, content: "tarfile.ExFileObject", member: Member, archive: Path) -> None:
    digest, left = hashlib.sha256(), member.size
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as out:
        while left and (piece := content.read(min(PIECE, left))):
            digest.update(piece)
            out.write(piece)
            left -= len(piece)
        out.flush()
        os.fsync(out.fileno())
    named = path.name if path.parent.name == BLOBS.rstrip("/") else member.sha256
    if left or digest.hexdigest() != member.sha256 or named != member.sha256:
        raise _broken(archive, f"{member.path} is not what its manifest says")


def _check_log(log: Path, archive: Path) -> None:
    """Every line is whole and they are in order, from the first event on."""
    last = -1
    with log.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            record = decode(line.rstrip(b"\n"))
            if record is None or record.seq <= last or (last < 0 and record.seq != 0):
                raise _broken(archive, f"line {number} of its log is damaged or out of order")
            last = record.seq
    if last < 0:
        raise _broken(archive, "its log is empty")


async def _checkpoints(place: Path) -> str:
    """Make the store of checkpoints; returns why there is none. The conversation is worth having without it."""
    bundle = place / BUNDLE
    if not bundle.exists():
        return ""
    try:
        await shadow_of(place / STORE).import_bundle(bundle)
    except CheckpointError as fault:
        return fault.message
    finally:
        bundle.unlink()
    return ""


def _settle(place: Path, root: Path, session: str, new_id: str) -> str:
    for name in (session, new_id):
        folder = root / name
        try:
            folder.mkdir(mode=FOLDER_MODE)  # whoever makes it has it
        except FileExistsError:
            continue
        place.replace(folder)
        return name
    raise StoreError(f"There are sessions {session} and {new_id} already.", hint="Try it again.")


def _broken(archive: Path, why: str) -> UsageError:
    return UsageError(f"{archive} is no whole archive of a session: {why}.", hint="Export it anew.")
