"""Textual messages that the transcript posts to the app.

Invariant: a message describes the user's action, and the app decides how to react.
"""

from dataclasses import dataclass

from textual.message import Message

from tui_agent.protocol.stored_text import BlobText


@dataclass
class EntryAction(Message):
    """The user ran an action of a transcript entry: `fork`, `revert`, `diff` or `undo`."""

    entry_id: str
    action: str


@dataclass
class LinkClicked(Message):
    """The user clicked a link in the transcript."""

    address: str


@dataclass
class BlobWanted(Message):
    """A long text is visible, but only its preview is loaded. The app reads the text and then calls `blob_loaded`."""

    blob: BlobText


@dataclass
class TextSelected(Message):
    """The user selected a text with the mouse; `text` is the source of the selection."""

    text: str
