"""L7: actions that go back and forth in time: undo, redo, revert to a message or an event, with the files or without."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent.folds.entries import UserEntry
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.commands import Redo, Revert, Undo
from tui_agent.tui import units
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    from tui_agent.tui.live import Live

ALL = "*"


def undo(live: "Live", argument: str) -> None:
    """Take the newest turn back; its message returns to the prompt."""
    if live.views.branches.view().undo_to is None:
        live.app.say("There is nothing to take back: nothing was said yet.", "warning")
        return
    _give_back(live, _messages(live)[-1:])
    live.submit(Undo())


def redo(live: "Live", argument: str) -> None:
    """Take the newest undo or revert back."""
    if live.views.branches.view().redo_to is None:
        live.app.say("Nothing was taken back that could come again.", "warning")
        return
    live.submit(Redo())


def revert(live: "Live", argument: str) -> None:
    """Go back to an event, or choose a message to go back to."""
    if argument:
        if not argument.isdecimal() or int(argument) > live.views.seq:
            live.app.say(f"/revert takes the number of an event, up to {live.views.seq}.", "warning")
            return
        _how(live, int(argument), f"event {argument}")
        return
    said = _messages(live)
    if not said:
        live.app.say("There is nothing to go back to: nothing was said yet.", "warning")
        return
    now = live.app.clock()
    items = [
        Item(str(entry.seq), _line(entry), right=f"{units.elapsed(now - entry.at)} ago")
        for entry in reversed(said)
    ]

    def chosen(value: str | None) -> None:
        entry = next((one for one in said if str(one.seq) == value), None)
        if entry is not None:
            _how(live, entry.seq - 1, f"before “{_line(entry)[:40]}”", entry)

    live.app.push_screen(Picker(lambda: live.app.looks, "Back to before which message?", items), chosen)


def _how(live: "Live", to_seq: int, where: str, entry: UserEntry | None = None) -> None:
    """Both, or one of them alone."""
    items = [
        Item("both", "conversation and files", about="nothing is lost: /redo comes back"),
        Item("conversation", "conversation only", about="files stay as they are"),
        Item("files", "files only", about="the conversation goes on"),
    ]

    def chosen(value: str | None) -> None:
        if value is None:
            return
        if value != "files" and entry is not None:
            _give_back(live, [entry])
        live.submit(Revert(to_seq=to_seq, conversation=value != "files", files=value != "conversation"))

    live.app.push_screen(Picker(lambda: live.app.looks, f"Go back to {where}", items), chosen)


def _messages(live: "Live") -> list[UserEntry]:
    """What the user said on this branch, oldest first."""
    entries = live.views.transcript.view().entries
    return [one for one in entries if isinstance(one, UserEntry) and one.state == "sent"]


def _line(entry: UserEntry) -> str:
    return clean_line(text_preview(entry.text)) or "(a picture)"


def _give_back(live: "Live", entries: list[UserEntry]) -> None:
    """The words of a message that is taken back return to an empty prompt, to be changed and sent again."""
    if not entries or live.app.prompt.editor.text:
        return

    async def put() -> None:
        live.app.prompt.editor.put(await live.reading.read_text(entries[0].text))

    live.worker(put(), "give back")


def ask_of_kept(live: "Live", kept: tuple[str, ...], to_seq: int) -> None:
    """Files were left alone since someone else had changed them too: ask of each whether to put it back as well."""
    items = [Item("", "leave them as they are", about="nothing of yours is lost")]
    if len(kept) > 1:
        items.append(Item(ALL, f"put all {len(kept)} back too", about="/redo brings yours again"))
    items += [
        Item(path, path, about="put this one back too", group="Changed by you as well") for path in kept
    ]

    def chosen(value: str | None) -> None:
        if not value:
            return
        overwrite = kept if value == ALL else (value,)
        live.submit(Revert(to_seq=to_seq, conversation=False, overwrite=overwrite))

    live.app.push_screen(Picker(lambda: live.app.looks, "Left alone", items), chosen)


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {"undo": undo, "redo": redo, "revert": revert}
