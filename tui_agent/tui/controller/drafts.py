"""Saves the unsent message and the message history, so that they survive the end of the app.

Invariant: an unsent message is on disk within `DRAFT_S` seconds of the last key.
"""

import asyncio
import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tui_agent.ports.session import AppSession, read_text_or_preview
from tui_agent.protocol.stored_text import LongText
from tui_agent.tui.app_context import AppContext

DRAFT_S = 0.3


class DraftFile:
    """File with the unsent message of one session. All methods block: call them in a thread."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> str:
        """Return the unsent message, or `""` if there is none or the file cannot be read."""
        try:
            return self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def save(self, text: str, *, create_folder: bool = False) -> None:
        """Save `text`, or delete the file if `text` is empty.

        `create_folder`: True to create a missing folder. Raise OSError if the file cannot be written; the old file then
        remains.
        """
        if not text:
            self.path.unlink(missing_ok=True)
            return
        if create_folder:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A crash while writing must not damage the old draft, so write another file and rename it.
        new_file = self.path.with_name(self.path.name + ".new")
        handle = os.open(new_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
            new_file.replace(self.path)
        except OSError:
            new_file.unlink(missing_ok=True)
            raise


class EarlyDrafts:
    """Unsent messages of sessions that have no folder yet. Each process has one file for each workspace."""

    def __init__(self, data_dir: Path, workspace: Path) -> None:
        self._folder = data_dir / "drafts"
        self._name = hashlib.sha256(str(workspace).encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def own_file(self) -> DraftFile:
        """Return the draft file of the current process."""
        return DraftFile(self._folder / f"{self._name}-{os.getpid()}")

    def take_abandoned(self) -> str:
        """Return the newest unsent message of a process that has ended, and delete its file; `""` if there is none."""
        paths = sorted(self._abandoned_files(), key=_modified_at)
        if not paths:
            return ""
        draft = DraftFile(paths[-1])
        text = draft.load()
        with suppress(OSError):  # If this fails, the draft is offered once more, which does no harm.
            draft.save("")
        return text

    def _abandoned_files(self) -> list[Path]:
        # A file's name consists of 16 digits of the hash, a hyphen, and the process id.
        paths = self._folder.glob(f"{self._name}-*")
        return [path for path in paths if path.name[17:].isdigit() and not _is_alive(int(path.name[17:]))]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # Signal 0 only checks that the process exists.
    except ProcessLookupError:
        return False
    except OSError:
        return True  # The process exists but belongs to another user.
    return True


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


class DraftKeeper:
    """Saves and restores the unsent message and the message history of one app."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._app = context.app
        self._draft: DraftFile | None = None
        self._early_draft: DraftFile | None = None
        self._draft_planned = False
        self._history_lock = asyncio.Lock()
        """Keeps the messages in order while long texts are read."""
        self._has_warned = False
        """True after a warning about an unsaved draft."""

    async def load_history(self, path: Path) -> None:
        """Add the messages in the history file to the prompt's history."""
        history = self._context.editor.history_of_messages
        async with self._history_lock:
            history.path = path
            history.extend(await asyncio.to_thread(history.load))

    def take_prompts(self) -> None:
        """Add the user's messages from the log to the prompt's history, and those sent in this app to the history file."""
        session, prompts = self._context.session, self._context.views.prompts
        if session is not None and prompts:
            self._context.views.prompts = []
            self._context.worker(self._add_prompts(session, prompts, self._context.seen_seq), "history")

    async def _add_prompts(
        self, session: AppSession, prompts: Sequence[tuple[int, LongText]], seen_seq: int
    ) -> None:
        history = self._context.editor.history_of_messages
        async with self._history_lock:
            texts = [(seq, await read_text_or_preview(session, text)) for seq, text in prompts]
            for _, text in texts:
                history.add(text)
            new = [text for seq, text in texts if seq > seen_seq]
            if new:
                await asyncio.to_thread(history.store, new)

    def schedule_save(self) -> None:
        """Save the unsent message `DRAFT_S` seconds from now, unless a save is already scheduled."""
        if not self._draft_planned:
            self._draft_planned = True
            self._app.set_timer(DRAFT_S, self.save_draft)

    def restore_draft(self, *, moves_unsent: bool = False) -> None:
        """Put the open session's unsent message back into the prompt.

        `moves_unsent`: True if the prompt can contain text that the user typed before this session was opened. This
        text then becomes the session's unsent message.
        """
        folder, config = self._context.folder, self._context.config
        if folder is None:
            return
        previous, self._draft = self._draft, DraftFile(folder / "draft")
        draft = self._draft.load()
        if config is not None:
            early = EarlyDrafts(config.data_dir, self._context.app.options.cwd)
            self._early_draft = early.own_file()
            if not folder.is_dir():
                draft = early.take_abandoned()
        editor = self._context.editor
        if draft and not editor.text:
            editor.put_draft(draft)
        elif moves_unsent and previous is not None and editor.text.strip():
            self.save_draft()
            with suppress(OSError):  # A leftover draft does little harm: it is offered once more.
                previous.save("")

    def save_draft(self) -> None:
        """Save the unsent message; if the prompt is empty, delete the draft file."""
        self._draft_planned = False
        if self._draft is None:
            return
        editor, draft = self._context.editor, self._draft
        text = editor.draft_of(editor.text) if editor.text.strip() else ""
        has_folder = draft.path.parent.is_dir()
        try:
            if has_folder:
                draft.save(text)
            elif self._early_draft is not None:
                self._early_draft.save(text, create_folder=True)
        except OSError as fault:
            self._warn_not_saved(fault)
        else:
            self._has_warned = False
        if has_folder and self._early_draft is not None:
            with suppress(OSError):  # A leftover draft does little harm: it is offered once more.
                self._early_draft.save("")

    def _warn_not_saved(self, fault: OSError) -> None:
        """Warn once that a crash would lose the unsent message."""
        if not self._has_warned:
            self._has_warned = True
            reason = (fault.strerror or str(fault)).rstrip(".")
            self._app.say(f"Your unsent message cannot be saved for the next start: {reason}.", "warning")
