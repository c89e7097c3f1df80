"""Inline Markdown, such as emphasis and links, as styled runs with their offsets in the source.

Invariant: only web addresses can be clicked, and HTML and images are shown as text.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.style import Style

from tui_agent.folds.text.markdown_names import keep_names
from tui_agent.tui.links import Address, address_of
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.style import Look
from tui_agent.tui.transcript.styled_rows import TextRun
from tui_agent.tui.untrusted_text import clean_line

if TYPE_CHECKING:  # slow, loaded with the first Markdown text
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


@lru_cache(maxsize=1)
def parser() -> "MarkdownIt":
    """Return the Markdown parser: CommonMark with tables and strikethrough, without HTML and reference definitions."""
    # A reference definition at the end of a streamed text would change links above it.
    from markdown_it import MarkdownIt  # noqa: PLC0415

    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    markdown.disable(["reference", "html_block", "html_inline"])
    keep_names(markdown)
    # A refused address (javascript:) must stay visible as a link that cannot be clicked, not vanish.
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    markdown.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return markdown


class InlineRenderer:
    """Converts inline tokens of the Markdown parser to lines of runs; a line ends at a hard break."""

    def __init__(self, look: Look, role: Role = "t1", *, bold: bool = False) -> None:
        self._look = look
        self._role: Role = role
        self._bold = bold

    def lines(self, token: "Token", locate: Callable[[int], int]) -> list[list[TextRun]]:
        """Return the lines of an inline token.

        `locate`: maps an offset in the token's content to an offset in the source.
        """
        content = token.content
        lines: list[list[TextRun]] = [[]]
        children = token.children or []
        if len(children) == 1 and children[0].type == "text" and children[0].content == content:
            return [[TextRun(content, self._style(), locate(0))]]
        offset, strong, struck = 0, 0, 0
        link: Address | None = None
        label: list[str] = []
        for child in children:
            match child.type:
                case "text" | "text_special" | "code_inline":
                    start = content.find(child.content, offset)
                    if start < 0:  # An entity or an escape: its text is not in the source.
                        start = offset
                    else:
                        offset = start + len(child.content)
                    style = self._style(strong=strong > 0, struck=struck > 0, linked=link is not None)
                    shown = clean_line(child.content)
                    if child.type == "code_inline":
                        lines[-1].extend(self._code(shown, locate(start), link))
                    elif shown:
                        lines[-1].append(TextRun(shown, style, locate(start), _act(link)))
                    label.append(shown)
                case "strong_open" | "strong_close":
                    strong += child.nesting
                case "s_open" | "s_close":
                    struck += child.nesting
                case "softbreak":
                    offset = content.find("\n", offset) + 1 or offset
                    lines[-1].append(TextRun(" ", self._style(), locate(max(offset - 1, 0)), _act(link)))
                case "hardbreak":
                    offset = content.find("\n", offset) + 1 or offset
                    lines.append([])
                case "link_open":
                    link, label = address_of(str(child.attrGet("href") or "")), []
                case "link_close":
                    if link is not None:
                        lines[-1].extend(self._address(link, "".join(label), locate(offset)))
                    link = None
                case "image":
                    source = address_of(str(child.attrGet("src") or ""))
                    lines[-1].append(
                        TextRun(clean_line(child.content) or "image", self._style(), locate(offset))
                    )
                    lines[-1].extend(self._address(source, "", locate(offset)))
                case _:
                    pass
        return lines

    def _style(self, *, strong: bool = False, struck: bool = False, linked: bool = False) -> Style:
        role: Role = "t3" if struck else self._role
        return self._look.style(role, bold=strong or self._bold, underline=linked)

    def _code(self, text: str, src: int, link: Address | None) -> list[TextRun]:
        palette = self._look.palette
        if palette.mode != "full" or palette.theme.colors["sunk"] == palette.theme.colors["s0"]:
            # Without background colours, only the Markdown marks distinguish code from prose.
            text, src = f"`{text}`", max(src - 1, 0) if src >= 0 else src
        style = palette.style(self._role, "sunk", bold=self._bold, underline=link is not None)
        return [TextRun(text, style, src, _act(link))]

    def _address(self, address: Address, label: str, src: int) -> list[TextRun]:
        text = address.text
        if not text or label in (text, text.removeprefix("mailto:")):
            return []
        return [TextRun(f" ({text})", self._look.style("t3"), src, _act(address))]


def _act(link: Address | None) -> str:
    return f"link:{link.text}" if link is not None and link.opens else ""
