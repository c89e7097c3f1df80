"""Conversion of outputs, diffs, tables and a model's Markdown to HTML. Long outputs and long diffs are folded.

Invariant: HTML inside the Markdown is shown as text, and no picture is fetched.
"""

import base64
import re
from collections.abc import Iterator, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tui_agent.export.export_content import ExportedChange, Texts
from tui_agent.export.export_labels import AUTHORS, block_text
from tui_agent.export.html.markup import Child, SafeHtml, element, join
from tui_agent.folds.text.markdown_names import keep_names
from tui_agent.folds.text.redaction_placeholders import note_hidden_differences
from tui_agent.protocol.display_blocks import DiffBlock, DisplayBlock, ImageBlock, MarkdownBlock, TableBlock
from tui_agent.protocol.parts import image_type
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import NO_LINES, format_line_changes, format_number

_WEB = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
OUTPUT_ROWS = 8
"""Number of unfolded lines at the end of an output."""
DIFF_ROWS = 40
"""Number of unfolded lines at the start of a diff."""
MAX_OUTPUT_CHARS = 400_000
"""Maximum characters of an output in the page. The middle of a longer output is left out."""
PICTURE_BYTES = 4_000_000
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


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
        # The page's security policy forbids styles in attributes, so the alignment becomes a class.
        side = str(token.attrs.pop("style")).rpartition(":")[2]
        token.attrs["class"] = side if side in ("left", "right", "center") else ""
    elif token.type == "fence":
        token.info = "".join(token.info.split()[:1])


def block_html(shown: DisplayBlock, texts: Texts) -> SafeHtml:
    """Return one block of a tool's result as HTML."""
    match shown:
        case DiffBlock(path=path, diff=text, added=added, removed=removed):
            return diff_html(texts.clean_text(path), texts.full_text(text), line_counts_html(added, removed))
        case MarkdownBlock(text=text):
            return element("div", markdown_html(texts.full_text(text)), class_="prose")
        case TableBlock(columns=columns, rows=rows):
            return _table(columns, rows, texts)
        case ImageBlock(media_type=kind, blob_sha256=digest, name=name):
            return picture_html(kind, digest, texts.clean_text(name), texts)
        case _:
            return output_html(block_text(shown, texts))


def output_html(text: str) -> SafeHtml:
    """Return a program's output as HTML, with the last lines visible and earlier lines folded."""
    text = text.rstrip()
    if not text:
        return SafeHtml("")
    if len(text) > MAX_OUTPUT_CHARS:
        half = MAX_OUTPUT_CHARS // 2
        text = f"{text[:half]}\n… {format_number(len(text) - MAX_OUTPUT_CHARS)} characters left out …\n{text[-half:]}"
    lines = text.split("\n")
    if len(lines) <= OUTPUT_ROWS + 2:
        return element("pre", text, class_="out")
    earlier, last = lines[:-OUTPUT_ROWS], lines[-OUTPUT_ROWS:]
    folded = element(
        "details",
        element("summary", format_count(len(earlier), "earlier line")),
        element("pre", "\n".join(earlier), class_="out"),
        class_="fold",
    )
    return join(folded, element("pre", "\n".join(last), class_="out"))


def change_html(changed: ExportedChange) -> SafeHtml:
    """Return a changed file and its diff as HTML."""
    author = AUTHORS.get(changed.author, changed.author)
    if not changed.diff:
        head = element(
            "div",
            element("span", changed.path, class_="path"),
            element("span", f"{changed.note}, {author}"),
            class_="dh",
        )
        return element("figure", head, class_="diff")
    summary = join(line_counts_html(changed.added, changed.removed), element("span", author))
    return diff_html(changed.path, changed.diff, summary)


def line_counts_html(added: int, removed: int) -> SafeHtml:
    """Return the numbers of added and removed lines as HTML."""
    changes = [
        element("i", text, class_="plus" if role == "success" else "minus")
        for text, role in format_line_changes(added, removed, "−")
    ]
    return (
        join(*(part for change in changes for part in (change, SafeHtml(" "))))
        if changes
        else element("i", NO_LINES)
    )


def diff_html(path: str, text: str, summary: Child = None) -> SafeHtml:
    """Return the hunks of one file's diff as HTML. Lines after the first `DIFF_ROWS` are collapsed.

    `path`, `summary`: texts of the heading. If `path` is empty, there is no heading.
    """
    rows = list(_diff_rows(text))
    head = element("div", element("span", path, class_="path"), summary, class_="dh") if path else None
    body = element("pre", *rows[:DIFF_ROWS], class_="hunks")
    rest = rows[DIFF_ROWS:]
    folded = element(
        "details",
        element("summary", format_count(len(rest), "more line")),
        element("pre", *rest, class_="hunks"),
        class_="fold",
    )
    return element("figure", head, body if rows else None, folded if rest else None, class_="diff")


def _diff_rows(text: str) -> Iterator[SafeHtml]:
    old = new = 0
    first = True
    for line in note_hidden_differences(text).rstrip("\n").split("\n") if text else []:
        hunk = _HUNK.match(line)
        if hunk:
            old, new = int(hunk[1]), int(hunk[2])
            if not first:
                yield element("span", "⋯", class_="l gap")
        elif line.startswith("+"):
            yield element("span", line[1:] or " ", class_="l add", data_n=new)
            new += 1
        elif line.startswith("-"):
            yield element("span", line[1:] or " ", class_="l del", data_n=old)
            old += 1
        elif line.startswith("\\"):
            yield element("span", line[2:], class_="l gap")
        else:
            yield element("span", line[1:] or " ", class_="l", data_n=new)
            old, new = old + 1, new + 1
        first = False


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], texts: Texts) -> SafeHtml:
    head = element("tr", *(element("th", texts.clean_text(name)) for name in columns))
    body = (element("tr", *(element("td", texts.clean_text(cell)) for cell in row)) for row in rows)
    return element("div", element("table", element("thead", head), element("tbody", *body)), class_="prose")


def picture_html(kind: str, digest: str, name: str, texts: Texts) -> SafeHtml:
    """Return an embedded picture as HTML, or its name if the picture is missing, too large or of an unsupported
    type.
    """
    data = texts.image(digest)
    # The type is checked again, because a browser could run a script in a file of another type, such as SVG.
    if data is None or len(data) > PICTURE_BYTES or not kind or image_type(data) != kind:
        return element("p", name or "a picture", class_="aside")
    encoded = base64.b64encode(data).decode()
    return element("img", src=f"data:{kind};base64,{encoded}", alt=name or "picture", loading="lazy")
