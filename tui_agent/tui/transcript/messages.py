"""Textual messages that the transcript posts to the app.

Invariant: a message says what the user did, never how to react. The address in `LinkClicked` is the real one, as
shown on the screen.
"""

from dataclasses import dataclass

from textual.message import Message

from tui_agent.protocol.base import BlobText


@dataclass
class EntryAction(Message):
    """The user activated an action of an entry: `fork`, `revert`, `diff` or `undo`."""

    entry_id: str
    action: str


@dataclass
class LinkClicked(Message):
    """The user clicked a link."""

    address: str


@dataclass
class BlobWanted(Message):
    """A long text is visible but only its preview is loaded. Call `blob_loaded` once the rest can be read."""

    blob: BlobText


@dataclass
class TextSelected(Message):
    """The user released the mouse after selecting text; `text` is the source of the selection."""

    text: str
