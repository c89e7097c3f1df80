"""The `Projection` protocol, the records on a log's current branch, and copies of folds.

Invariant: a copy of a fold shares only immutable values with the original.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from enum import Enum
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from tui_agent.protocol.envelope import Envelope, Record, known_events

ViewT = TypeVar("ViewT", covariant=True)


class Projection(Protocol[ViewT]):
    """A fold: a state that is built from events, one event at a time, and shown as a view."""

    def apply(self, ev: Envelope) -> bool:
        """Apply one event; return True if the view changed."""
        ...

    def view(self) -> ViewT:
        """Return the state as frozen plain data."""
        ...


def current_branch(records: Sequence[Record]) -> list[Record]:
    """Return the records on the current branch, in order."""
    on_branch: list[Record] = []
    next_seq: int | None = records[-1].seq if records else None
    for record in reversed(records):
        if next_seq is None:
            break
        if record.seq <= next_seq:
            on_branch.append(record)
            next_seq = record.parent
    on_branch.reverse()
    return on_branch


def fold(projection: Projection[ViewT], records: Iterable[Record]) -> ViewT:
    """Apply every known event to the fold and return the fold's view."""
    for record in known_events(records):
        projection.apply(record)
    return projection.view()


T = TypeVar("T")
Copies = dict[int, Any]
"""Maps the `id()` of each original object to its copy."""

_PLAIN = (str, int, float, bool, bytes, type(None), tuple, frozenset, Enum, BaseModel)
_immutable_classes: dict[type, bool] = {}


def copy_state(value: T, copies: Copies | None = None) -> T:
    """Return a copy of a fold (a state built from events) or of a value in it.

    `copies`: maps the `id()` of each copied object to its copy.
    """
    value_class = type(value)
    if _is_immutable(value_class):
        return value
    copies = {} if copies is None else copies
    known = copies.get(id(value))
    if known is not None:
        return known  # type: ignore[no-any-return]
    copy: Any
    if isinstance(value, list):
        copy = copies[id(value)] = value.copy()
        if not _are_all_immutable(value):
            copy[:] = [copy_state(item, copies) for item in value]
    elif isinstance(value, dict):
        copy = copies[id(value)] = value.copy()
        if not _are_all_immutable(value.values()):
            copy.update({name: copy_state(item, copies) for name, item in value.items()})
    elif isinstance(value, set):
        copy = copies[id(value)] = value.copy()
    else:
        copy = copies[id(value)] = object.__new__(value_class)
        for name in _attribute_names(value):
            object.__setattr__(copy, name, copy_state(getattr(value, name), copies))
    return copy  # type: ignore[no-any-return]


def _is_immutable(value_class: type) -> bool:
    is_immutable = _immutable_classes.get(value_class)
    if is_immutable is None:
        parameters = getattr(value_class, "__dataclass_params__", None)
        is_immutable = issubclass(value_class, _PLAIN) or (parameters is not None and parameters.frozen)
        _immutable_classes[value_class] = is_immutable
    return is_immutable


def _are_all_immutable(values: Iterable[object]) -> bool:
    return all(_is_immutable(value_class) for value_class in set(map(type, values)))


def _attribute_names(value: object) -> Iterable[str]:
    attributes = getattr(value, "__dict__", None)
    return attributes if attributes is not None else [field.name for field in fields(value)]  # type: ignore[arg-type]
