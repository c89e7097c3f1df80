"""The unsent message and the message history, which are kept when the app ends.

Invariant: an unsent message is on disk within `DRAFT_S` seconds of the last key, and is removed once it is sent.
Saving it creates no session: before the first message it is stored next to the sessions.
"""

import os
from contextlib import suppress

from tui_agent.tui.context import AppContext
from tui_agent.tui.prompt.draft import DraftFile, EarlyDrafts, is_alive

DRAFT_S = 0.3


class DraftKeeper:
    """Saves and restores the draft and the history of one app."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._app = context.app
        self._draft: DraftFile | None = None
        self._early_draft: DraftFile | None = None
        self._draft_planned = False
        self._has_warned = False
        """True after a warning that the draft cannot be saved."""

    def take_prompts(self) -> None:
        """Add the messages in the session's log to the history."""
        prompts, self._context.views.prompts = self._context.views.prompts, []
        history = self._app.prompt.editor.history_of_messages
        new = [text for text in prompts if history.add(text)]
        if new and self._context.views.seq > self._context.seen_seq:
            self._app.run_worker(lambda: history.store(new), thread=True, exit_on_error=False)

    def schedule_save(self) -> None:
        """Schedule saving of the changed text."""
        if not self._draft_planned:
            self._draft_planned = True
            self._app.set_timer(DRAFT_S, self.save_draft)

    def restore_draft(self) -> None:
        """Put a saved draft back into the prompt."""
        folder, config = self._context.folder, self._context.config
        if folder is None:
            return
        self._draft = DraftFile(folder / "draft")
        draft = self._draft.load()
        if config is not None:
            early = EarlyDrafts(config.data_dir, self._context.app.options.cwd)
            self._early_draft = early.open_for(os.getpid())
            if not folder.is_dir():
                draft = early.take_abandoned(is_alive)
        editor = self._app.prompt.editor
        if draft and not editor.text:
            editor.put_text(editor.chips.from_json(draft))

    def save_draft(self) -> None:
        """Save the unsent text; if there is none, delete the saved draft."""
        self._draft_planned = False
        if self._draft is None:
            return
        editor, draft = self._app.prompt.editor, self._draft
        text = editor.chips.to_json(editor.text) if editor.text.strip() else ""
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
        """Warn once that a crash would lose the text; typing stays possible."""
        if not self._has_warned:
            self._has_warned = True
            reason = (fault.strerror or str(fault)).rstrip(".")
            self._app.say(f"Your unsent message cannot be saved for the next start: {reason}.", "warning")
