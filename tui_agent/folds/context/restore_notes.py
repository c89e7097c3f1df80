"""Notes for the model about files that differ from the conversation after an undo, a redo or a revert."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tui_agent.folds.session.branches import Reason
from tui_agent.protocol.events.files import CheckpointRestored, FileChanged
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.unicode_text import escape_unprintable, list_first

MAX_FILES_IN_NOTE = 20
KEPT_FILES = "The user reverted the conversation to this point, but these files keep later changes"


@dataclass(slots=True)
class FileNotes:
    """Collects what the model must be told about files, from one turn to the next.

    - `move`: the newest undo, redo or revert.
    - `unrestored`: files that the newest move did not restore, each with True (the move was a redo) or False.
    - `kept_paths`: files that keep changes by undone turns.
    """

    move: SessionHeadMoved | None = None
    unrestored: dict[str, bool] = field(default_factory=dict)
    kept_paths: dict[str, None] = field(default_factory=dict)

    def add_change(self, change: FileChanged) -> None:
        """Remember the file if its change remains although its turn was undone."""
        # After a redo, the files lack the session's changes instead: `restore_note` says so.
        if change.original_author is not None and self.move is not None and self.move.reason != "redo":
            self.kept_paths[change.path] = None

    def add_restored(self, restored: CheckpointRestored, seq: int) -> list[UserMessage]:
        """Return a list with the note about files that the newest move restored, or an empty list."""
        move, self.move = self.move, None
        for path in restored.paths:
            self.kept_paths.pop(path, None)
        note = restore_note(move.reason, restored, self.unrestored) if move and move.files else None
        self.unrestored = dict.fromkeys(restored.kept_names, move is not None and move.reason == "redo")
        return [] if note is None else [UserMessage(content=(note,), seq=seq)]

    def end_move(self, seq: int) -> list[UserMessage]:
        """Return a list with the note about kept files, to be sent before the next message, or an empty list."""
        paths, self.move, self.unrestored, self.kept_paths = self.kept_paths, None, {}, {}
        return [UserMessage(content=(_list_files(KEPT_FILES, paths),), seq=seq)] if paths else []


def restore_note(
    move: Reason, restored: CheckpointRestored, unrestored: Mapping[str, bool]
) -> TextContent | None:
    """Return the note about files that differ from the conversation after an undo, redo or revert.

    Return None if the model need not be told, e.g. because the conversation was reverted with the files.

    - `move`: the kind of move, e.g. `undo`.
    - `unrestored`: see `FileNotes`; the files that the previous undo or redo did not restore.
    """
    folders = [folder.path for folder in restored.folders if folder.files]
    paths = [*restored.paths, *folders]
    more = restored.unlisted_count
    if move == "redo":
        paths, more = list(restored.kept_names), restored.unlisted_skipped_count
        text = "These files have the user's version and may lack your changes"
    elif move == "hunk":
        text = "The user reverted one of the changes in"
    elif move == "files" and unrestored.keys() >= set(paths):
        # The user also chose the restored version of files that were kept at first.
        paths = [path for path in paths if unrestored[path]]
        text = "These files have your changes again"
    elif move == "files":
        text = "The user set these files to their versions of another checkpoint, or removed them"
        if not restored.removed_count:
            text = "The user set these files to their versions of another checkpoint"
        elif restored.removed_count == len(restored.paths) + more and not folders:
            text = "The user removed these files"
    else:
        return None
    if not paths:
        return None
    return _list_files(text, paths, more)


def _list_files(text: str, paths: Iterable[str], more: int = 0) -> TextContent:
    # If there are unlisted paths, more than `MAX_FILES_IN_NOTE` paths are listed.
    names = [*map(escape_unprintable, paths), *[""] * more]
    return TextContent(text=f"[{text}: {list_first(names, MAX_FILES_IN_NOTE)}.]")
