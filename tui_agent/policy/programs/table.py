"""L3: the table of programs (programs.toml) as typed entries.

Invariant: an unknown key or class in the table fails its loading; an entry that says nothing is `arbitrary`.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from tui_agent.policy.programs.stricter import Extra
from tui_agent.policy.shell.script import ARBITRARY, CLASSES, READ_ONLY

Operands: TypeAlias = Literal[
    "text",
    "none",
    "names",
    "look",
    "read",
    "tree",
    "write",
    "remove",
    "copy",
    "move",
    "mixed",
    "edit",
    "pack",
    "split",
    "labels",
    "enter",
]
Takes: TypeAlias = Literal[
    "nothing",
    "maybe",
    "word",
    "words",
    "named",
    "read",
    "write",
    "folder",
    "names",
    "code",
    "told",
    "archive",
    "names_of",
    "script",
    "unseen",
    "setting",
]

_SIGNS: dict[str, Takes] = {
    "::": "words",
    ":<": "named",
    ":": "word",
    "=": "word",
    "?": "maybe",
    "<": "read",
    ">": "write",
    "@": "folder",
    "*": "names",
    "!": "code",
    "~": "told",
    "%": "archive",
    "&": "names_of",
    "$": "script",
    "^": "unseen",
    "#": "setting",
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
    graver: Mapping[str, str] = field(default_factory=dict)
    relays: frozenset[str] = frozenset()
    style: Literal["getopt", "words", "text", "bundle"] = "getopt"
    numeric: bool = False
    most: int | None = None
    trap: bool = False
    forbid: tuple[str, ...] = ()
    mild: tuple[str, ...] = ()
    anywhere: tuple[str, ...] = ()
    plain: frozenset[str] = frozenset()
    only: str = ""
    needs: frozenset[str] = frozenset()
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ruin: Literal["", "always", "places"] = ""
    deep_by: frozenset[str] = frozenset({"-r", "-R", "--recursive"})
    narrows: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    rewrites: frozenset[str] = frozenset()
    default: tuple[str, ...] = ()
    device: str = ""
    source: str = ""
    within: frozenset[str] = frozenset()
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
    destroys: tuple[str, ...] = ()
    sparing: bool = False
    executes: frozenset[str] = frozenset()
    code: frozenset[str] = frozenset()
    spoken: bool = False
    elsewhere: bool = False
    at_hand: str = ""
    exposes: Literal["", "bare", "always"] = ""
    settings: frozenset[str] = frozenset()
    offline: frozenset[str] = frozenset()
    sub: bool | str = False
    subs: Mapping[str, "Program"] = field(default_factory=dict)
    heads: frozenset[str] = frozenset()
    """The first words of `subs`."""

    @property
    def otherwise(self) -> str:
        """The class of a call with something that the entry does not list."""
        return self.other or (ARBITRARY if self.does == READ_ONLY else self.does)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """All programs, and the environment variables that change nothing. One is only equal to itself."""

    programs: Mapping[str, Program]
    safe_environment: frozenset[str]
    extras: Mapping[str, tuple[Extra, ...]] = field(default_factory=dict)
    """What others than the product and the user add, by program, or program and subcommand."""
    own_variables: frozenset[str] = frozenset()


Raw: TypeAlias = Mapping[str, Mapping[str, object]]
"""Entries of a table as TOML gives them."""


@cache
def table() -> Table:
    """The table that comes with the product, read once."""
    return _table(_own())


def parse_table(text: str) -> Table:
    """A whole table from TOML. Raises `ValueError` as `programs` does."""
    return _table(tomllib.loads(text))


def own_entries() -> Raw:
    """The entries that come with the product, for others to be `like`."""
    return cast(Raw, _own()["programs"])


@cache
def _own() -> dict[str, dict[str, dict[str, object]]]:
    return tomllib.loads(Path(__file__).with_name("programs.toml").read_text(encoding="utf-8"))


def _table(found: Mapping[str, Mapping[str, object]]) -> Table:
    safe = cast("list[str]", found["environment"]["safe"])
    own = cast("list[str]", found["environment"].get("own", []))
    return Table(programs(cast(Raw, found["programs"]), {}), frozenset(safe), own_variables=frozenset(own))


def programs(entries: Raw, base: Raw) -> dict[str, Program]:
    """Typed entries. One may be `like` another of `entries` or of `base`; one that is like itself means that of `base`.

    Raises `ValueError` that names the entry with an unknown key, class, option sign or a value of the wrong kind.
    """
    return {name: _program(name, _source(name, entry, entries, base)) for name, entry in entries.items()}


def _source(name: str, entry: Mapping[str, object], entries: Raw, base: Raw) -> dict[str, object]:
    """The entry itself, or what it is `like`, with its own keys on top."""
    if not isinstance(entry, dict):
        raise ValueError(f"{name}: it is no table")
    like = entry.get("like")
    own = {key: value for key, value in entry.items() if key != "like"}
    if like is None:
        return own
    if not isinstance(like, str):
        raise ValueError(f"{name}: like must be a text")
    program, _, sub = like.partition(" ")
    from_base = program == name and program in base
    found: object = base.get(program) if from_base else entries.get(program, base.get(program))
    if isinstance(found, dict) and sub:
        found = found.get("subs", {}).get(sub)
    if not isinstance(found, dict) or (program == name and not from_base and not sub):
        raise ValueError(f"{name}: like {like}: there is no such entry")
    if not sub:
        found = _source(program, found, {} if from_base else entries, base)
    return {**{key: value for key, value in found.items() if key != "like"}, **own}


_KINDS: dict[type, frozenset[str]] = {
    str: frozenset(
        {
            "does",
            "operands",
            "first",
            "options",
            "other",
            "style",
            "only",
            "ruin",
            "device",
            "source",
            "everyone",
            "at_least",
            "at_hand",
            "exposes",
        }
    ),
    bool: frozenset(
        {"numeric", "trap", "downloads", "assigns", "appends", "hosts", "sparing", "spoken", "elsewhere"}
    ),
    int: frozenset({"most", "keeps", "wraps"}),
    list: frozenset(
        {
            "first_by",
            "forbid",
            "mild",
            "anywhere",
            "plain",
            "needs",
            "deep_by",
            "narrows",
            "lists",
            "rewrites",
            "default",
            "alone",
            "lets",
            "destroys",
            "executes",
            "code",
            "within",
            "offline",
            "settings",
            "relays",
        }
    ),
    dict: frozenset({"turns", "graver", "words", "subs"}),
}
_ORDERED = frozenset({"forbid", "mild", "lets", "destroys", "anywhere", "default"})
"""Lists whose order counts, or which are looked for as pieces of text."""
_WORDS: dict[str, tuple[str, ...]] = {
    "operands": get_args(Operands),
    "style": ("getopt", "words", "text", "bundle"),
    "ruin": ("", "always", "places"),
    "exposes": ("", "bare", "always"),
}


def check_entry(name: str, entry: Mapping[str, object]) -> None:
    """Raises `ValueError` where a key is unknown, or its value is of the wrong kind."""
    for key, value in entry.items():
        kind = next((kind for kind, keys in _KINDS.items() if key in keys), None)
        if kind is None and key != "sub":
            raise ValueError(f"{name}: unknown keys: {key}")
        if kind is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            raise ValueError(f"{name}: {key} must be {_CALLED[kind]}")
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise ValueError(f"{name}: {key} must be a list of texts")
        if key in _WORDS and value not in _WORDS[key]:
            raise ValueError(f"{name}: {key} must be one of {', '.join(filter(None, _WORDS[key]))}")
        if key in ("turns", "graver") and isinstance(value, dict):
            _classes(name, *value.values())
    _classes(name, *(entry[key] for key in ("does", "other", "at_least") if key in entry))


_CALLED = {str: "a text", bool: "true or false", int: "a number", list: "a list of texts", dict: "a table"}


def _classes(name: str, *values: object) -> None:
    for value in values:
        if value and value not in CLASSES:
            raise ValueError(f"{name}: {value!r} is no class; there are {', '.join(CLASSES)}")


def _program(name: str, entry: dict[str, object]) -> Program:
    check_entry(name, entry)
    values = dict(entry)
    values.setdefault("trap", values.get("does") == READ_ONLY)
    values["options"] = _options(name, str(entry.get("options", "")))
    for key in _KINDS[list] & entry.keys():
        given = cast("list[str]", entry[key])
        values[key] = tuple(given) if key in _ORDERED else frozenset(given)
    subs = cast("dict[str, dict[str, object]]", entry.get("subs", {}))
    values["subs"] = {sub: _program(f"{name} {sub}", _sub(name, sub, subs, entry)) for sub in subs}
    values["heads"] = frozenset(sub.partition(" ")[0] for sub in subs)
    return Program(**values)  # type: ignore[arg-type]


def _sub(
    name: str, sub: str, subs: Mapping[str, dict[str, object]], parent: Mapping[str, object]
) -> dict[str, object]:
    entry = subs[sub]
    like = entry.get("like")
    if isinstance(like, str):
        base = subs.get(like.partition(" ")[2])
        if base is None:
            raise ValueError(f"{name} {sub}: like {like}: there is no such entry")
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
