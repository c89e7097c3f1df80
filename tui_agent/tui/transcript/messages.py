"""Messages of the transcript to the app.

Invariant: they say what the user did, never what to do about it. An address in `LinkClicked` is the real one, as shown on the screen.
"""

from dataclasses import dataclass

from textual.message import Message

from tui_agent.protocol.base import BlobText


@dataclass
class EntryAction(Message):
    """An action of an entry was pressed: `fork`, `revert`, `diff`, `undo`."""

    entry_id: str
    action: str


@dataclass
class LinkClicked(Message):
    """A link was pressed."""

    address: str


@dataclass
class BlobWanted(Message):
    """A long text is on the screen but only its preview is loaded. Call `blob_loaded` when the rest can be read."""

    blob: BlobText


@dataclass
class TextSelected(Message):
    """The mouse was released on a selection; `text` is its source."""

    text: str
