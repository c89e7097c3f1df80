"""Redaction of a checkpoint store's whole history, between `git fast-export` and `git fast-import`.

Invariant: every file's content, every path and every message is redacted.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from tui_agent.workspace.checkpoints.store_state import CheckpointStore

Redact = Callable[[bytes], bytes]
_DATA, _PATHS = b"data ", (b"M ", b"D ")


async def copy_redacted(source: CheckpointStore, target: CheckpointStore, redact: Redact) -> dict[str, str]:
    """Write the redacted history of `source` into the new store `target`.

    Return a map from each changed commit id to its new id.
    """
    old_marks, new_marks = (target.git.folder / name for name in ("old-marks", "new-marks"))
    stream = await source.git("fast-export", "--all", f"--export-marks={old_marks}")
    redacted = b"".join(redact_stream(stream, redact))
    await target.git("fast-import", "--quiet", f"--export-marks={new_marks}", stdin=redacted)
    old, new = _read_marks(old_marks), _read_marks(new_marks)
    return {old[mark]: new[mark] for mark in old.keys() & new.keys() if old[mark] != new[mark]}


def redact_stream(stream: bytes, redact: Redact) -> Iterator[bytes]:
    """Yield a `git fast-export` stream in pieces, with secrets in contents, paths and messages redacted."""
    position = 0
    while position < len(stream):
        end = stream.find(b"\n", position) + 1 or len(stream)
        line, position = stream[position:end], end
        if line.startswith(_DATA):
            size = int(line[len(_DATA) :])
            data = redact(stream[position : position + size])
            position += size
            yield b"%s%d\n%s" % (_DATA, len(data), data)
        elif line.startswith(_PATHS):
            yield redact(line)
        else:
            yield line


def _read_marks(file: Path) -> dict[str, str]:
    return dict(line.split() for line in file.read_text().splitlines())
