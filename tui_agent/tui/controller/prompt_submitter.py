"""Sends the text of the prompt: a message, a slash command, or a shell line.

Invariant: refused text returns to the prompt, in front of newer text.
"""

from typing import Any

from tui_agent.protocol.commands import Attachment, Queue, RunCommand, RunUserShell, Steer, SubmitPrompt
from tui_agent.protocol.unicode_text import MAX_MESSAGE_CHARS, describe_long_message
from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.keys_and_commands import TYPED, command_word, is_shell_line, suggest_command
from tui_agent.tui.prompt.prompt import Prompt
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.lists import Intent


class PromptSubmitter:
    """Sends the text of the prompt as a message, a slash command or a shell line."""

    def __init__(self, host: SessionHost) -> None:
        self._host, self._prompt = host, host.app.prompt
        self.under_way = False
        """True from the time a message is sent until its turn starts."""
        host.editor.on_picture = self._warn_of_unsent_picture

    def _warn_of_unsent_picture(self) -> None:
        """Warn the user if the model may not accept the attached picture."""
        settings = self._host.state.settings
        if settings is None or not settings.model.model or settings.model.images:
            return
        name = clean_line(settings.model.model)
        self._host.app.say(
            f"{name} is not known to accept images, so this image will not be sent. "
            "Choose another model with /model. If this model does accept images, set images = true in its profile.",
            "warning",
        )

    def send(self, message: Prompt.Submitted) -> None:
        """Send a message, a command or a shell line; put refused text back into the prompt."""
        if not self._send(message):
            self._prompt.give_back([message])

    def _send(self, message: Prompt.Submitted) -> bool:
        text = message.text.strip()
        if len(text) > MAX_MESSAGE_CHARS:
            self._host.app.say(f"The message is too long. {describe_long_message(len(text))}", "warning")
            return False
        if command := command_word(text):
            return self._run_slash_command(command, text)
        if is_shell_line(text):
            return self._run_shell_line(text)
        if text:
            return self._send_message(message)
        self._continue()
        return True

    def _continue(self) -> None:
        """Handle Enter on an empty prompt: reopen a question, send the queued messages, or repeat a failed turn."""
        if self._host.questions.reopen() or self._host.questions.ask_again():
            return
        if self._host.state.queue and self._host.sessions.must_reopen:
            self._reopen_for(Intent("send_queued"))
        elif self._host.state.queue:
            self._host.act("send_queued")
        elif not self._host.is_running and self._host.state.last_turn_end == "model_error":
            self._host.submit(SubmitPrompt(text="Try again."))

    def _reopen_for(self, item: "Intent | Prompt.Submitted") -> None:
        """Reopen the session after its engine ended, and send `item` to it."""
        app, sessions = self._host.app, self._host.sessions
        app.waiting_intents.append(item)
        sessions.go_to(sessions.reopen(), "reopen")

    def return_to_prompt(
        self, waiting: "list[Intent | Prompt.Submitted]"
    ) -> "list[Intent | Prompt.Submitted]":
        """Put the messages in `waiting` back into the prompt, and return the other items."""
        sent = [item for item in waiting if isinstance(item, Prompt.Submitted)]
        messages = [item for item in sent if not item.text.lstrip().startswith(("/", "!"))]
        if messages:
            self._prompt.give_back(messages)
            self._host.editor.focus()
            self._host.app.say(
                "Choose a model first: pick one above, or type /model. Your message stays in the prompt."
            )
        return [item for item in waiting if item not in messages]

    def _run_slash_command(self, word: str, text: str) -> bool:
        action, prefix = TYPED.get(word, (None, ""))
        if action is None:
            offered = [item.name for items in self._host.state.commands.values() for item in items]
            if word[1:] in offered:
                self._remember(text)
                self._host.submit(RunCommand(name=word[1:], arguments=text[len(word) :].strip()))
                return True
            hint = suggest_command("/" + word[1:].partition("/")[0], [f"/{name}" for name in offered])
            self._host.app.say(f"Unknown command {clean_line(word)[:40]}.{hint} /help lists all.", "warning")
            return False
        if action.ground and self._host.is_running:
            # `act` tells the user why the command has to wait. Its text stays in the prompt.
            self._host.act(action.name, prefix)
            return False
        self._remember(text)
        if action.name == "quit":
            self._host.app.do(action.name)
        else:
            self._host.act(action.name, f"{prefix} {text[len(word) :]}")
        return True

    def _run_shell_line(self, text: str) -> bool:
        if self._host.is_running:
            key = self._host.app.key_of("stop")
            running = "Another command" if self._host.state.shell is not None else "A turn"
            self._host.app.say(
                f"{running} is running. Press {key} to stop it, then send this command.", "warning"
            )
            return False
        hidden = text.startswith("!!")
        self._remember(text)
        self._host.submit(RunUserShell(command=text.lstrip("!").strip(), hidden=hidden))
        return True

    def _send_message(self, message: Prompt.Submitted) -> bool:
        text = message.text.strip("\n")
        if self._host.sessions.must_reopen:
            self._remember(text)
            self._reopen_for(message)
            return True
        if self._host.session is None:
            # `submit` tells the user that no session is open. The message stays in the prompt.
            self._host.submit(SubmitPrompt(text=text))
            return False
        if not self._host.has_model:
            self._host.app.say("Choose a model first. Your message stays in the prompt.", "warning")
            self._host.act("model")
            return False
        pictures = tuple(
            Attachment(path=picture.path, media_type=picture.media_type) for picture in message.pictures
        )
        editor, questions, place = self._host.editor, self._host.questions, self._place_in_queue(message)
        words: dict[str, Any] = {"own_words": message.own_words, "typed_mentions": message.typed_mentions}
        if place is None and message.how == "send" and not pictures and questions.answer(text.strip()):
            pass
        elif not (self._host.is_running or self.under_way or place):
            self.under_way = True
            self._host.submit(SubmitPrompt(text=text, attachments=pictures, **words))
        elif message.how == "queue" or place is not None:
            self._host.submit(Queue(text=text, attachments=pictures, place=place, **words))
        else:
            self._host.submit(Steer(text=text, attachments=pictures, **words))
            if questions.is_waiting:
                key = self._host.app.key_of("send")
                self._host.app.say(f"A question is still waiting. Press {key} in an empty prompt to open it.")
        if editor.chips.texts or pictures:
            editor.drafts_of_sent[text] = editor.draft_of(message.written)
        self._remember(text)
        self._host.chat.to_end()
        return True

    def _place_in_queue(self, message: Prompt.Submitted) -> int | None:
        """Return the number of queued messages ahead of `message`; None if `message` was never in the queue."""
        if message.queued_after is None:
            return None
        return len({queued.queue_id for queued in self._host.state.queue}.intersection(message.queued_after))

    def _remember(self, text: str) -> None:
        editor = self._host.editor
        editor.history_of_messages.add(text)
        if not editor.text:  # A message that the user has begun meanwhile may still contain chips.
            editor.chips.clear()
        self._host.drafts.save_draft()
