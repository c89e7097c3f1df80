"""Export of a whole session as one portable file.

Invariant: the manifest comes first and lists every other file with its size and SHA-256.
"""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from pydantic import Field

from tui_agent import __version__
from tui_agent.export.archive.bundle import find_checkpoint_stores, open_store
from tui_agent.export.output_file import create_file
from tui_agent.export.redacted_log import RedactedLog
from tui_agent.protocol.base import FrozenModel
from tui_agent.store.log_repair import EVENTS_FILE
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_summary import summarise_session

MANIFEST = "manifest.json"
BUNDLE = "repo.bundle"
BLOBS = "blobs/"
MEMBER_MODE = 0o600


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
            redact = redactor.redact_content if redact_files else None
            renamed = await open_store(checkpoint_stores[0]).export_bundle(staged / BUNDLE, redact)
        manifest = _stage(RedactedLog(folder, redactor, renamed=renamed), folder, redactor, staged)
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
