"""The net changes to files in a part of a log.

Invariant: a change that was reverted is not listed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.base import fold
from tui_agent.folds.session.changed_files import ChangedFile, FilesChanged
from tui_agent.folds.text.line_diff import LineDiff, diff_lines
from tui_agent.folds.text.plain_text import decode_text
from tui_agent.folds.text.redaction_placeholders import note_hidden_changes
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import FileChanged

MAX_DIFF_BYTES: Final = 1_000_000
"""Maximum size of a file that is compared line by line, in bytes."""


@dataclass(frozen=True, slots=True)
class NetFileChange:
    """The net change of one file.

    - `before`, `after`: SHA-256 of the file's content, or None if the file did not exist.
    - `hunks`: unified diff without file header.
    - `note`: reason why `hunks` is empty.
    """

    path: str
    before: str | None
    after: str | None
    added: int
    removed: int
    hunks: str
    note: str = ""


def net_file_changes(
    events: Sequence[Envelope], text: Callable[[str], bytes | None]
) -> tuple[NetFileChange, ...]:
    """Return the files that differ between the start and the end of these events, in order of their first change.

    `text`: function that returns the stored content with a given SHA-256, or None.
    """
    changed = fold(FilesChanged(), events).files
    return tuple(
        compare_contents(file, text) for file in changed if file.disk_sha256_before != file.disk_sha256_after
    )


def compare_contents(
    file: ChangedFile, text: Callable[[str], bytes | None], clean: Callable[[str], str] = str
) -> NetFileChange:
    """Return a file's net change. If its contents cannot be compared, the line counts of its recorded changes are used."""
    diff, note = diff_contents(file, text, clean)
    counts, hunks = (file, "") if diff is None else (diff, diff.text)
    digests = file.disk_sha256_before, file.disk_sha256_after
    return NetFileChange(file.path, *digests, counts.added, counts.removed, hunks, note)


class LineCounter:
    """Counts the lines that a file gained and lost between its first and its newest content.

    `text`: function that returns the stored content with a given SHA-256, or None.
    """

    def __init__(self, text: Callable[[str], bytes | None]) -> None:
        self._text = text
        self._counts: dict[tuple[str | None, str | None], tuple[int, int]] = {}

    def count(self, file: ChangedFile) -> tuple[int, int]:
        """Return the numbers of added and removed lines."""
        if file.changes < 2:
            return file.added, file.removed
        contents = file.before, file.after
        if contents not in self._counts:
            change = compare_contents(file, self._text)
            self._counts[contents] = change.added, change.removed
        return self._counts[contents]

    def count_all(self, files: Iterable[ChangedFile]) -> tuple[ChangedFile, ...]:
        """Return the files with the line counts of their net changes."""
        counted = []
        for file in files:
            added, removed = self.count(file)
            counted.append(replace(file, added=added, removed=removed))
        return tuple(counted)

    def sum_files(self, files: Iterable[ChangedFile]) -> tuple[int, int]:
        """Return the numbers of added and removed lines of all files."""
        counts = [self.count(file) for file in files]
        return sum(added for added, _ in counts), sum(removed for _, removed in counts)


def diff_contents(
    file: ChangedFile | FileChanged,
    text: Callable[[str], bytes | None],
    clean: Callable[[str], str] = str,
) -> tuple[LineDiff | None, str]:
    """Return (diff of a file's contents, note). The note explains a missing or empty diff.

    The diff is None if the contents cannot be compared.

    - `text`: function that returns the stored content with a given SHA-256, or None.
    - `clean`: function that is applied to both contents before they are compared.
    """
    before, after = (b"" if digest is None else text(digest) for digest in (file.before, file.after))
    if before is None or after is None:
        return None, "content not stored"
    old, new = decode_text(before), decode_text(after)
    if old is None or new is None:
        return None, "binary file"
    if max(len(before), len(after)) > MAX_DIFF_BYTES:
        return None, "too large to compare"
    new_text = note_hidden_changes(new.display_text, file.hidden_changes)
    diff = diff_lines(clean(old.display_text), clean(new_text))
    return diff, "" if diff.text else _describe_empty_diff(file, same_bytes=before == after)


def _describe_empty_diff(file: ChangedFile | FileChanged, *, same_bytes: bool) -> str:
    if file.disk_sha256_before is None:
        return "created, empty"
    if file.disk_sha256_after is None:
        return "removed, was empty"
    if file.disk_sha256_before == file.disk_sha256_after:
        return "only its permissions changed"
    return "only secrets changed; they are not stored" if same_bytes else "only its encoding changed"
