"""The prompt: queued messages, editor and policy row, with the completion menu above.

Invariant: the prompt's height changes only with its text.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.keys_and_commands import Action, command_word, is_shell_line
from tui_agent.tui.panes.policy import PolicyRow
from tui_agent.tui.prompt.attachments import Picture, Span
from tui_agent.tui.prompt.completion import (
    AT_SIGN,
    MAX_FOUND,
    ArgumentCompletion,
    Candidate,
    Token,
    argument_candidates,
    command_candidates,
    file_candidates,
    resource_candidates,
    token_at,
)
from tui_agent.tui.prompt.completion_files import FileIndex, RefusedPaths
from tui_agent.tui.prompt.completion_symbols import PAUSE_S, FindSymbols, Symbol, Symbols
from tui_agent.tui.prompt.editor import Editor
from tui_agent.tui.prompt.menu import Menu
from tui_agent.tui.prompt.queue import QueueRows
from tui_agent.tui.untrusted_text import clean_line

if TYPE_CHECKING:  # loaded after the first paint
    from tui_agent.folds.text.mention_parser import MentionCandidate
    from tui_agent.protocol.ids import RequestId

PLACEHOLDER = "Ask for a change, or type / for commands, @ for files"


class Prompt(Vertical):
    """The prompt: the message editor and the row with the policy; posts `Submitted` for a sent message."""

    class Submitted(Message):
        """A message to send.

        - `how`: `send` or `queue`
        - `written`: the text as typed, with long pastes as chips
        - `own_words`: the words around the long pastes; empty if there are no pastes
        - `queued_after`: ids of the messages that were ahead in the queue; None if the message was not in the queue
        - `typed_mentions`: the mentions outside of pasted text; None if unknown
        """

        def __init__(
            self,
            text: str,
            how: str,
            pictures: Sequence[Picture] = (),
            written: str | None = None,
            own_words: str = "",
            queued_after: "tuple[RequestId, ...] | None" = None,
            typed_mentions: tuple[str, ...] | None = None,
        ) -> None:
            super().__init__()
            self.text = text
            self.how = how
            self.pictures = tuple(pictures)
            self.written = text if written is None else written
            self.own_words = own_words
            self.queued_after = queued_after
            self.typed_mentions = typed_mentions

    class MenuChanged(Message):
        """Posted when the completion menu opened, closed, or must be moved."""

    class Drafted(Message):
        """Posted when the text in the editor changed."""

    def __init__(self, root: Path, policy: str = "") -> None:
        super().__init__(id="prompt", classes=_policy_class(policy))
        self.editor = Editor(root)
        self.policy_row = PolicyRow(id="policy-row")
        self.queue_rows = QueueRows(id="queue-rows")
        self.queue_rows.display = False
        self.menu = Menu(id="menu")
        self.editor.sync = self._complete
        self.editor.submit = self.submit
        self.editor.choose_in_menu, self.editor.take_candidate = self._choose_in_menu, self._take
        self.editor.close_menu, self.editor.search_history = self.close_menu, self._search_history
        self.editor.take_queued = self.queue_rows.take_newest
        self.files = FileIndex(root)
        self.find_symbols: FindSymbols = _search_git
        self._symbols = Symbols()
        self.actions: Sequence[Action] = ()
        """The actions whose slash commands the menu lists."""
        self.offered: Sequence[Action] = ()
        """The engine's slash commands. The menu lists them after the app's commands."""
        self.choices: Mapping[str, Sequence[tuple[str, str]]] = {}
        self.arguments = ArgumentCompletion()
        self.running = False
        self._words = ""
        """The text in place of the policy's usual description; empty for the usual one."""
        self._waits_for = ""
        self.answers_question = False
        """True if a message answers the agent's question instead of steering the turn."""
        self._blank_at: tuple[int, int] | None = None
        """The cursor's position after the menu inserted a completion with a final space. None once the cursor has
        moved."""
        self.max_rows = 10
        self.with_policy = True
        self._token: Token | None = None
        self._mentions: list[MentionCandidate] = []
        self._closed_at: str | None = None
        """The text for which the user closed the menu: the menu stays closed until the text changes."""
        self._searching: str | None = None
        """The message from before the history search; None if no search is open."""
        self._note: Callable[[int], str] = lambda _: ""
        self._find_place = ""
        self._policy = policy

    def compose(self) -> ComposeResult:
        yield self.queue_rows
        yield self.editor
        yield self.policy_row

    def set_state(
        self, policy: str, note: Callable[[int], str], *, running: bool, waits_for: str = "", words: str = ""
    ) -> None:
        """Set the texts of the row below the editor.

        - `note`: takes the length of the message and returns the note
        - `waits_for`: work other than a turn that a message must wait for
        - `words`: shown in place of the usual description of the policy
        """
        if policy != self._policy:
            self.remove_class(_policy_class(self._policy), update=False).add_class(_policy_class(policy))
        self._policy, self._note = policy, note
        self.running = self.editor.running = self.editor.can_queue = running
        self._waits_for, self._words = waits_for, words
        self.update_note()

    def set_find_place(self, text: str) -> None:
        """Show the place of the current match of a search, e.g. `3 of 13`; empty if no search is open."""
        self._find_place = text
        self.update_note()

    def set_queue(self, texts: Sequence[str], *, after: str, can_send: bool) -> None:
        """Show the queued messages.

        - `after`: the work after which the messages are sent
        - `can_send`: True if the user can send the first message earlier
        """
        before = self.queue_rows.rows_wanted
        self.queue_rows.set_texts(texts, after=after, can_send=can_send)
        if self.queue_rows.rows_wanted != before:
            self.post_message(self.MenuChanged())

    def fit(self, max_rows: int, *, policy_row: bool) -> None:
        """Limit the prompt's height to `max_rows` rows, and show or hide the row with the policy."""
        self.max_rows, self.with_policy = max_rows, policy_row
        self.policy_row.display = policy_row
        self._grow()

    @property
    def height_now(self) -> int:
        """The number of rows of the prompt."""
        rows = int(self.editor.styles.height.value) if self.editor.styles.height else 1
        return rows + (1 if self.with_policy else 0) + self.queue_rows.rows_wanted

    def _grow(self) -> None:
        room = max(1, self.max_rows - (1 if self.with_policy else 0))
        rows = max(1, min(room, self.editor.wrapped_document.height))
        height = self.editor.styles.height
        if height is None or height.value != rows:
            self.editor.styles.height = rows
            self.post_message(self.MenuChanged())

    def update_note(self) -> None:
        """Update the note in the row with the policy."""
        vim = self.editor.vim
        mode = vim.mode if vim is not None else ""
        candidate = self.menu.candidate if self.menu.display else None
        if candidate is not None and candidate.needs_whole_word:
            note = f"loosens the policy: type {candidate.label} in full"
        elif self.menu.display and self._token is not None:
            count = len(self.menu.candidates)
            has_resources = AT_SIGN in self.arguments.commands
            in_files = "" if has_resources else f" in {format_count(len(self.files.paths.files), 'file')}"
            note = {
                "command": format_count(count, "command"),
                "file": f"{count} found{in_files}" if count < MAX_FOUND else f"first {count}{in_files}",
                "argument": f"{count} to choose from",
            }[self._token.kind]
        elif self._searching is not None:
            note = f"history: {len(self.menu.candidates)} found"
        elif self._find_place:
            note = self._find_place
        elif self.editor.paste_at_cursor is not None and self.screen.is_active:
            note = f"{self.editor.key_map.key_of('open_block')} shows the pasted text"
        elif self.running and is_shell_line(self.editor.text):
            note = "not while a turn runs"
        elif self.queue_rows.gets_back(running=self.running) and not command_word(self.editor.text):
            note = "this message goes back into the queue"
        elif self.running and self.editor.text.strip() and not command_word(self.editor.text):
            effect = "answers the question" if self.answers_question else "steers this turn"
            note = f"waits for {self._waits_for}" if self._waits_for else effect
        else:
            note = self._note(self.editor.message_size)
        self.policy_row.set_texts(self._policy, note, mode, self._words)

    @on(Editor.SelectionChanged)
    def _follow_cursor(self, event: Editor.SelectionChanged) -> None:
        event.stop()
        self._complete()

    @on(Editor.Changed)
    def _follow_text(self, event: Editor.Changed) -> None:
        event.stop()
        if self._closed_at is not None and self.editor.text != self._closed_at:
            self._closed_at = None
        self._blank_at = _drop_second_blank(self.editor, self._blank_at)
        if not self.editor.text.strip():
            self.queue_rows.queued_after = None
        self._grow()
        self._complete()
        self.update_note()
        mentions = self.editor.typed_mentions
        if mentions != self._mentions:
            self._mentions = mentions
            work = _show_attached(self, mentions, "" if self._token is None else self._token.query)
            self.app.run_worker(work, exclusive=True, group="attached", exit_on_error=False)
        self.queue_rows.set_prompt_empty(not self.editor.text.strip())
        self.post_message(self.Drafted())

    @on(Editor.Edited)
    def _follow_edit(self, event: Editor.Edited) -> None:
        event.stop()
        self.update_note()

    def _complete(self) -> None:
        if self._searching is not None:
            texts = self.editor.history_of_messages.search(self.editor.text)
            self._offer([Candidate(label=clean_line(text)[:300], insert=text) for text in texts])
            return
        row_at, column = self.editor.cursor_location
        line = self.editor.document.get_line(row_at)
        # If Up recalled an earlier command, a menu for it would handle the next Up or Down.
        is_recalled = bool(self.editor.recalled) and self.editor.text == self.editor.recalled
        is_closed = self._closed_at is not None or is_recalled
        token = None if is_closed else token_at(line, column, first_line=row_at == 0)
        self._token = token
        if token is None:
            self._offer([])
        elif token.kind == "command":
            actions = [*self.actions, *self.offered]
            candidates = command_candidates(token.query, actions, running=self.running, policy=self._policy)
            self._offer(candidates, choose=token.query != "/")
        elif token.kind == "argument":
            choices = {**self.choices, **self.arguments.completions}
            self._offer(argument_candidates(token, choices, self._policy), choose=bool(token.query))
            if self.arguments.needs_request(token):
                self.arguments.request_later(self, token, self._complete)
        else:
            refused = self.files.refused
            symbols = self._symbols.find(token.query)
            files = file_candidates(token.query, self.files.paths, symbols, refused.paths)
            resources = resource_candidates(token.query, self.arguments.completions.get(AT_SIGN, ()))
            self._offer([*files, *resources])
            if self.arguments.needs_request(token._replace(command=AT_SIGN)):
                self.arguments.request_later(self, token._replace(command=AT_SIGN), self._complete)
            if self._symbols.needs_search(token.query):
                self._symbols.timer = self.set_timer(PAUSE_S, partial(self._search_symbols, token.query))
            if refused.needs_request(shown := [row.path for row in files if row.path]):
                work = _mark_refused(self, refused, shown)
                self.app.run_worker(work, exclusive=True, group="refused", exit_on_error=False)
            if self.files.is_stale:
                self.app.run_worker(
                    self._list_files, thread=True, exclusive=True, group="files", exit_on_error=False
                )

    def set_root(self, root: Path) -> None:
        """Use another work folder for completion and for pasted paths."""
        if root != self.files.root:
            self.editor.root, self.files, self._symbols = root, FileIndex(root), Symbols()

    def _search_symbols(self, query: str) -> None:
        async def search() -> None:
            self._symbols.store_result(query, await self.find_symbols(self.files.root, query))
            chosen = self.menu.candidate
            self._complete()
            self.menu.reselect(chosen)

        self.app.run_worker(search(), exclusive=True, group="symbols", exit_on_error=False)

    def _list_files(self) -> None:
        self.files.refresh()
        self.app.call_from_thread(self._complete)

    def _offer(self, candidates: list[Candidate], *, choose: bool = True) -> None:
        """Show the menu with these candidates.

        `choose`: False to select none until the user presses an arrow key.
        """
        before = (self.menu.display, self.menu.rows, self.menu.candidate) if self.menu.is_attached else ()
        self.menu.offer(candidates, choose=choose)
        self.menu.display = bool(candidates)
        # The menu's keys also work during a history search without a match, so that Enter does not send its words.
        self.editor.menu_open = bool(candidates) or self._searching is not None
        if before != (self.menu.display, self.menu.rows, self.menu.candidate):
            self.post_message(self.MenuChanged())
        self.update_note()

    def close_menu(self) -> bool:
        """Close the menu or the history search; return False if neither was open."""
        if self._searching is not None:
            self._put_without_menu(self._searching)
            return True
        if not self.menu.display:
            return False
        self._closed_at = self.editor.text
        self._offer([])
        return True

    def _put_without_menu(self, text: str) -> None:
        self._searching = None
        self.editor.put_text(text)
        self._closed_at = self.editor.text
        self._offer([])

    @on(Menu.Picked)
    def _take_candidate(self, event: Menu.Picked) -> None:
        event.stop()
        candidate = self.menu.candidate
        self._take(candidate is not None and not candidate.needs_whole_word)
        self.editor.focus()

    def _choose_in_menu(self, direction: int) -> None:
        self.menu.move(direction)
        self.update_note()
        self.post_message(self.MenuChanged())

    def _search_history(self) -> None:
        self._searching = self.editor.text
        self.editor.put_text("")
        self._complete()

    def _take(self, run: bool) -> None:
        candidate, token = self.menu.candidate, self._token
        if candidate is None:
            # The menu lists arguments but none is selected, so Enter sends the command as it is.
            if run and token is not None and token.kind == "argument":
                self.submit("send")
            return
        if self._searching is not None:
            self._put_without_menu(candidate.insert)
            return
        if token is None or (run and candidate.needs_whole_word):
            return
        if self.menu.is_mention_complete(self.editor):
            if run:
                self.submit("send")
            else:
                self._choose_in_menu(1)  # from a folder to its first entry
            return
        row_at, column = self.editor.cursor_location
        is_complete = run and token.kind == "command" and token.query == candidate.label
        ends_in_space = candidate.insert.endswith(" ")
        # A hint in brackets names an optional argument.
        needs_more = token.kind == "command" and ends_in_space and not candidate.hint.startswith("[")
        # The text may already have a space there.
        has_space = ends_in_space and self.editor.document.get_line(row_at)[column:].startswith(" ")
        end = (row_at, column + has_space)
        result = self.editor.replace(candidate.insert, (row_at, token.start), end)
        self.editor.move_cursor(result.end_location)
        if ends_in_space:
            self._blank_at = self.editor.cursor_location
        if run and token.kind != "file" and (is_complete or not needs_more):
            self.submit("send")

    def submit(self, how: str) -> None:
        """Send the message in the editor; an empty message is sent too, because Enter can mean "try again".

        During a history search, do nothing: the text is the search's words, not a message.
        """
        if self._searching is not None:
            return
        self._offer([])
        self._closed_at = None
        editor = self.editor
        text = editor.text
        pictures, own_words = editor.chips.pictures_in(text), editor.chips.own_words(text)
        queued_after = self.queue_rows.release()
        mentions = tuple(candidate.text for candidate in editor.typed_mentions)
        editor.remember_pastes()
        self.post_message(
            self.Submitted(editor.message, how, pictures, text, own_words, queued_after, mentions)
        )
        if text:
            editor.can_queue = editor.can_queue or not (is_shell_line(text) or command_word(text))
            editor.load_text("")  # Keep the chips, because the message may be put back.

    def give_back(self, unsent: Sequence[Submitted]) -> None:
        """Put unsent messages back into the editor, before the text there."""
        # An open menu would cover the notice about the unsent messages.
        texts = [*(message.written for message in unsent), self.editor.text]
        rows = self.queue_rows
        rows.queued_after = next((message.queued_after for message in unsent), rows.queued_after)
        pasted, message = list[Span](), ""
        for text in filter(str.strip, texts):
            start = len(message) + bool(message)
            pasted += [(start + first, start + last) for first, last in self.editor.pasted.recall(text) or ()]
            message += f"\n{text}" if message else text
        self._put_without_menu(message)
        self.editor.pasted.spans = pasted


def _policy_class(policy: str) -> str:
    return f"-{policy or 'unknown'}"


async def _search_git(root: Path, query: str) -> Sequence[Symbol]:
    # Imported here and in a thread, because the first screen does not search symbols.
    module = await asyncio.to_thread(import_module, "tui_agent.tui.prompt.symbol_search")
    symbols: Sequence[Symbol] = await module.search_git(root, query)
    return symbols


async def _mark_refused(prompt: Prompt, refused: RefusedPaths, shown: Sequence[str]) -> None:
    """Ask the session which of the shown paths are not sent with a message, and mark these in the menu."""
    find_refused = import_module("tui_agent.tui.prompt.typed_mentions").find_refused
    refused.store_result(shown, await find_refused(shown, prompt.arguments.ask_session))
    chosen = prompt.menu.candidate
    prompt.editor.sync()
    if chosen is not None and chosen.path not in refused.paths:
        prompt.menu.reselect(chosen)


async def _show_attached(prompt: Prompt, mentions: "Sequence[MentionCandidate]", typing: str) -> None:
    """Show the names of mentioned files, symbols and resources in the row below the editor.

    `typing`: the name at the cursor. No symbols are searched for this name, because it may be incomplete.
    """
    root, names, images = prompt.files.root, list[str](), list[str]()
    module = import_module("tui_agent.tui.prompt.typed_mentions") if mentions else None
    files, chars = (
        await asyncio.to_thread(module.find_files, mentions, root) if module is not None else ({}, 0)
    )
    image_paths = (
        await asyncio.to_thread(module.find_images, files.values(), root) if module is not None else ()
    )
    refused = (
        await module.find_refused(files.values(), prompt.arguments.ask_session)
        if module is not None and files
        else ()
    )
    unsent = list[str]()
    resources = {text for text, _ in prompt.arguments.completions.get(AT_SIGN, ())}
    for mention in mentions:
        if mention.text in files or mention.text in resources:
            name = files.get(mention.text, mention.text)
            group = unsent if name in refused else images if name in image_paths else names
            group.append(clean_line(name))
        elif mention.symbol and mention.text != typing:
            symbols = await prompt.find_symbols(root, mention.symbol)
            names += (
                [clean_line(mention.text)] if any(each.name == mention.symbol for each in symbols) else []
            )
    prompt.policy_row.set_attached(names, images, unsent)
    prompt.editor.attached_chars = chars
    prompt.update_note()


def _drop_second_blank(editor: Editor, place: tuple[int, int] | None) -> tuple[int, int] | None:
    """Delete a second space typed after a completion that ends with a space.

    `place`: the position after the completion. Return `place` as long as the cursor has not moved, then None.
    """
    if place is None or place == editor.cursor_location:
        return place
    row_at, column = place
    typed = (
        editor.document.get_line(row_at)[column - 1 : column + 1]
        if row_at < editor.document.line_count
        else ""
    )
    if typed == "  " and editor.cursor_location == (row_at, column + 1):
        editor.delete((row_at, column), (row_at, column + 1))
    return None
