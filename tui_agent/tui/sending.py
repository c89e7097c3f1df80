"""L7: what the prompt sends: a message, a slash command, or a shell line.

Invariant: the text leaves the prompt only when it was taken; what is refused stays there to be changed.
"""

from typing import TYPE_CHECKING

from tui_agent.protocol.commands import Attachment, Queue, RunUserShell, Steer, SubmitPrompt
from tui_agent.tui.actions import BY_SLASH, did_you_mean
from tui_agent.tui.panes.base import Intent
from tui_agent.tui.prompt.box import Prompt
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    from tui_agent.tui.live import Live


class Sending:
    """Tells messages from commands."""

    def __init__(self, live: "Live") -> None:
        self._live = live
        self.under_way = False
        """A message was handed over and the session's state has not moved since: the next one steers."""

    def sent(self, text: str, how: str) -> None:
        """What the prompt sent: a message, a command, or a shell line."""
        said = text.strip()
        first_word = said.split(maxsplit=1)[0] if said else ""
        if first_word in BY_SLASH or (first_word.startswith("/") and "/" not in first_word[1:]):
            self._slash(first_word, said)
        elif said.startswith("!") and said.strip("! "):
            self._shell(said)
        elif said:
            self._message(text.strip("\n"), how)
        elif self._live.asking.again():
            return
        elif self._live.state.queue:
            self._live.act("send_queued")
        elif not self._live.running and self._live.state.last_turn_end == "model_error":
            self._live.submit(SubmitPrompt(text="Try again."))

    def held_back(self, waiting: "list[Intent | Prompt.Sent]") -> "list[Intent | Prompt.Sent]":
        """Without a model, messages that waited go back into the prompt; the rest of what waited is given back."""
        messages = [
            one
            for one in waiting
            if isinstance(one, Prompt.Sent) and not one.text.lstrip().startswith(("/", "!"))
        ]
        editor = self._live.app.prompt.editor
        if messages:
            editor.put("\n".join([*(one.text for one in messages), *([editor.text] if editor.text else [])]))
            editor.focus()
            self._live.app.say(
                "Choose a model first: /model, or a number of the page. Your message stays here."
            )
        return [one for one in waiting if one not in messages]

    def _slash(self, word: str, said: str) -> None:
        action = BY_SLASH.get(word)
        if action is None:
            hint = did_you_mean(word, BY_SLASH)
            self._live.app.say(f"There is no {clean_line(word)[:40]}.{hint} /help lists all.", "warning")
            return
        if action.ground and self._live.running:
            self._live.act(action.name)
            return
        self._written(said)
        if action.name == "quit":
            self._live.app.leave()
        else:
            self._live.act(action.name, said[len(word) :])

    def _shell(self, said: str) -> None:
        if self._live.running:
            self._live.act("run", "")
            return
        hidden = said.startswith("!!")
        self._written(said)
        self._live.submit(RunUserShell(command=said.lstrip("!").strip(), hidden=hidden))

    def _message(self, text: str, how: str) -> None:
        if self._live.session is None:
            self._live.submit(SubmitPrompt(text=text))
            return
        if self._live.session.closed:
            self._live.app.waiting_intents.append(Prompt.Sent(text, how))
            self._written(text)
            self._live.worker(self._live.reopen(), "reopen")
            return
        if not self._live.has_model:
            self._live.app.say("Choose a model first; your message stays here.", "warning")
            self._live.act("model")
            return
        pictures = tuple(
            Attachment(path=one.path, media_type=one.media_type)
            for one in self._live.app.prompt.editor.chips.attached(self._live.app.prompt.editor.text)
        )
        if not self._live.running and not self.under_way:
            self.under_way = True
            self._live.submit(SubmitPrompt(text=text, attachments=pictures))
        elif how == "queue":
            self._live.submit(Queue(text=text, attachments=pictures))
        else:
            self._live.submit(Steer(text=text, attachments=pictures))
        self._written(text)
        self._live.chat.to_end()

    def _written(self, text: str) -> None:
        editor = self._live.app.prompt.editor
        editor.history_of_messages.add(text)
        editor.empty()
        self._live.keeping.save_draft()
