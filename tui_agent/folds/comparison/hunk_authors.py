"""The hunks of a file's net change that contain changes by the user or another session.

Invariant: a hunk is taken as the session's own only if all versions of the file can be compared.
"""

from collections.abc import Callable, Sequence
from itertools import chain

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.comparison.net_changes import MAX_DIFF_BYTES
from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.folds.text.line_diff import changed_indexes, find_changes, split_hunks, split_lines
from tui_agent.folds.text.plain_text import decode_text


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a file.

    - `origin`: index of the line in the file before its first change; None for a line that was added later.
    - `is_shared`: True if the user added the line, or the session wrote it in place of a line of the user.
    """

    origin: int | None
    is_shared: bool = False


def find_shared_hunks(file: ChangedFile, diff: str, text: Callable[[str], bytes | None]) -> frozenset[int]:
    """Return the indexes of the hunks that contain changes by the user or another session.

    If a version of the file cannot be compared, all hunks are returned.

    - `diff`: the unified diff of the file, as `diff_contents` returns it.
    - `text`: function that returns the stored content with a given SHA-256, or None.
    """
    if not file.user_changes:
        return frozenset()
    hunks = split_hunks(diff)
    digests = [file.before, *chain.from_iterable(file.user_changes), file.after]
    versions = [_read_lines(digest, text) for digest in digests]
    known = [version for version in versions if version is not None]
    if len(known) < len(versions):
        return frozenset(range(len(hunks)))
    removed, added = _trace_lines(known)
    return frozenset(
        number
        for number, (old, new) in enumerate(map(changed_indexes, hunks))
        if old & removed or new & added
    )


def _read_lines(digest: str | None, text: Callable[[str], bytes | None]) -> list[str] | None:
    content = b"" if digest is None else text(digest)
    if content is None or len(content) > MAX_DIFF_BYTES:
        return None
    decoded = decode_text(content)
    return None if decoded is None else split_lines(decoded.display_text)


def _trace_lines(versions: Sequence[Sequence[str]]) -> tuple[set[int], set[int]]:
    """Return the indexes of the first version's lines that the user removed, and of the last version's shared lines.

    `versions`: the lines of each version. The session and the user change them in turn; the session begins.
    """
    lines = [_Line(index) for index in range(len(versions[0]))]
    removed = set[int]()
    for number in range(1, len(versions)):
        by_user = number % 2 == 0
        for change in reversed(find_changes(versions[number - 1], versions[number])):
            old = lines[change.a1 : change.a2]
            if by_user:
                removed.update(line.origin for line in old if line.origin is not None)
            is_shared = by_user or any(line.is_shared for line in old)
            lines[change.a1 : change.a2] = [_Line(None, is_shared)] * (change.b2 - change.b1)
    return removed, {index for index, line in enumerate(lines) if line.is_shared}
