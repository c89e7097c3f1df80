"""What `sessions checkpoints --json` says, as rows.

Invariant: plain data; a field that is missing or of another type is empty, nothing is raised.
"""

from dataclasses import dataclass

from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.cli_client import JsonRow, json_rows, number_of, text_of


@dataclass(frozen=True, slots=True)
class FileRow:
    """One path of a checkpoint; contents are digests."""

    path: str
    added: int
    removed: int
    before: str | None
    after: str | None

    @property
    def told(self) -> bool:
        """Whether the log holds what it was and became."""
        return self.before is not None or self.after is not None


@dataclass(frozen=True, slots=True)
class Kept:
    """One checkpoint."""

    seq: int
    at: float
    turn: int
    part: int
    author: str
    commit: str
    files: tuple[FileRow, ...]
    more: int
    skipped: tuple[str, ...]
    restored: bool
    on_branch: bool

    @property
    def name(self) -> str:
        """What it holds, in a few words."""
        if self.restored:
            return f"put back {counted(len(self.files) + self.more, 'file')}"
        if self.part < 0:
            return "the files as they were found"
        rest = len(self.files) + self.more - 1
        first = self.files[0].path if self.files else "no file"
        return f"{first} and {rest} more" if rest > 0 else first

    @property
    def added(self) -> int:
        """Lines."""
        return sum(one.added for one in self.files)

    @property
    def removed(self) -> int:
        """Lines."""
        return sum(one.removed for one in self.files)


def kept_rows(said: str) -> list[Kept]:
    """What `sessions checkpoints --json` says, the newest first."""
    return [_kept(one) for one in reversed(json_rows(said))]


def _kept(one: JsonRow) -> Kept:
    files, skipped = one.get("files"), one.get("skipped")
    return Kept(
        seq=round(number_of(one, "seq")),
        at=number_of(one, "at"),
        turn=round(number_of(one, "turn")),
        part=round(number_of(one, "part")),
        author=text_of(one, "author"),
        commit=text_of(one, "commit"),
        files=tuple(_file(file) for file in files if isinstance(file, dict))
        if isinstance(files, list)
        else (),
        more=round(number_of(one, "more")),
        skipped=tuple(str(why) for why in skipped) if isinstance(skipped, list) else (),
        restored=one.get("restored") is True,
        on_branch=one.get("on_branch") is not False,
    )


def _file(one: JsonRow) -> FileRow:
    return FileRow(
        path=text_of(one, "path"),
        added=round(number_of(one, "added")),
        removed=round(number_of(one, "removed")),
        before=text_of(one, "before") or None,
        after=text_of(one, "after") or None,
    )
