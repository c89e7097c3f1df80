"""Base classes of plain immutable data, such as the payloads of events."""

from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """Base of plain immutable data, equal and hashable by content. Unknown fields are refused."""

    # `defer_build`: building the validators of hundreds of models would delay each start. JSON has no NaN.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=False, ser_json_inf_nan="null", defer_build=True
    )


F = TypeVar("F", bound=FrozenModel)
_field_tables: dict[type[FrozenModel], tuple[set[str], type["_Fields"]]] = {}


class _Fields:
    """Base class of objects whose `__dict__` becomes the `__dict__` of a model. Each model class has a subclass."""


def share_field_tables(model: F, parts: Iterable[FrozenModel] = ()) -> F:
    """Make `model` and the models in `parts` use less memory, and return `model`.

    All models of the same class share one table of field names.
    """
    models: list[FrozenModel] = [model, *parts]
    for item in models:
        model_class = type(item)
        tables = _field_tables.get(model_class)
        if tables is None:
            fields_class = type(model_class.__name__, (_Fields,), {})
            tables = _field_tables[model_class] = set(model_class.model_fields), fields_class
        field_names, fields_class = tables
        fields = fields_class()
        # Set attributes one by one: only then does CPython share keys between the instances of a class.
        for name, value in item.__dict__.items():
            setattr(fields, name, value)
        _set_attribute(item, "__pydantic_fields_set__", field_names)
        _set_attribute(item, "__dict__", fields.__dict__)
    return model


_set_attribute = object.__setattr__  # frozen models refuse the plain `setattr`


class Payload(FrozenModel):
    """Base of every event's payload. Each subclass narrows `kind` to a Literal."""

    kind: str
