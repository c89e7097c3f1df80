"""Mutants that no caller can tell from the program itself: left out of the count, each with its reason.

What makes a line slower, or changes a bound that stands for nothing but itself, is named here; what a test could tell is
not: it gets that test.
"""

from dataclasses import dataclass

from tests.mutation.mutants import Mutant, mutants


@dataclass(frozen=True, slots=True)
class Same:
    """The `nth` mutant (from 0) of a kind on the lines of a module that read like `line`."""

    path: str
    line: str
    what: str
    why: str
    nth: int = 0


_REPAIR, _SCAN = "tui_agent/store/log_repair.py", "tui_agent/store/log_scan.py"
_PLANNING, _RESTORING = (
    "tui_agent/workspace/checkpoints/restore_plan.py",
    "tui_agent/workspace/checkpoints/restore.py",
)
_UP_TO = "no event has a seq below 0, so -2 asks for all of them as -1 does"
_LOOKED = "the content is read in vain; only what kind of thing stands there is looked at"
_READER = "tui_agent/store/log_reader.py"
_AT = 'while position >= 0 and (end := data.find(b"\\n", position)) >= 0:'
_STRANDS = "for part, stretches in zip(history.parts, selected, strict=True):"
_ALWAYS_AS_MANY = "there are always as many; it says so to who reads the code"
_FROM_THE_BEGINNING = (
    "after: int = -1,",
    "def read_stored_lines(folder: Path, after: int = -1) -> Iterator[tuple[int, str]]:",
    "def iterate_history(folder: Path, after: int = -1) -> Iterator[tuple[bytes, Record]]:",
    "def __init__(self, folder: Path, after: int = -1) -> None:",
)
_ENOUGH = "if len(tail) < count and len(data) == (folder / EVENTS_FILE).stat().st_size:"
_GIVEN = "it is read again in vain: what was given is left out by its seq"
_GOING = 'Move("rmdir", path, -1, 0, read_folder_bits(shadow.workspace, path)) for path in emptied_folders'
_NO_FILE = "nothing is laid out for a folder, and only the bits that it had are used"

EQUIVALENT = (
    Same(_REPAIR, "_PIECE = 1 << 20", "1 -> 2", "how much is read at once"),
    Same(_REPAIR, "_PIECE = 1 << 20", "20 -> 21", "how much is read at once"),
    Same(
        _SCAN,
        "data: bytes, blobs: BlobStore, record_filter: RecordFilter, after: int = -1",
        "1 -> 2",
        _UP_TO,
    ),
    Same(
        _SCAN,
        "data: bytes, blobs: BlobStore, *, after: int = -1, skip_deltas: bool = False",
        "1 -> 2",
        _UP_TO,
    ),
    Same(
        _SCAN,
        "and not record_filter.skips(line, -1)",
        "1 -> 2",
        _UP_TO,
    ),
    Same(
        _SCAN,
        "if start < len(_PAYLOAD) or not line.startswith(kind, start):",
        "Lt -> LtE",
        "no line begins with its payload",
    ),
    Same(
        _SCAN,
        "data: bytes, blobs: BlobStore | None, record_filter: RecordFilter, after: int = -1",
        "1 -> 2",
        _UP_TO,
    ),
    Same(_SCAN, _AT, "0 -> 1", "no line begins with its payload"),
    Same(_SCAN, _AT, "0 -> 1", "a line's end lies behind what stands in it", nth=1),
    Same(_SCAN, _AT, "GtE -> Gt", "no line begins with its payload"),
    Same(_SCAN, _AT, "GtE -> Gt", "a line's end lies behind what stands in it", nth=1),
    Same(_READER, _STRANDS, "True -> False", _ALWAYS_AS_MANY),
    Same(_READER, _STRANDS, "True -> False", _ALWAYS_AS_MANY, nth=1),
    Same(_READER, "_LOOKAHEAD_BYTES = 512 * 1024", "512 -> 513", "more than any line is long, by far"),
    Same(_READER, "_LOOKAHEAD_BYTES = 512 * 1024", "1024 -> 1025", "more than any line is long, by far"),
    *(Same(_READER, line, "1 -> 2", _UP_TO) for line in _FROM_THE_BEGINNING),
    Same(_READER, "after: int = -1,", "1 -> 2", _UP_TO, nth=1),
    Same(_READER, "log.seek(self._offset)", "statement left out", _GIVEN),
    Same(
        _READER,
        "elif after < part.last:",
        "Lt -> LtE",
        "nothing of it lies behind `after`: it is read in vain",
    ),
    Same(_READER, _ENOUGH, "Lt -> LtE", "the parents' records are read in vain: as many are found already"),
    Same(
        _READER,
        "if (status.st_dev, status.st_ino) != self._file or status.st_size < self._offset:",
        "Lt -> LtE",
        _GIVEN,
    ),
    Same(
        "tui_agent/store/log_line.py",
        "while tries < _SALVAGE_TRIES:",
        "Lt -> LtE",
        "the loop in it tries none then",
    ),
    Same(
        _PLANNING,
        "bits = 0 if source is None else modes.bits(path, source.git_mode)",
        "0 -> 1",
        "what is removed gets no bits",
    ),
    Same(
        _PLANNING,
        "head_bits = 0 if head is None else shadow.modes.bits(path, head.git_mode)",
        "0 -> 1",
        "where nothing was kept no bits are compared",
    ),
    Same(
        _PLANNING,
        'if shadow.files.read_state(name, read=False).kind not in ("folder", "absent", "behind"):',
        "False -> True",
        _LOOKED,
    ),
    Same(
        _RESTORING,
        'path for path in needed if path in gone or shadow.files.read_state(path, read=False).kind != "folder"',
        "False -> True",
        _LOOKED,
    ),
    Same(_PLANNING, "usable.add(name)", "statement left out", "a folder that was seen is looked at again"),
    Same(_RESTORING, _GOING, "1 -> 2", _NO_FILE),
    Same(_RESTORING, _GOING, "0 -> 1", _NO_FILE),
    Same(
        _RESTORING,
        'Move("mkdir", path, -1) for path in find_missing_folders(shadow, created, set(emptied_folders))',
        "1 -> 2",
        _NO_FILE,
    ),
    *(
        Same(
            "tui_agent/engine/tools/sandbox_retry.py",
            f"{name}: bool = False",
            "False -> True",
            "a refused call runs nothing",
        )
        for name in ("network", "show_secrets_as_empty", "repository_read_only")
    ),
    Same(
        "tui_agent/engine/checkpoints/rewind.py",
        "await self._recorder.fold_branch_at(target.to_seq)",
        "statement left out",
        "what was not prepared in a thread is folded at once",
    ),
    Same(
        "tui_agent/engine/checkpoints/rewind.py",
        "if present is None or reverted is None:",
        "or -> and",
        "event 0 brings the settings, so neither is None; the line is there for the types",
    ),
)


def equivalents(path: str, source: str) -> dict[Mutant, str]:
    """Those of a module, with why. Raises ValueError for an entry that names none."""
    texts = [line.strip() for line in source.splitlines()]
    found: dict[Mutant, str] = {}
    for entry in (each for each in EQUIVALENT if each.path == path):
        fitting = [
            one
            for one in sorted(mutants(source), key=lambda each: each.line)
            if one.line and texts[one.line - 1] == entry.line and one.what == entry.what
        ]
        if entry.nth >= len(fitting):
            raise ValueError(f"{path}: no such mutant: {entry.what} in {entry.line!r}")
        found[fitting[entry.nth]] = entry.why
    return found
