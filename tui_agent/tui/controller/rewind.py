"""Undo, redo and revert. The user is asked first if someone else may have changed the files.

Invariant: a file that someone else changed is restored only if the user chose the file from a list.
"""

import math
from collections.abc import Callable, Sequence

from tui_agent.folds.transcript.entries import ToolEntry, TurnEntry, UserEntry
from tui_agent.protocol.commands import PlanRevert, Redo, Revert, Undo
from tui_agent.protocol.events.files import (
    LONG_COMMAND_S,
    UNNAMED_AUTHOR,
    CheckpointPlanned,
    CheckpointRestored,
    PlannedFileChange,
)
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.commands.sheets import open_picker
from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.undo_question import FileChoice, describe_change
from tui_agent.tui.untrusted_text import clean_line, fit
from tui_agent.tui.widgets.sheet import NO_ROW
from tui_agent.units import format_age, format_number

ALL = "/"
"""The path that stands for all kept files."""
TITLE_CELLS = 40
"""Maximum width of a message in a title, in cells."""
_CHOICES = (
    Item("both", "conversation and files", about="/redo restores both"),
    Item("conversation", "conversation only", about="files stay as they are"),
    Item("files", "files only", about="/redo restores them"),
)


_FILES, _LEFT = "Files", "Kept"


class _RestorePicker(Picker):
    """List of what an undo or revert can restore. Typed text goes to the message in the prompt."""

    answer_actions = frozenset({"list_open"})

    def __init__(self, title: str, items: Sequence[Item]) -> None:
        super().__init__(title, items, has_filter=False)
        self.total = ""

    def select_default(self) -> None:
        self.chosen = 0

    def use(self) -> None:
        """Close with the selected item; if no row is selected, send the message in the prompt."""
        if self.chosen == NO_ROW:
            self.send_message()
        else:
            super().use()


class RevertPicker(_RestorePicker):
    """Question what to revert: the conversation, the files or both.

    If the user sends a message instead, the question closes, because the message changes what a revert would undo.
    """

    old_message_gets_keys = False

    def begin_writing(self) -> None:
        super().begin_writing()
        if self.covered_prompt is not None and self.covered_prompt.was_sent:
            self.close()

    def send_message(self) -> None:
        if self.message:
            self.close()
        super().send_message()


class KeptFilesPicker(_RestorePicker):
    """List of the files that an undo or revert did not restore, because someone else had changed them."""

    has_grace_period = True


class RewindActions:
    """Undo, redo and revert in the open session, with their questions to the user."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self._asked_at = -1
        """Number of the last event about restored files that was handled; -1 if there was none."""
        self._given_back_at = -1
        """Number of the newest event when a message was put back into the prompt; -1 if there was none."""
        self._picker: Picker | None = None
        """The open question that will list the planned restores, or None."""
        self._to_seq = -1
        """Number of the event for which a plan was requested."""
        self._plan_for: Callable[[tuple[str, ...]], None] | None = None
        """Function that submits the undo once the engine has planned which files to restore; None if no undo waits."""
        self._answered: frozenset[str] = frozenset()
        """Files that the user was already asked about before the undo. The user is not asked about them again."""
        self._file_choice: FileChoice | None = None
        """The open question about which files to undo, or None.

        Also None if a turn was running when the question opened.
        """
        self._undo_to: int | None = None
        """Number of the event to which the user asked to undo. If a newer turn begins, an undo goes to another event."""
        self._kept_files: tuple[KeptFilesPicker, int | None] | None = None
        """The open question about kept files, and the event to which an undo moved when the question opened."""

    def begin_session(self) -> None:
        """Close the open questions, and forget the events handled so far, because another session was opened."""
        for sheet in (self._file_choice, self._kept_files and self._kept_files[0]):
            self._close(sheet)
        self._asked_at = self._given_back_at = self._to_seq = -1
        self._picker = self._plan_for = self._file_choice = self._undo_to = self._kept_files = None
        self._answered = frozenset()

    def _close(self, sheet: FileChoice | KeptFilesPicker | None) -> None:
        """Close `sheet` without an answer, if it is still open."""
        # A fork has closed all sheets before it opens its session. `dismiss` would then close another screen.
        if sheet is not None and sheet in self._host.app.screen_stack:
            sheet.dismiss(None)

    def undo(self, argument: str = "") -> None:
        """Undo the newest turn, and put its message back into the prompt.

        `argument`: `turn N` or `N` to ask whether to undo turn N and all later turns; empty for the newest turn.
        """
        argument = f"turn {argument}" if argument.isdecimal() else argument
        if argument and not self._is_newest_turn(argument):
            self._undo_from(argument)
            return
        undo_to = self._host.views.branches.view().undo_to
        if undo_to is None:
            self._host.app.say("Nothing to undo yet.", "warning")
            return
        # A turn that continued the one before has no message.
        messages = [entry for entry in self._sent_messages() if entry.seq > undo_to]

        def submit(overwrite: tuple[str, ...]) -> None:
            self._give_back(messages)
            self._host.submit(Undo(overwrite=overwrite))

        if self._host.is_running or not (self._ran_long_call(undo_to) or self._ran_job(undo_to)):
            submit(())
            return
        self._plan_for = submit
        self._to_seq, self._host.views.restore_plan = undo_to, None
        self._host.submit(PlanRevert(to_seq=undo_to))

    def _ran_long_call(self, after: int) -> bool:
        """Return True if a tool call after event `after` took longer than `LONG_COMMAND_S`."""
        # During a long call, someone else may have changed files.
        return any(
            isinstance(entry, ToolEntry)
            and entry.seq > after
            and (entry.duration_ms or 0.0) > LONG_COMMAND_S * 1000
            for entry in self._host.views.transcript.view().entries
        )

    def _ran_job(self, after: int) -> bool:
        """Return True if a background job may have changed files since event `after`, so that an undo must ask first.

        These jobs count: running jobs, jobs that were started before the event and ended after it, and later jobs that
        ran longer than `LONG_COMMAND_S`.
        """
        entries = self._host.views.transcript.view().entries
        start = next((entry.time for entry in entries if entry.seq > after), math.inf)
        return any(
            job.ended_at is None
            or job.ended_at > (start if job.seq <= after else job.started_at + LONG_COMMAND_S)
            for job in self._host.jobs.jobs
        )

    def _ask_about_uncertain(
        self,
        planned: CheckpointPlanned | None,
        submit: Callable[[tuple[str, ...]], None],
        jobs: Sequence[str] = (),
    ) -> None:
        """Ask which files to undo if someone else may have changed some of them, or if background jobs are running.

        - `submit`: called with the paths of the chosen files; without a question, called with no paths.
        - `jobs`: commands of the background jobs to ask about.
        """
        conflicts = [] if planned is None else [change for change in planned.changes if change.conflict]
        if not jobs and not any(change.uncertain for change in conflicts):
            submit(())
            return

        def choose(paths: tuple[str, ...] | None) -> None:
            self._file_choice = None
            if paths is not None:
                self._answered = frozenset(change.path for change in conflicts)
                submit(paths)

        host = self._host
        title = "Undo this file too?" if len(conflicts) == 1 else "Undo these files too?"
        unlisted_count = 0 if planned is None else planned.unlisted_conflict_count
        sheet = FileChoice("Undo the last turn?" if jobs else title, conflicts, jobs, unlisted_count)
        sheet.covered_prompt = host.questions.cover_prompt()
        self._file_choice = None if host.is_running else sheet
        self._undo_to = host.views.branches.view().undo_to
        host.app.push_screen(sheet, choose)

    def _has_newer_turn(self) -> bool:
        """Return True if a turn started since the undo was requested."""
        return self._host.is_running or self._host.views.branches.view().undo_to != self._undo_to

    def _say_cancelled(self) -> None:
        self._host.app.say("Nothing was undone, because a new turn started.", "warning")

    def _is_newest_turn(self, argument: str) -> bool:
        turns = [
            entry.turn
            for entry in self._host.views.transcript.view().entries
            if isinstance(entry, UserEntry | TurnEntry)
        ]
        return argument == f"turn {max(turns, default=0)}"

    def _undo_from(self, argument: str) -> None:
        entries = self._host.views.transcript.view().entries
        ends = [entry for entry in entries if isinstance(entry, TurnEntry)]
        index = next((index for index, end in enumerate(ends) if argument == f"turn {end.turn}"), None)
        turn = -1 if index is None else ends[index].turn
        message = next((entry for entry in self._sent_messages() if entry.turn == turn), None)
        if index is None or (message is None and not index):
            self._host.app.say(f'No turn to undo matches "{argument}". Example: /undo turn 2.', "warning")
            return
        later = len(ends) - index - 1
        # A turn without a message continued the one before.
        to_seq = ends[index - 1].seq if message is None else message.seq - 1
        title = f"Undo {argument}" + (f" and {format_count(later, 'later turn')}" if later else "")
        self.confirm_revert(to_seq, title, message)

    def redo(self) -> None:
        """Redo the conversation that the newest undo or revert removed."""
        branches = self._host.views.branches.view()
        if branches.redo_to is not None:
            self._host.submit(Redo())
            return
        newest_reason = branches.moves[-1].reason if branches.moves else "redo"
        hint = ""
        if newest_reason in ("files", "hunk"):
            hint = " A redo is possible only until the next message. /checkpoints restores the newer files."
        elif newest_reason != "redo":
            hint = " A redo is possible only until the next message. /tree returns to the undone turns."
        self._host.app.say(f"Nothing to redo.{hint}", "warning")

    def revert(self, argument: str, *, then: Callable[[], object] = lambda: None) -> None:
        """Revert the session to the event with the number `argument`, or let the user choose a message.

        `then`: called once the user has decided.
        """
        host = self._host
        if argument:
            if not argument.isdecimal() or int(argument) > host.views.seq:
                host.app.say(f"/revert needs the number of an event, up to {host.views.seq}.", "warning")
                return
            entry = next((entry for entry in self._sent_messages() if entry.seq == int(argument) + 1), None)
            target = f"event {argument}" if entry is None else self._describe_target(entry)
            self.confirm_revert(int(argument), f"Revert to {target}", entry, then=then)
            return
        if not self._sent_messages() and not host.sessions.load_progress:
            host.app.say("Nothing to revert yet.", "warning")
            return

        def choose(value: str) -> None:
            entry = next((entry for entry in self._sent_messages() if str(entry.seq) == value), None)
            if entry is not None:
                self.confirm_revert(entry.seq - 1, f"Revert to {self._describe_target(entry)}", entry)

        picker = open_picker(host, "Revert to the point before a message", self._message_items(), choose)
        if host.sessions.load_progress:
            host.worker(self._add_older(picker), "older messages")

    def _describe_target(self, entry: UserEntry) -> str:
        return f"before “{fit(_line(entry), TITLE_CELLS, self._host.app.looks.symbols.ellipsis)}”"

    def _message_items(self) -> list[Item]:
        """Return a row for each message, newest first; the last row can show the loading progress."""
        now = self._host.app.clock()
        items = [
            Item(str(entry.seq), _line(entry), right=format_age(now - entry.time))
            for entry in reversed(self._sent_messages())
        ]
        if progress := self._host.sessions.load_progress:
            items.append(Item("", progress, offered=False))
        return items

    async def _add_older(self, picker: Picker) -> None:
        await self._host.sessions.wait_until_loaded()
        picker.set_items(self._message_items())

    def update(self) -> None:
        """Show a restore plan from the engine, and ask about files that were not restored."""
        views = self._host.views
        # The engine refused the undo, so the message still belongs to the conversation.
        if 0 <= self._given_back_at < views.refused_move_seq:
            self._given_back_at = -1
            if self._host.editor.untouched:
                self._host.editor.put_text("")
        planned = views.restore_plan
        if self._picker is not None and planned is not None and planned.to_seq == self._to_seq:
            self._picker.set_items([*_CHOICES, *_plan_items(planned)])
            self._picker = None
        if self._plan_for is not None and planned is not None and planned.to_seq == self._to_seq:
            submit, self._plan_for = self._plan_for, None
            self._undo_to = self._to_seq
            if self._has_newer_turn():
                self._say_cancelled()
            else:
                self._ask_about_uncertain(planned, submit, planned.running_jobs)
        if self._file_choice is not None and self._has_newer_turn():
            self._close(self._file_choice)
            self._say_cancelled()
        if self._kept_files is not None and (
            self._kept_files[1] != views.branches.view().undo_to or views.restore_seq > self._asked_at
        ):
            # The answer would restore files of a state that a newer undo, redo, restore or turn has left.
            picker, self._kept_files = self._kept_files[0], None
            self._close(picker)
        if views.restore_seq <= max(self._asked_at, self._host.seen_seq):
            return
        self._asked_at = views.restore_seq
        restored = views.newest_restore
        answered, self._answered = self._answered, frozenset()
        if restored is None or not restored.kept_count or views.restore_target_seq < 0:
            return
        listed = len(answered.intersection(restored.skipped_paths))
        if listed < restored.kept_count:
            self._ask_about_kept(restored, views.restore_target_seq)

    def confirm_revert(
        self,
        to_seq: int,
        title: str,
        entry: UserEntry | None = None,
        *,
        then: Callable[[], object] = lambda: None,
    ) -> None:
        """Ask whether to revert the conversation, the files or both to event `to_seq`.

        The event can be on another branch.

        - `entry`: the message that returns to the prompt
        - `then`: called once the user has decided
        """
        host = self._host

        def rewind_to_choice(value: str | None) -> None:
            self._picker = None
            if value is None:
                return
            conversation, files = value != "files", value != "conversation"

            def submit(overwrite: tuple[str, ...]) -> None:
                if conversation and entry is not None:
                    self._give_back([entry])
                host.submit(
                    Revert(to_seq=to_seq, conversation=conversation, files=files, overwrite=overwrite)
                )
                then()

            self._ask_about_uncertain(host.views.restore_plan if files else None, submit)

        checking = Item("", "checking the files …", offered=False, group="Files")
        self._picker = RevertPicker(title, [*_CHOICES, checking])
        self._picker.covered_prompt = host.questions.cover_prompt()
        self._picker.covered_prompt.is_typing = False  # The user opened the question.
        self._to_seq, host.views.restore_plan = to_seq, None
        host.app.push_screen(self._picker, rewind_to_choice)
        host.submit(PlanRevert(to_seq=to_seq))

    def _ask_about_kept(self, restored: CheckpointRestored, to_seq: int) -> None:
        """List the files that an undo or revert did not restore, and ask which to restore anyway."""
        host, count = self._host, restored.kept_count
        verb = "redo" if host.views.is_redo else "undo"
        object_, pronoun = ("it", "it") if count == 1 else ("one of them", "them")
        group = f"{verb.capitalize()} {object_} anyway"
        reasons = restored.skipped_reasons
        items = [Item("", "keep your versions", about="none of your changes is lost")]
        if count > 1:
            items.append(
                Item(ALL, f"{verb} all {format_number(count)} anyway", about="/redo restores your versions")
            )
        items += [
            Item(path, path, about=reasons.get(path, ""), group=group, is_path=True)
            for path in restored.skipped_paths
        ]
        items += [
            Item(path, path, right=format_count(files, "file"), group=group, is_path=True)
            for path, files in restored.kept_folders
        ]
        if rest := restored.unlisted_skipped_count:
            about = f"included only in “{verb} all”"
            items.append(Item("", f"and {format_count(rest, 'more file')}", about, offered=False))

        def choose(value: str | None) -> None:
            self._kept_files = None
            if value:
                host.submit(Revert(to_seq=to_seq, conversation=False, overwrite=(value,)))

        title = f"Kept {format_count(count, 'file')}"
        if not reasons:
            title = f"{title}, because {UNNAMED_AUTHOR} changed {pronoun} too"
        picker = KeptFilesPicker(title, items)
        picker.covered_prompt = host.questions.cover_prompt()
        self._kept_files = picker, host.views.branches.view().undo_to
        host.app.push_screen(picker, choose)

    def _sent_messages(self) -> list[UserEntry]:
        entries = self._host.views.transcript.view().entries
        return [entry for entry in entries if isinstance(entry, UserEntry) and entry.state == "sent"]

    def _give_back(self, entries: Sequence[UserEntry]) -> None:
        """If the prompt is empty, put the first undone message into it."""
        editor = self._host.editor
        if not entries or editor.text:
            return
        self._given_back_at = self._host.views.seq

        async def put_back() -> None:
            text = entries[0].command or await self._host.reader.read_text(entries[0].text)
            draft = editor.drafts_of_sent.get(text)
            if draft is None:
                editor.put_text(text, returned=True)
            else:
                editor.put_draft(draft, returned=True)

        self._host.worker(put_back(), "give back")


def _line(entry: UserEntry) -> str:
    return clean_line(entry.headline)


def _plan_items(planned: CheckpointPlanned) -> list[Item]:
    stopped = [
        Item("", clean_line(command), right="stopped first", offered=False, group="Running background jobs")
        for command in planned.running_jobs
    ]
    return [*stopped, *_file_items(planned)]


def _file_items(planned: CheckpointPlanned) -> list[Item]:
    if planned.unavailable:
        return [Item("", clean_line(planned.unavailable), offered=False, group="Files cannot be restored")]
    if not planned.changes and not planned.folders:
        return [Item("", "no file would change", offered=False, group=_FILES)]
    rows = [_act_item(act) for act in sorted(planned.changes, key=lambda act: bool(act.conflict))]
    for folder in planned.folders:
        for count, group in ((folder.files, _FILES), (folder.conflicts, _LEFT)):
            if count:
                about = f"also changed by {UNNAMED_AUTHOR}" if group == _LEFT else ""
                word = " removed" if group == _FILES and folder.removed == count else ""
                right = f"{format_count(count, 'file')}{word}"
                rows.append(_file_item(folder.path, group, about=about, right=right))
    rows.sort(key=lambda row: row.group == _LEFT)
    if planned.unlisted_count:
        rows.append(Item("", f"and {format_count(planned.unlisted_count, 'more file')}", offered=False))
    return rows


def _act_item(act: PlannedFileChange) -> Item:
    if act.conflict:
        return _file_item(act.path, _LEFT, about=act.conflict)
    return _file_item(act.path, _FILES, right=describe_change(act))


def _file_item(path: str, group: str, *, about: str = "", right: str = "") -> Item:
    return Item("", path, about=about, right=right, offered=False, group=group, is_path=True)
