"""What the prompt sends: a message, a slash command, or a shell line.

Invariant: what is refused goes back into the prompt to be changed, before what was typed since.
"""

from tui_agent.protocol.commands import Attachment, Queue, RunUserShell, Steer, SubmitPrompt
from tui_agent.tui.actions import BY_SLASH, did_you_mean
from tui_agent.tui.controller.host import SessionHost
from tui_agent.tui.prompt.box import Prompt
from tui_agent.tui.text import clean_line
from tui_agent.tui.widgets.line_pane import Intent


class PromptSubmitter:
    """Tells messages from commands."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self.under_way = False
        """A message was handed over and the session's state has not moved since: the next one steers."""

    def sent(self, one: Prompt.Sent) -> None:
        """What the prompt sent: a message, a command, or a shell line."""
        if not self._taken(one):
            self._host.frame.prompt.give_back([one])

    def _taken(self, one: Prompt.Sent) -> bool:
        said = one.text.strip()
        first_word = said.split(maxsplit=1)[0] if said else ""
        if first_word in BY_SLASH or (first_word.startswith("/") and "/" not in first_word[1:]):
            return self._slash(first_word, said)
        if said.startswith("!") and said.strip("! "):
            return self._shell(said)
        if said:
            return self._message(one)
        self._nothing()
        return True

    def _nothing(self) -> None:
        """Enter on an empty prompt means what waits for it."""
        if self._host.questions.again() or self._host.questions.ask_again():
            return
        if self._host.state.queue:
            self._host.act("send_queued")
        elif not self._host.running and self._host.state.last_turn_end == "model_error":
            self._host.submit(SubmitPrompt(text="Try again."))

    def held_back(self, waiting: "list[Intent | Prompt.Sent]") -> "list[Intent | Prompt.Sent]":
        """Without a model, messages that waited go back into the prompt; the rest of what waited is given back."""
        messages = [
            one
            for one in waiting
            if isinstance(one, Prompt.Sent) and not one.text.lstrip().startswith(("/", "!"))
        ]
        if messages:
            self._host.frame.prompt.give_back(messages)
            self._host.frame.prompt.editor.focus()
            self._host.app.say(
                "Choose a model first: /model, or a number of the page. Your message stays here."
            )
        return [one for one in waiting if one not in messages]

    def _slash(self, word: str, said: str) -> bool:
        action = BY_SLASH.get(word)
        if action is None:
            hint = did_you_mean(word, BY_SLASH)
            self._host.app.say(f"There is no {clean_line(word)[:40]}.{hint} /help lists all.", "warning")
            return False
        if action.ground and self._host.running:
            self._host.act(action.name)
            return False
        self._written(said)
        if action.name == "quit":
            self._host.app.leave()
        else:
            self._host.act(action.name, said[len(word) :])
        return True

    def _shell(self, said: str) -> bool:
        if self._host.running:
            self._host.act("run", "")
            return False
        hidden = said.startswith("!!")
        self._written(said)
        self._host.submit(RunUserShell(command=said.lstrip("!").strip(), hidden=hidden))
        return True

    def _message(self, one: Prompt.Sent) -> bool:
        text = one.text.strip("\n")
        if self._host.session is None:
            self._host.submit(SubmitPrompt(text=text))
            return False
        if self._host.session.closed:
            self._host.app.waiting_intents.append(one)
            self._written(text)
            self._host.sessions.go_to(self._host.sessions.reopen(), "reopen")
            return True
        if not self._host.has_model:
            self._host.app.say("Choose a model first; your message stays here.", "warning")
            self._host.act("model")
            return False
        pictures = tuple(Attachment(path=each.path, media_type=each.media_type) for each in one.pictures)
        if not self._host.running and not self.under_way:
            self.under_way = True
            self._host.submit(SubmitPrompt(text=text, attachments=pictures))
        elif one.how == "queue":
            self._host.submit(Queue(text=text, attachments=pictures))
        else:
            self._host.submit(Steer(text=text, attachments=pictures))
        self._written(text)
        self._host.chat.to_end()
        return True

    def _written(self, text: str) -> None:
        editor = self._host.frame.prompt.editor
        editor.history_of_messages.add(text)
        if not editor.text:
            editor.chips.clear()
        self._host.drafts.save_draft()
