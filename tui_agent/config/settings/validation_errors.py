"""Descriptions of the errors in a validated file: the key as spelled in the file, the problem, and the solution.

Invariant: for an unknown key, a known key with a similar spelling is suggested.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from tui_agent.errors import ConfigError

ValidT = TypeVar("ValidT")

MAX_ERRORS = 5
"""Maximum number of errors described for one file."""
MAX_VALUE_CHARS = 80
Place = Sequence[int | str]
"""The path to a value in nested data: keys and indexes, outermost first."""


def validate(
    tree: object, kind: type[ValidT], source: object, hint: str = "", *, place: Place = ()
) -> ValidT:
    """Convert plain data to an object of the type `kind`.

    `place`: the path to `tree` in the file.

    Raise `ConfigError` with `source`, the field and the reason if the data is not valid.
    """
    try:
        return TypeAdapter(kind).validate_python(tree)
    except ValidationError as error:
        raise ConfigError(
            f"{source}: {describe_errors(error, tree, kind, place=place)}", hint=hint
        ) from error


def describe_errors(error: ValidationError, tree: object, kind: Any, *, place: Place = ()) -> str:
    """Describe all errors of `tree` in sentences.

    `kind`: the expected type of `tree`.
    `place`: the path to `tree` in the file.
    """
    errors = error.errors()
    problems = [
        describe_error(details, tree, kind, place=place, lists_known=len(errors) == 1)[1]
        for details in errors[:MAX_ERRORS]
    ]
    if len(errors) > MAX_ERRORS:
        problems.append(f"{len(errors) - MAX_ERRORS} more.")
    return " ".join(problems)


def describe_wrong_keys(error: ValidationError, tree: object, kind: Any) -> list[tuple[list[str], str]]:
    """Return (path, description) for each of the first `MAX_ERRORS` wrong or missing keys of `tree`.

    A path begins at the top of `tree`. If there are more wrong keys, the last pair says so, with an empty path.

    `kind`: the expected type of `tree`.
    """
    errors = error.errors()
    # A value that fits no type of a union has one error for each type. The first one is enough.
    wrong_keys: dict[tuple[str, ...], str] = {}
    for details in errors:
        parts, problem = describe_error(details, tree, kind, lists_known=len(errors) == 1)
        if len(wrong_keys) == MAX_ERRORS and tuple(parts) not in wrong_keys:
            wrong_keys[()] = "More keys are wrong."
            break
        wrong_keys.setdefault(tuple(parts), problem)
    return [(list(parts), problem) for parts, problem in wrong_keys.items()]


def describe_error(
    details: ErrorDetails, tree: object, kind: Any, *, place: Place = (), lists_known: bool = True
) -> tuple[list[str], str]:
    """Return the path of the key that one error is about, and sentences about the error."""
    # A missing key is not in the file, so its path is used as given.
    location = details["loc"]
    own = location if details["type"] == "missing" else _as_written(location, tree) or location
    parts = [str(part) for part in (*place, *own)]
    key = ".".join(part if re.fullmatch(r"[\w-]+", part) else f'"{part}"' for part in parts)
    known = _known_keys(kind, own)
    match details["type"]:
        case "extra_forbidden":
            return parts, _describe_unknown(key, parts[-1], _known_keys(kind, own[:-1]), lists_known)
        case "missing":
            return parts, f"'{key}' is missing. Add it."
        case "model_type":
            message = f"expected a table with {', '.join(known)}"
        case _:
            message = details["msg"].removeprefix("Value error, ")
            message = message[:1].lower() + message[1:]
    if not key:
        return parts, f"{message}."
    value = details["input"]
    if isinstance(value, Mapping | list | tuple) or location[-1:] == ("[key]",):
        return parts, f"'{key}': {message}. Correct the value."
    return parts, f"'{key}' is {_shorten(value)}: {message}. Correct the value."


def _describe_unknown(key: str, name: str, known: list[str], lists_known: bool) -> str:
    matches = get_close_matches(name, known, n=1)
    if matches:
        return f"unknown key '{key}'. Did you mean '{matches[0]}'?"
    choices = f" (known: {', '.join(known)})" if known and lists_known else ""
    return f"unknown key '{key}'. Remove or correct it{choices}."


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}…"


def _known_keys(kind: Any, location: Place) -> list[str]:
    """Return the keys of the table at `location` in a value of the type `kind`."""
    kinds = [kind]
    for part in location:
        kinds = [inner for outer in kinds for inner in _types_at(outer, part)]
    models = (model for inner in kinds for model in _models(inner))
    return sorted(
        {name for model in models for name, field in model.model_fields.items() if not field.exclude}
    )


def _types_at(kind: Any, part: int | str) -> Iterator[Any]:
    """Yield the possible types of the item `part` (a key or an index) in a value of the type `kind`."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if part in kind.model_fields:
            yield kind.model_fields[str(part)].annotation
    elif get_origin(kind) in (dict, Mapping):
        yield get_args(kind)[1]
    elif get_origin(kind) in (list, tuple, Sequence):
        yield get_args(kind)[0]
    else:  # a union or an annotated type
        for option in get_args(kind):
            yield from _types_at(option, part)


def _models(kind: Any) -> Iterator[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    elif get_origin(kind) not in (dict, Mapping, list, tuple, Sequence):
        for option in get_args(kind):
            yield from _models(option)


def _as_written(location: Place, tree: object) -> list[int | str]:
    """Return the part of the error location `location` that exists in `tree`, the data of the file.

    The rest of `location` can be names of types that pydantic tried.
    """
    parts: list[int | str] = []
    for part in location:
        if isinstance(tree, list):
            tree = dict(enumerate(tree))
        if not isinstance(tree, dict) or part not in tree:
            break
        tree = tree[part]
        parts.append(part)
    return parts
