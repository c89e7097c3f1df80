"""Mentions in a user's message, as resolved when the message was sent."""

from typing import Literal, TypeAlias

from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.parts import ImageContent
from tui_agent.protocol.stored_text import LongText

MentionKind: TypeAlias = Literal["file", "directory", "symbol", "image", "resource", "refused", "missing"]
MENTION = "@"
"""Name of a pseudo-command for `Session.complete`. It completes mentions of resources."""
REFUSED_MENTIONS = "@refused"
"""Name of a pseudo-command for `Session.complete`. It takes the paths of mentioned files, one a line, and returns those
that the policy does not let a message send."""


class Mention(FrozenModel):
    """A mention in a user's message, such as `@src/app.py`: a file, a symbol or a resource of an MCP server.

    `reference`: text in the message. `path`: mentioned file, relative to the workspace. `text`: content sent to the
    model. `sha256`: digest of the whole file. `first_line`, `last_line`: lines from 1, if only a part was requested or
    shown. `truncated`: True if the content was longer. If the mention is `refused` or `missing`, it stays plain text,
    and `note` says why.
    """

    reference: str
    kind: MentionKind
    path: str = ""
    first_line: int = 0
    last_line: int = 0
    sha256: str = ""
    size: int = 0
    tokens: int = 0
    truncated: bool = False
    note: str = ""
    text: LongText = ""
    image: ImageContent | None = None

    @property
    def is_whole_file(self) -> bool:
        """True if the model gets the complete file, and not only some of its lines."""
        return self.kind == "file" and not self.truncated and not self.first_line
