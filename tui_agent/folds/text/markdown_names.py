"""A rule for Markdown parsers: names such as `__init__` and formulas such as `2*3*4` are text, not emphasis."""

import re
from typing import Any

_DUNDER_NAME = re.compile(r"(?<!\w)__[a-z0-9]+(?:_[a-z0-9]+)*__(?!\w)")
_PRODUCT_SIGN = re.compile(r"(?<=\w)\*(?=\w)")


def keep_names(parser: Any) -> None:
    """Add the rule to a `markdown_it.MarkdownIt` parser."""
    parser.inline.ruler.before("emphasis", "names", _read_name)


def _read_name(state: Any, silent: bool) -> bool:
    match = _DUNDER_NAME.match(state.src, state.pos) or _PRODUCT_SIGN.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        state.pending += match[0]
    state.pos = match.end()
    return True
