"""What a message of the user mentions, as it was found when the message was sent."""

from typing import Literal, TypeAlias

from tui_agent.protocol.base import Frozen, LongText
from tui_agent.protocol.parts import ImageContent

MentionKind: TypeAlias = Literal["file", "directory", "symbol", "image", "refused", "missing"]


class Mention(Frozen):
    """One mention. `given` is what stands in the message, `path` where it was found, seen from the workspace; `text` is
    what the model is sent of it, `sha256` of the file's own bytes.

    `first_line` and `last_line` (from 1) where only a part was asked for or shown; `cut`: there is more than was sent.
    A `refused` or `missing` one is left as text, and `note` says why.
    """

    given: str
    kind: MentionKind
    path: str = ""
    first_line: int = 0
    last_line: int = 0
    sha256: str = ""
    size: int = 0
    tokens: int = 0
    cut: bool = False
    note: str = ""
    text: LongText = ""
    image: ImageContent | None = None

    @property
    def whole(self) -> bool:
        """The model is sent all of a file."""
        return self.kind == "file" and not self.cut and not self.first_line
