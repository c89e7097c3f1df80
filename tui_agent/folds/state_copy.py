"""Copies of a fold's state that can be folded on independently.

Invariant: immutable values (frozen data, texts, numbers, tuples) are shared by all copies; lists, dicts, sets
and the folds' own mutable objects are not. A copy costs what is open in the state plus one pointer per
finished item.
"""

from collections.abc import Iterable
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar

from pydantic import BaseModel

T = TypeVar("T")
Copies = dict[int, Any]
"""Objects copied so far, by the identity of the original."""

_PLAIN = (str, int, float, bool, bytes, type(None), tuple, frozenset, Enum, BaseModel)
_immutable_classes: dict[type, bool] = {}


def copied(value: T, copies: Copies | None = None) -> T:
    """Return a copy of a fold, or of a part of one; objects already in `copies` are not copied again."""
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
            copy[:] = [copied(item, copies) for item in value]
    elif isinstance(value, dict):
        copy = copies[id(value)] = value.copy()
        if not _are_all_immutable(value.values()):
            copy.update({name: copied(item, copies) for name, item in value.items()})
    elif isinstance(value, set):
        copy = copies[id(value)] = value.copy()
    else:
        copy = copies[id(value)] = object.__new__(value_class)
        for name in _attribute_names(value):
            object.__setattr__(copy, name, copied(getattr(value, name), copies))
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
