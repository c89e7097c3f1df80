"""The only source of HTML markup for the page.

Invariant: a plain string is always escaped; only `SafeHtml` is inserted unchanged.
"""

from html import escape
from typing import TypeAlias


class SafeHtml(str):
    """HTML that needs no escaping, because this package created it."""

    __slots__ = ()


Child: TypeAlias = str | SafeHtml | None
_VOID = frozenset(("br", "hr", "img", "input", "meta", "link"))


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
