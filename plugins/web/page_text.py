"""The text of a page: HTML as Markdown, other text as it is.

The functions block: call them in a thread.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from tui_agent.plugin_api import ToolError, escape_unprintable, format_bytes, install_hint

from .page_client import Page

HTML = ("text/html", "application/xhtml+xml", "")
TEXT = (
    "application/json",
    "application/xml",
    "application/javascript",
    "application/yaml",
    "application/x-yaml",
)
LEFT_OUT = (
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "iframe",
    "head",
    "nav",
    "form",
    "button",
    "img",
)


@dataclass(frozen=True, slots=True)
class PageText:
    """A page's title and text; `is_markdown` is True if the text was made from HTML."""

    title: str
    text: str
    is_markdown: bool


def read_page_text(page: Page) -> PageText:
    """Return a page's text; raise `ToolError` if the page is not text, or if a package is missing."""
    kind = page.content_type
    if kind in HTML:
        return _read_html(page)
    if kind.startswith("text/") or kind in TEXT or kind.endswith(("+json", "+xml")):
        return PageText("", _clean(page.body.decode(_codec(page.charset), "replace")), False)
    raise ToolError(f"{page.address} is not text but {kind} ({format_bytes(len(page.body))}).")


def _read_html(page: Page) -> PageText:
    try:
        # These packages are not always installed: they belong to the extra `web`.
        from bs4 import BeautifulSoup  # noqa: PLC0415
        from markdownify import ATX, MarkdownConverter  # noqa: PLC0415
    except ImportError as error:
        raise ToolError(
            "Reading web pages needs the extra `web`.",
            hint=f"Tell the user. {install_hint('web')}",
        ) from error
    soup: Any = BeautifulSoup(page.body, "html.parser", from_encoding=page.charset or None)
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    for element in soup.find_all(LEFT_OUT):
        element.decompose()
    main = soup.find("main") or soup.find("article") or soup.body or soup
    for link in main.find_all("a", href=True):
        link["href"] = _resolve_link(page.address, str(link["href"]))
    try:
        text = MarkdownConverter(heading_style=ATX, bullets="-", escape_underscores=False).convert_soup(main)
    except RecursionError:
        text = main.get_text("\n", strip=True)
    return PageText(title, _clean(text), True)


def _resolve_link(address: str, link: str) -> str:
    try:
        return urljoin(address, link)
    except ValueError:
        return link


def _clean(text: str) -> str:
    """Escape unprintable characters, remove trailing blanks, and merge consecutive empty lines."""
    lines: list[str] = []
    for line in text.splitlines():
        line = escape_unprintable(line.rstrip().replace("\t", "    "))
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip("\n")


def _codec(charset: str) -> str:
    try:
        "".encode(charset or "utf-8")
    except LookupError:
        return "utf-8"
    return charset or "utf-8"
