"""The only maker of markup. Invariant: a plain string is escaped wherever it goes; only `Safe` passes as it is."""

from html import escape
from typing import TypeAlias


class Safe(str):
    """Markup that this package made."""

    __slots__ = ()


Child: TypeAlias = str | Safe | None
_VOID = frozenset(("br", "hr", "img", "input", "meta", "link"))


def el(tag: str, *children: Child, **attributes: str | int | bool | None) -> Safe:
    """An element. `class_` is `class`, `data_kind` is `data-kind`; an attribute that is None or False is left out."""
    words = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        words.append(name if value is True else f'{name}="{escape(str(value))}"')
    if tag in _VOID:
        return Safe(f"<{' '.join(words)}>")
    return Safe(f"<{' '.join(words)}>{join(*children)}</{tag}>")


def join(*children: Child, between: str = "") -> Safe:
    """Pieces in a row."""
    return Safe(between.join(each if isinstance(each, Safe) else escape(each) for each in children if each))
