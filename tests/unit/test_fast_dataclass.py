"""Frozen dataclasses behave as Python's own."""

import copy
import dataclasses
import pickle
from typing import Any

import pytest
from pydantic import TypeAdapter

from tui_agent.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Fast:
    """A value."""

    name: str
    sizes: tuple[int, ...] = ()
    words: list[str] = dataclasses.field(default_factory=list, compare=False)
    hint: str = dataclasses.field(default="x", repr=False, kw_only=True)


@dataclasses.dataclass(frozen=True, slots=True)
class Own:
    """A value."""

    name: str
    sizes: tuple[int, ...] = ()
    words: list[str] = dataclasses.field(default_factory=list, compare=False)
    hint: str = dataclasses.field(default="x", repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Checked:
    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("negative")


@dataclass(frozen=True, slots=True)
class Child(Fast):
    more: int = 0


def behaviour(kind: Any) -> list[Any]:
    """Return what a caller can see of a class."""
    value, other = kind("a", (1,), ["w"]), kind("a", (1,), hint="x")
    return [
        repr(value).replace("Own", "Fast"),
        (value == other, hash(value) == hash(other), value == kind("b"), value == ("a",)),
        (value.words is other.words, other.words, kind.__match_args__, kind.__slots__),
        repr(dataclasses.replace(value, name="c", hint="y")).replace("Own", "Fast"),
        (dataclasses.asdict(value), kind.__dataclass_params__.frozen, hasattr(value, "__dict__")),
        (pickle.loads(pickle.dumps(value)) == value, copy.deepcopy(value).words),
        TypeAdapter(kind).validate_python({"name": "n", "sizes": [1]}).sizes,
    ]


def test_it_behaves_as_pythons_own() -> None:
    assert behaviour(Fast) == behaviour(Own)


@pytest.mark.parametrize("kind", [Fast, Own, Child])
def test_nothing_can_be_assigned_or_deleted_or_left_out(kind: Any) -> None:
    value = kind("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del value.name
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        kind()
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        kind("a", nothing=1)


def test_a_class_with_a_dataclass_as_base_and_a_check_of_its_own() -> None:
    assert repr(Child("a", more=2)) == "Child(name='a', sizes=(), words=[], more=2)"
    assert Checked(1) == Checked(1) != Checked(2)
    with pytest.raises(ValueError, match="negative"):
        Checked(-1)
