"""L3: the table of programs (programs.toml) as typed entries.

Invariant: an unknown key or class in the table fails its loading; an entry that says nothing is `arbitrary`.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias, cast

from tui_agent.policy.script import ARBITRARY, CLASSES, READ_ONLY

Operands: TypeAlias = Literal[
    "text", "none", "names", "look", "read", "tree", "write", "remove", "copy", "move", "mixed"
]
Takes: TypeAlias = Literal["nothing", "maybe", "word", "words", "read", "write", "folder"]

_SIGNS: dict[str, Takes] = {
    "::": "words",
    ":": "word",
    "=": "word",
    "?": "maybe",
    "<": "read",
    ">": "write",
    "@": "folder",
}


@dataclass(frozen=True, slots=True)
class Program:
    """One entry; the keys are told at the head of programs.toml."""

    does: str = ARBITRARY
    operands: Operands = "text"
    first: str = ""
    first_by: frozenset[str] = frozenset()
    options: Mapping[str, Takes] = field(default_factory=dict)
    other: str = ""
    turns: Mapping[str, str] = field(default_factory=dict)
    style: Literal["getopt", "words", "text"] = "getopt"
    numeric: bool = False
    most: int | None = None
    trap: bool = False
    forbid: tuple[str, ...] = ()
    anywhere: tuple[str, ...] = ()
    plain: frozenset[str] = frozenset()
    only: str = ""
    needs: frozenset[str] = frozenset()
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ruin: Literal["", "always", "places"] = ""
    deep_by: frozenset[str] = frozenset({"-r", "-R", "--recursive"})
    narrows: frozenset[str] = frozenset()
    default: tuple[str, ...] = ()
    device: str = ""
    everyone: str = ""
    downloads: bool = False
    keeps: int = 1
    wraps: int | None = None
    at_least: str = ""
    assigns: bool = False
    appends: bool = False
    hosts: bool = False
    alone: frozenset[str] = frozenset({"--version"})
    lets: tuple[str, ...] = ()
    sparing: bool = False
    executes: frozenset[str] = frozenset()
    sub: bool | str = False
    subs: Mapping[str, "Program"] = field(default_factory=dict)

    @property
    def otherwise(self) -> str:
        """The class of a call with something that the entry does not list."""
        return self.other or (ARBITRARY if self.does == READ_ONLY else self.does)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """All programs, and the environment variables that change nothing. One is only equal to itself."""

    programs: Mapping[str, Program]
    safe_environment: frozenset[str]


@cache
def table() -> Table:
    """The table that comes with the product, read once."""
    text = Path(__file__).with_name("programs.toml").read_text(encoding="utf-8")
    return parse_table(text)


def parse_table(text: str) -> Table:
    """A table from TOML. Raises `ValueError` that names the entry with an unknown key, class or option sign."""
    found = tomllib.loads(text)
    raw: dict[str, dict[str, object]] = found["programs"]
    programs = {name: _program(name, _source(name, entry, raw)) for name, entry in raw.items()}
    return Table(programs, frozenset(found["environment"]["safe"]))


def _source(name: str, entry: Mapping[str, object], raw: Mapping[str, object]) -> dict[str, object]:
    """The entry itself, or what it is `like`, with its own keys on top."""
    like = entry.get("like")
    own = {key: value for key, value in entry.items() if key != "like"}
    if not isinstance(like, str):
        return own
    base: object = raw
    for part in like.split(" ", 1):
        level = base if isinstance(base, dict) else {}
        base = level.get("subs", {}).get(part) if "subs" in level and base is not raw else level.get(part)
    if not isinstance(base, dict):
        raise ValueError(f"{name}: like {like}: there is no such entry")
    if " " not in like:
        base = _source(like, base, raw)
    return {**{key: value for key, value in base.items() if key != "like"}, **own}


def _program(name: str, entry: dict[str, object]) -> Program:
    known = {item.name for item in fields(Program)}
    unknown = set(entry) - known
    if unknown:
        raise ValueError(f"{name}: unknown keys {sorted(unknown)}")
    values = dict(entry)
    values["options"] = _options(name, str(entry.get("options", "")))
    for key in (
        "first_by",
        "plain",
        "needs",
        "deep_by",
        "narrows",
        "executes",
        "alone",
        "forbid",
        "lets",
        "anywhere",
        "default",
    ):
        given = cast("list[str]", entry.get(key, []))
        if key in entry:
            values[key] = (
                tuple(given) if key in ("forbid", "lets", "anywhere", "default") else frozenset(given)
            )
    subs = cast("dict[str, dict[str, object]]", entry.get("subs", {}))
    values["subs"] = {sub: _program(f"{name} {sub}", _sub(name, sub, subs, entry)) for sub in subs}
    program = Program(**values)  # type: ignore[arg-type]
    turned = program.turns.values()
    for word in (program.does, program.other, program.at_least, *turned):
        if word and word not in CLASSES:
            raise ValueError(f"{name}: {word!r} is no class")
    return program


def _sub(
    name: str, sub: str, subs: Mapping[str, dict[str, object]], parent: Mapping[str, object]
) -> dict[str, object]:
    entry = subs[sub]
    like = entry.get("like")
    if isinstance(like, str):
        base = subs[like.partition(" ")[2]]
        entry = {**base, **{key: value for key, value in entry.items() if key != "like"}}
    words = 1 + len(sub.split())
    return {"keeps": words, **entry}


def _options(name: str, text: str) -> dict[str, Takes]:
    options: dict[str, Takes] = {}
    for item in text.split():
        for sign, takes in _SIGNS.items():
            if item.endswith(sign) and len(item) > len(sign) + 1:
                options[item.removesuffix(sign)] = takes
                break
        else:
            options[item] = "nothing"
    for option in options:
        if option[:1] not in ("-", "+"):
            raise ValueError(f"{name}: {option!r} is no option")
    return options
