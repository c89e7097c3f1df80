"""The state of a fold, copied so that the copy goes on alone.

Invariant: what can never change (frozen data, texts, numbers, tuples) is shared by all copies; lists, dicts, sets and
the folds' own mutable objects are not. A copy costs what is open in the state and a pointer for each thing that is
over, not what was said.
"""

from collections.abc import Iterable
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar

from pydantic import BaseModel

T = TypeVar("T")
Copies = dict[int, Any]
"""What was copied already, by the identity of the original."""

_PLAIN = (str, int, float, bool, bytes, type(None), tuple, frozenset, Enum, BaseModel)
_shared: dict[type, bool] = {}


def copied(value: T, copies: Copies | None = None) -> T:
    """A copy of a fold, or of a piece of one; what `copies` holds already is not copied again."""
    kind = type(value)
    if _is_shared(kind):
        return value
    copies = {} if copies is None else copies
    known = copies.get(id(value))
    if known is not None:
        return known  # type: ignore[no-any-return]
    made: Any
    if isinstance(value, list):
        made = copies[id(value)] = value.copy()
        if not _all_shared(value):
            made[:] = [copied(one, copies) for one in value]
    elif isinstance(value, dict):
        made = copies[id(value)] = value.copy()
        if not _all_shared(value.values()):
            made.update({name: copied(one, copies) for name, one in value.items()})
    elif isinstance(value, set):
        made = copies[id(value)] = value.copy()
    else:
        made = copies[id(value)] = object.__new__(kind)
        for name in _attributes(value):
            object.__setattr__(made, name, copied(getattr(value, name), copies))
    return made  # type: ignore[no-any-return]


def _is_shared(kind: type) -> bool:
    known = _shared.get(kind)
    if known is None:
        parameters = getattr(kind, "__dataclass_params__", None)
        known = issubclass(kind, _PLAIN) or (parameters is not None and parameters.frozen)
        _shared[kind] = known
    return known


def _all_shared(values: Iterable[object]) -> bool:
    return all(_is_shared(kind) for kind in set(map(type, values)))


def _attributes(value: object) -> Iterable[str]:
    plain = getattr(value, "__dict__", None)
    return plain if plain is not None else [field.name for field in fields(value)]  # type: ignore[arg-type]
