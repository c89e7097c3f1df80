"""Markdown of a model as HTML.

Invariant: no HTML of it is live, no picture is fetched, and a link leads only to the web or to a mail address.
"""

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tui_agent.export.html.markup import Safe

_WEB = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.disable(["html_block", "html_inline", "image"])
    made.validateLink = lambda url: _WEB.match(url.strip()) is not None  # type: ignore[method-assign]
    return made


def prose(text: str) -> Safe:
    """The text as HTML."""
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        _tame(token)
        for child in token.children or []:
            _tame(child)
    return Safe(parser.renderer.render(tokens, parser.options, {}))


def _tame(token: Token) -> None:
    if token.type == "link_open":
        token.attrs["rel"] = "noreferrer noopener nofollow"
        token.attrs["target"] = "_blank"
    elif token.type in ("th_open", "td_open") and "style" in token.attrs:
        side = str(token.attrs.pop("style")).rpartition(":")[2]
        token.attrs["class"] = side if side in ("left", "right", "center") else ""
    elif token.type == "fence":
        token.info = "".join(token.info.split()[:1])
