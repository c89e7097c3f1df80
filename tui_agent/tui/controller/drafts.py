"""What outlives the app beside the log: the unsent message, and the messages of the history.

Invariant: an unsent message is on the disk within `DRAFT_S` of the last key, and gone once it was sent. It makes no
session: until something was said it lies beside the sessions.
"""

import os
from contextlib import suppress

from tui_agent.tui.context import AppContext
from tui_agent.tui.main_screen import Frame
from tui_agent.tui.prompt.draft import DraftFile, UnsaidDrafts, lives

DRAFT_S = 0.3


class DraftKeeper:
    """The draft and the history of one app."""

    def __init__(self, context: AppContext, frame: Frame) -> None:
        self._context = context
        self._frame = frame
        self._draft: DraftFile | None = None
        self._unsaid: DraftFile | None = None
        self._draft_planned = False
        self._told = False
        """Whether it was said that the draft cannot be kept."""

    def take_prompts(self) -> None:
        """What the session's log says was asked joins the history."""
        prompts, self._context.views.prompts = self._context.views.prompts, []
        history = self._frame.prompt.editor.history_of_messages
        new = [text for text in prompts if history.add(text)]
        if new and self._context.views.seq > self._context.seen_seq:
            self._frame.run_worker(lambda: history.store(new), thread=True, exit_on_error=False)

    def drafted(self) -> None:
        """The unsent text changed: keep it soon."""
        if not self._draft_planned:
            self._draft_planned = True
            self._frame.set_timer(DRAFT_S, self.save_draft)

    def take_draft(self) -> None:
        """Put what was left unsent back into the prompt."""
        folder, config = self._context.folder, self._context.config
        if folder is None:
            return
        self._draft = DraftFile(folder / "draft")
        held = self._draft.load()
        if config is not None:
            unsaid = UnsaidDrafts(config.data_dir, self._context.app.options.cwd)
            self._unsaid = unsaid.of(os.getpid())
            if not folder.is_dir():
                held = unsaid.take_left(lives)
        editor = self._frame.prompt.editor
        if held and not editor.text:
            editor.put(editor.chips.from_json(held))

    def save_draft(self) -> None:
        """Keep what is typed, or forget what was sent."""
        self._draft_planned = False
        if self._draft is None:
            return
        editor, draft = self._frame.prompt.editor, self._draft
        text = editor.chips.to_json(editor.text) if editor.text.strip() else ""
        said = draft.path.parent.is_dir()
        try:
            if said:
                draft.save(text)
            elif self._unsaid is not None:
                self._unsaid.save(text, make=True)
        except OSError as fault:
            self._not_kept(fault)
        else:
            self._told = False
        if said and self._unsaid is not None:
            with suppress(OSError):  # one too many is offered again
                self._unsaid.save("")

    def _not_kept(self, fault: OSError) -> None:
        """Typing goes on; that a crash would lose it is said once."""
        if not self._told:
            self._told = True
            reason = (fault.strerror or str(fault)).rstrip(".")
            self._context.app.say(f"What you type cannot be kept for the next start: {reason}.", "warning")
