"""Conversion of a model's Markdown to HTML.

Invariant: HTML inside the Markdown is shown as text, and no picture is fetched.
"""

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tui_agent.export.html.markup import SafeHtml
from tui_agent.folds.text.markdown_names import keep_names

_WEB = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline", "image"])
    keep_names(parser)
    parser.validateLink = lambda url: _WEB.match(url.strip()) is not None  # type: ignore[method-assign]
    return parser


def markdown_html(text: str) -> SafeHtml:
    """Convert a model's Markdown to HTML."""
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        _restrict_token(token)
        for child in token.children or []:
            _restrict_token(child)
    return SafeHtml(parser.renderer.render(tokens, parser.options, {}))


def _restrict_token(token: Token) -> None:
    if token.type == "link_open":
        token.attrs["rel"] = "noreferrer noopener nofollow"
        token.attrs["target"] = "_blank"
    elif token.type in ("th_open", "td_open") and "style" in token.attrs:
        side = str(token.attrs.pop("style")).rpartition(":")[2]
        token.attrs["class"] = side if side in ("left", "right", "center") else ""
    elif token.type == "fence":
        token.info = "".join(token.info.split()[:1])
