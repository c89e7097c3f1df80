"""Going back and forth in time: which message, what goes back, what that would do, and what was left alone.

Invariant: nothing is put back that was not shown before; what someone else changed too is asked about by its name.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events

from tui_agent.folds.transcript.entries import UserEntry
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.commands import PlanRevert, Redo, Revert, Undo
from tui_agent.protocol.events.files import CheckpointPlanned, PlannedAct
from tui_agent.tui.controller.host import SessionHost
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.text import clean_line
from tui_agent.units import format_elapsed

ALL = "*"
SHOWN = 12
_WAYS = (
    ("both", "conversation and files", "nothing is lost: /redo comes back"),
    ("conversation", "conversation only", "files stay as they are"),
    ("files", "files only", "the conversation goes on"),
)


class LeftAlone(Picker):
    """Opens by itself, under the hands of someone who may be writing: what they typed ahead goes to the prompt."""

    deaf: ClassVar[bool] = True
    spare: Callable[[events.Paste], object] | None = None
    """Takes a text that was pasted too early."""

    def on_paste(self, event: events.Paste) -> None:
        if self.deaf_now and self.spare is not None:
            event.stop()
            event.prevent_default()
            self.spare(events.Paste(event.text))


class RewindActions:
    """What the user is asked on the way back."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self._asked_at = -1
        self._picker: Picker | None = None
        self._to_seq = -1

    def undo(self) -> None:
        """Take the newest turn back; its message returns to the prompt."""
        if self._host.views.branches.view().undo_to is None:
            self._host.app.say("There is nothing to take back: nothing was said yet.", "warning")
            return
        self._give_back(self._said()[-1:])
        self._host.submit(Undo())

    def redo(self) -> None:
        """Take the newest undo or revert back."""
        if self._host.views.branches.view().redo_to is None:
            self._host.app.say("Nothing was taken back that could come again.", "warning")
            return
        self._host.submit(Redo())

    def revert(self, argument: str, *, then: Callable[[], object] = lambda: None) -> None:
        """Go back to an event, or choose a message to go back to; `then` as for `go`."""
        host = self._host
        if argument:
            if not argument.isdecimal() or int(argument) > host.views.seq:
                host.app.say(f"/revert takes the number of an event, up to {host.views.seq}.", "warning")
                return
            entry = next((one for one in self._said() if one.seq == int(argument) + 1), None)
            where = f"event {argument}" if entry is None else f"before “{_line(entry)[:40]}”"
            self.go(int(argument), f"Go back to {where}", entry, then=then)
            return
        if not self._said() and not host.sessions.older:
            host.app.say("There is nothing to go back to: nothing was said yet.", "warning")
            return

        def chosen(value: str | None) -> None:
            entry = next((one for one in self._said() if str(one.seq) == value), None)
            if entry is not None:
                self.go(entry.seq - 1, f"Go back to before “{_line(entry)[:40]}”", entry)

        picker = Picker(lambda: host.app.looks, "Back to before which message?", self._messages())
        host.app.push_screen(picker, chosen)
        if host.sessions.older:
            host.worker(self._add_older(picker), "older messages")

    def _messages(self) -> list[Item]:
        """What can be gone back to, newest first; the last row says what is not known yet."""
        now = self._host.app.clock()
        items = [
            Item(str(one.seq), _line(one), right=f"{format_elapsed(now - one.at)} ago")
            for one in reversed(self._said())
        ]
        if older := self._host.sessions.older:
            items.append(Item("", older, offered=False))
        return items

    async def _add_older(self, picker: Picker) -> None:
        await self._host.sessions.known()
        if picker.is_attached:
            picker.set_items(self._messages())

    def look(self) -> None:
        """New views: a plan that was asked for has come, or files were left alone."""
        views = self._host.views
        planned = views.planned
        if self._picker is not None and planned is not None and planned.to_seq == self._to_seq:
            self._picker.set_items([*_ways(), *_planned(planned)])
            self._picker = None
        if views.kept_at <= max(self._asked_at, self._host.seen_seq):
            return
        self._asked_at = views.kept_at
        if views.kept and views.kept_to >= 0:
            self._ask_of_kept(views.kept, views.kept_to)

    def go(
        self,
        to_seq: int,
        title: str,
        entry: UserEntry | None = None,
        *,
        then: Callable[[], object] = lambda: None,
    ) -> None:
        """Go to an event, on whichever branch: both, or one of them alone; below, what would happen to which file.

        `entry` is the message that is taken back with it; `then` is called once it was decided to go.
        """
        host = self._host

        def chosen(value: str | None) -> None:
            self._picker = None
            if value is None:
                return
            if value != "files" and entry is not None:
                self._give_back([entry])
            host.submit(Revert(to_seq=to_seq, conversation=value != "files", files=value != "conversation"))
            then()

        looking = Item("", "looking at the files …", offered=False, group="Files")
        self._picker = Picker(lambda: host.app.looks, title, [*_ways(), looking])
        self._to_seq, host.views.planned = to_seq, None
        host.app.push_screen(self._picker, chosen)
        host.submit(PlanRevert(to_seq=to_seq))

    def _ask_of_kept(self, kept: tuple[str, ...], to_seq: int) -> None:
        """Files were left alone since someone else had changed them too: ask of each whether to put it back as well."""
        host = self._host
        items = [Item("", "leave them as they are", about="nothing of yours is lost")]
        if len(kept) > 1:
            items.append(Item(ALL, f"put all {len(kept)} back too", about="/redo brings yours again"))
        items += [
            Item(path, path, about="put this one back too", group="You changed it too") for path in kept
        ]

        def chosen(value: str | None) -> None:
            if value:
                overwrite = kept if value == ALL else (value,)
                host.submit(Revert(to_seq=to_seq, conversation=False, overwrite=overwrite))

        picker = LeftAlone(lambda: host.app.looks, "Left alone", items)
        picker.ahead, picker.spare = host.questions.ahead(), host.frame.prompt.editor.post_message
        host.app.push_screen(picker, chosen)

    def _said(self) -> list[UserEntry]:
        """What the user said on this branch, oldest first."""
        entries = self._host.views.transcript.view().entries
        return [one for one in entries if isinstance(one, UserEntry) and one.state == "sent"]

    def _give_back(self, entries: Sequence[UserEntry]) -> None:
        """The words of a message that is taken back return to an empty prompt, to be changed and sent again."""
        editor = self._host.frame.prompt.editor
        if not entries or editor.text:
            return

        async def put() -> None:
            editor.put(await self._host.reader.read_text(entries[0].text), returned=True)

        self._host.worker(put(), "give back")


def _line(entry: UserEntry) -> str:
    return clean_line(text_preview(entry.text)) or "(a picture)"


def _ways() -> list[Item]:
    return [Item(value, label, about=about) for value, label, about in _WAYS]


def _planned(planned: CheckpointPlanned) -> list[Item]:
    """The files that would be put back, as rows that cannot be chosen."""
    if planned.unavailable:
        return [Item("", clean_line(planned.unavailable), offered=False, group="Files cannot be put back")]
    if not planned.acts:
        return [Item("", "no file would change", offered=False, group="Files")]
    rows = [_act(act) for act in planned.acts[:SHOWN]]
    rest = len(planned.acts) - len(rows) + planned.more
    if rest:
        rows.append(Item("", f"and {rest} more", offered=False, group="Files"))
    return rows


def _act(act: PlannedAct) -> Item:
    counts = " ".join(f"{sign}{count}" for sign, count in (("+", act.added), ("−", act.removed)) if count)
    words = {"create": "comes again", "remove": "goes", "write": counts, "mode": "mode"}[act.act]
    about = f"left alone: {act.conflict}" if act.conflict else words
    return Item("", act.path, about=about, right=counts if act.conflict else "", offered=False, group="Files")
