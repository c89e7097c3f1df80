"""Golden logs for tests: real logs from tests/golden, decoded as any reader decodes them."""

import shutil
from functools import cache
from pathlib import Path

from tui_agent.protocol.envelope import Record
from tui_agent.store.blobs import BlobStore
from tui_agent.store.log_scan import read_records_from

GOLDEN = Path(__file__).parent.parent / "golden"


def golden(name: str) -> list[Record]:
    """Return all records of a golden log, in order."""
    return list(_records(name))


@cache
def _records(name: str) -> tuple[Record, ...]:
    data = (GOLDEN / f"{name}.jsonl").read_bytes()
    return tuple(read_records_from(data, golden_blobs(name)))


def golden_blobs(name: str) -> BlobStore:
    """The blobs of a golden log."""
    return BlobStore(GOLDEN / f"{name}.blobs")


def golden_session(root: Path, name: str) -> Path:
    """Copy a golden log to a session's folder below `root`, and return that folder."""
    folder = root / "sessions" / name
    folder.mkdir(parents=True)
    shutil.copy(GOLDEN / f"{name}.jsonl", folder / "events.jsonl")
    if (GOLDEN / f"{name}.blobs").is_dir():
        shutil.copytree(GOLDEN / f"{name}.blobs", folder / "blobs")
    return folder
