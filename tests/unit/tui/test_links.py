"""S14: what a link shows is where it leads, and only an address of the web that hides nothing can be opened."""

import pytest

from tests.unit.tui.test_context_pane import LOOKS
from tui_agent.tui.links import address_of
from tui_agent.tui.transcript.markdown import Place
from tui_agent.tui.transcript.markdown_stream import MarkdownStream
from tui_agent.tui.transcript.output_rows import output_lines, show_addresses
from tui_agent.tui.transcript.style import Look

LOOK = Look(LOOKS.palette, LOOKS.symbols, 120)


def drawn(markdown: str) -> tuple[str, list[str]]:
    """What stands there, and what can be opened."""
    made = MarkdownStream(LOOK, Place((), ()))
    made.update(markdown, done=True)
    runs = [run for row in made.rows for run in row.runs]
    acts = dict.fromkeys(run.act.removeprefix("link:") for run in runs if run.act.startswith("link:"))
    return "".join(run.text for run in runs).strip(), list(acts)


@pytest.mark.parametrize(
    ("written", "shown", "host"),
    [
        ("https://example.com/a?b=c#d", "https://example.com/a?b=c#d", "example.com"),
        ("HTTPS://Example.com", "HTTPS://Example.com", "example.com"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/", "127.0.0.1"),
        ("http://[::1]:8000/", "http://[::1]:8000/", "::1"),
        ("https://[2001:db8::1]/x", "https://[2001:db8::1]/x", "2001:db8::1"),
        ("https://good.com@evil.example/", "https://good.com@evil.example/", "evil.example"),
        ("https://аррӏе.com/x", "https://xn--80ak6aa92e.com/x", "xn--80ak6aa92e.com"),
        ("https://u@bücher.example:81/", "https://u@xn--bcher-kva.example:81/", "xn--bcher-kva.example"),
    ],
)
def test_an_address_is_shown_with_the_host_that_is_looked_up(written: str, shown: str, host: str) -> None:
    assert address_of(written) == (shown, host, True)


@pytest.mark.parametrize(
    "written",
    [
        "javascript:alert(1)", "file:///etc/passwd", "mailto:a@b.example", "data:text/html,x", "vscode://open?x", "ssh://h",
        "//evil.example/x", "https:evil.example", "https:/\\evil.example", "https://good.com\\@evil.example", "https://",
        "https://a b.example", "https://e\u202evil.example", "https://e.example/\u200bx", "https://e.example/\x1b[2J",
        "https://[::1", "ht\ttps://e.example", "./a.py", "#top", "",
    ],
)  # fmt: skip
def test_nothing_else_can_be_opened(written: str) -> None:
    assert not address_of(written).opens


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("[https://good.com](https://evil.example)", "https://good.com (https://evil.example)"),
        ("[a](https://аррӏе.com)", "a (https://xn--80ak6aa92e.com)"),
        ("<https://аррӏе.com>", "https://аррӏе.com (https://xn--80ak6aa92e.com)"),
        ("<https://example.com>", "https://example.com"),
        ("![pic](https://evil.example/?q=secret)", "pic (https://evil.example/?q=secret)"),
        ('[a](<https://e.example/x> "https://good.com")', "a (https://e.example/x)"),
        ("[a]( https://e.example/&#x202e;gnp)", "a (https://e.example/<U+202E>gnp)"),
        ("[a][1]\n\n[1]: https://evil.example", "[a][1][1]: https://evil.example"),
        ("a &#x202e;b&#x200b;c&#xE0041;d&#13;e", "a bcd e"),
        ("`\u202ex`", "x"),
    ],
)
def test_markdown_shows_where_links_lead_and_hides_nothing(markdown: str, shown: str) -> None:
    assert " ".join(drawn(markdown)[0].split()) == shown


def test_only_addresses_of_the_web_are_alive_in_markdown() -> None:
    text = "[a](https://ok.example) [b](javascript:x) [c](file:///etc/passwd) [d](mailto:x@y) [e](src/a.py) <ssh://h>"
    assert drawn(text)[1] == ["https://ok.example"]


@pytest.mark.parametrize("end", ["\x07", "\x1b\\", "\x9c"])
@pytest.mark.parametrize("begin", ["\x1b]", "\x9d"])
def test_links_in_the_output_of_programs_show_where_they_lead(begin: str, end: str) -> None:
    raw = f"see {begin}8;id=1;https://evil.example{end}https://good.com{begin}8;;{end} and more"
    [runs] = output_lines(raw, LOOK)
    assert "".join(run.text for run in runs) == "see https://good.com (https://evil.example) and more"
    assert not [run for run in runs if run.act]


def test_a_link_without_an_end_or_within_another_shows_where_it_leads_too() -> None:
    assert show_addresses("\x1b]8;;http://a.example\x07one\x1b]8;;http://b.example\x07two") == (
        "one (http://a.example)two (http://b.example)"
    )
    assert show_addresses("\x1b]8;;http://a.example\x07http://a.example\x1b]8;;\x07") == "http://a.example"
