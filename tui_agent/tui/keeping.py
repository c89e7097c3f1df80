"""L7: what outlives the app beside the log: the unsent message, and the messages of the history.

Invariant: an unsent message is on the disk within `DRAFT_S` of the last key, and gone once it was sent.
"""

from typing import TYPE_CHECKING

from tui_agent.tui.prompt.draft import DraftFile

if TYPE_CHECKING:
    from tui_agent.tui.live import Live

DRAFT_S = 0.3


class Keeping:
    """The draft and the history of one app."""

    def __init__(self, live: "Live") -> None:
        self._live = live
        self._draft: DraftFile | None = None
        self._draft_planned = False

    def take_prompts(self) -> None:
        """What the session's log says was asked joins the history."""
        prompts, self._live.views.prompts = self._live.views.prompts, []
        history = self._live.app.prompt.editor.history_of_messages
        new = [text for text in prompts if history.add(text)]
        if new and self._live.views.seq > self._live.seen_seq:
            self._live.app.run_worker(lambda: history.store(new), thread=True, exit_on_error=False)

    def drafted(self) -> None:
        """The unsent text changed: keep it soon."""
        if not self._draft_planned:
            self._draft_planned = True
            self._live.app.set_timer(DRAFT_S, self.save_draft)

    def take_draft(self) -> None:
        """Put what was left unsent back into the prompt."""
        if self._live.folder is None:
            return
        self._draft = DraftFile(self._live.folder / "draft")
        editor = self._live.app.prompt.editor
        held = self._draft.load()
        if held and not editor.text:
            editor.put(editor.chips.from_json(held))

    def save_draft(self) -> None:
        """Keep what is typed, or forget what was sent."""
        self._draft_planned = False
        if self._draft is None:
            return
        editor, draft = self._live.app.prompt.editor, self._draft
        text = editor.chips.to_json(editor.text) if editor.text.strip() else ""
        draft.save(text)
