"""Which characters the Markdown of an answer keeps."""

import pytest

from tui_agent.export.html.blocks import markdown_html
from tui_agent.tui.transcript.inline_markdown import parser


@pytest.mark.parametrize(
    "text",
    [
        "src/click/__init__.py",
        "if __name__ == x",
        "all of __all__, and __a_b__",
        "2*3*4",
        "*args and **kwargs",
    ],
)
def test_names_and_products_are_shown_as_written(text: str) -> None:
    inline = parser().parseInline(text)[0].children or []
    assert "".join(child.content for child in inline) == text
    assert markdown_html(text) == f"<p>{text}</p>\n"


@pytest.mark.parametrize("text", ["__Note:__ read this", "**bold**", "*a b*", "a **b**c"])
def test_emphasis_still_works(text: str) -> None:
    assert any(token.nesting for token in parser().parseInline(text)[0].children or [])
