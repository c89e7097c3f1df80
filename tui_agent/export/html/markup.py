"""The only source of HTML markup, and a plain page for graphs and tables.

Invariant: a plain string is always escaped; only `SafeHtml` is inserted unchanged. A plain page needs no network and
runs no script.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, TypeAlias

_VOID = frozenset(("br", "hr", "img", "input", "meta", "link"))
COLOURS: Final = """\
:root { color-scheme: light dark; --text: #1d2126; --dim: #5d6570; --line: #0b57b8; --area: #dfe9f7; --rule: #d8d4ca; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ee; --dim: #98a2b0; --line: #86b7ff; --area: #1e2c40; --rule: #323a46; }
}
text { fill: var(--dim); font: 12px system-ui, sans-serif; }
"""
_PAGE_STYLE: Final = """\
body { margin: 32px auto; max-width: 920px; padding: 0 20px; color: var(--text); font: 15px/1.6 system-ui, sans-serif; }
h1 { font-size: 20px; } svg { width: 100%; height: auto; }
table { border-collapse: collapse; } td, th { padding: 3px 14px 3px 0; text-align: left; }
td { font-variant-numeric: tabular-nums; } p, th { color: var(--dim); font-weight: 400; }
"""


class SafeHtml(str):
    """HTML that needs no escaping, because this package created it."""

    __slots__ = ()


Child: TypeAlias = str | SafeHtml | None


def element(tag: str, *children: Child, **attributes: str | float | bool | None) -> SafeHtml:
    """Return an HTML element. Attributes that are None or False are left out.

    Write `class_` for the attribute `class`, and `data_kind` for `data-kind`.
    """
    parts = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        parts.append(name if value is True else f'{name}="{escape(str(value))}"')
    if tag in _VOID:
        return SafeHtml(f"<{' '.join(parts)}>")
    return SafeHtml(f"<{' '.join(parts)}>{join(*children)}</{tag}>")


def join(*children: Child, between: str = "") -> SafeHtml:
    """Join children, escaped unless they are `SafeHtml`, with `between` between them."""
    return SafeHtml(
        between.join(child if isinstance(child, SafeHtml) else escape(child) for child in children if child)
    )


def plain_page(title: str, style: str, *body: Child) -> str:
    """Return a page with a title as its heading; `style` is CSS for the elements in `body`."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
        ),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", SafeHtml(COLOURS + style + _PAGE_STYLE)),
    )
    page = element("html", head, element("body", element("h1", title), *body), lang="en")
    return f"<!doctype html>\n{page}\n"


def html_table(head: Sequence[str], rows: Iterable[Sequence[Child]]) -> SafeHtml:
    """Return an HTML table."""
    return element(
        "table",
        element("tr", *(element("th", name) for name in head)),
        *(element("tr", *(element("td", cell) for cell in row)) for row in rows),
    )
