"""The session's net changes to files in a part of a log.

Invariant: a change that was reverted, or that the user made, is not listed.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.comparison.line_authors import (
    SessionDiff,
    TracedLine,
    diff_traced_lines,
    trace_lines,
)
from tui_agent.folds.projection import fold
from tui_agent.folds.session.changed_files import ChangedFile, FilesChanged
from tui_agent.folds.text.line_diff import split_lines
from tui_agent.folds.text.plain_text import decode_text
from tui_agent.folds.text.redaction_placeholders import SECRET_FILE_CONTENT, note_hidden_changes
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import UNNAMED_AUTHOR, FileChanged

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
    """Counts the lines that the session added to and removed from a file, without the user's changes.

    `text`: function that returns the stored content with a given SHA-256, or None.
    """

    def __init__(self, text: Callable[[str], bytes | None]) -> None:
        self._text = text
        self._counts: dict[tuple[str | None, ...], tuple[int, int]] = {}

    def count(self, file: ChangedFile) -> tuple[int, int]:
        """Return the numbers of added and removed lines."""
        if file.changes < 2:
            return file.added, file.removed
        if file.versions not in self._counts:
            change = compare_contents(file, self._text)
            self._counts[file.versions] = change.added, change.removed
        return self._counts[file.versions]

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
) -> tuple[SessionDiff | None, str]:
    """Return (diff of the session's changes to a file, note). The note explains a missing or empty diff.

    The diff is None if the contents cannot be compared. Lines of the user count as unchanged.

    - `text`: function that returns the stored content with a given SHA-256, or None.
    - `clean`: function that is applied to the contents before they are compared.
    """
    lines, note = trace_contents(file, text, clean)
    if lines is None:
        return None, note
    diff = diff_traced_lines(lines)
    return diff, "" if diff.text else _describe_empty_diff(file)


def trace_contents(
    file: ChangedFile | FileChanged,
    text: Callable[[str], bytes | None],
    clean: Callable[[str], str] = str,
) -> tuple[list[TracedLine] | None, str]:
    """Return (lines of a file with their authors, note). The arguments have the same meaning as in `diff_contents`.

    The lines are None if the contents cannot be compared; the note tells why.
    """
    digests = file.versions if isinstance(file, ChangedFile) else (file.before, file.after)
    versions = [_read_lines(digest, text, clean) for digest in digests]
    if note := versions[0][1] or versions[-1][1]:
        return None, note
    if any(note for _, note in versions):
        lines = trace_lines([versions[0][0], versions[-1][0]])
        lines = [line._replace(is_shared=line.is_changed) for line in lines]  # nobody knows who changed them
    else:
        lines = trace_lines([texts for texts, _ in versions])
    return list(_note_hidden_changes(lines, file.hidden_changes)), ""


def _read_lines(
    digest: str | None, text: Callable[[str], bytes | None], clean: Callable[[str], str]
) -> tuple[list[str], str]:
    """Return (lines of a version of a file, note). The note says why the lines cannot be compared."""
    content = b"" if digest is None else text(digest)
    if content is None:
        return [], "content not stored"
    if content == SECRET_FILE_CONTENT:
        return [], "it may hold secrets, so its content is not recorded"
    decoded = decode_text(content)
    if decoded is None:
        return [], "binary file"
    if len(content) > MAX_DIFF_BYTES:
        return [], "too large to compare"
    return split_lines(clean(decoded.display_text)), ""


def _note_hidden_changes(
    lines: Iterable[TracedLine], hidden_changes: Collection[int]
) -> Iterator[TracedLine]:
    """Yield the lines, with a note on each line of the file in which a redacted value changed.

    A line in which only a redacted value changed looks the same before and after, and counts as changed by the session.
    """
    for line in lines:
        noted = note_hidden_changes(line.text, hidden_changes) if line.in_file else line.text
        if noted == line.text:
            yield line
            continue
        if line.is_users:
            yield line._replace(in_file=False)
        yield line._replace(text=noted, is_users=False)


def _describe_empty_diff(file: ChangedFile | FileChanged) -> str:
    if file.disk_sha256_before is None:
        return "created, empty"
    if file.disk_sha256_after is None:
        return "removed, was empty"
    if file.disk_sha256_before == file.disk_sha256_after:
        return "only its permissions changed"
    if file.before == file.after:
        return "only secrets changed; they are not stored"
    is_users = isinstance(file, ChangedFile) and file.user_changes
    return f"only changes by {UNNAMED_AUTHOR} are left" if is_users else "only its encoding changed"
