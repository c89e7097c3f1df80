"""Places as people and programs write them, filled with made secrets, and what only looks so: none is missed, none touched."""

import random
import re
import string
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stubs.rows import rows
from tui_agent.store.redaction.redactor import Redactor

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "secrets"
REDACTOR = Redactor()
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
WORDS = ("Winter", "tiger", "Sommer", "banana", "Rocket", "purple", "Falcon", "coffee")
TAG = re.compile(r"@[PWTUXYGBAKZJ]")


def lines(name: str) -> list[str]:
    return [
        line.replace("\\n", "\n") for line in (FOLDER / name).read_text(encoding="utf-8").splitlines() if line
    ]


def every(*names: str) -> list[str]:
    return [line for name in names for line in lines(f"{name}.txt")]


def drawn(made: random.Random, count: int, alphabet: str = ALNUM) -> str:
    """With letters and digits, as nearly all that a generator makes."""
    while True:
        value = "".join(made.choices(alphabet, k=count))
        if re.search("[0-9]", value) and re.search("[A-Za-z]", value):
            return value


def thought_up(made: random.Random) -> str:
    word = made.choice(WORDS)
    return made.choice(
        (
            f"{word}{made.choice('!@#_-.')}{made.randint(10, 9999)}",
            f"{word}{made.randint(100, 99999)}",
            drawn(made, made.randint(9, 16)),
            drawn(made, 6) + made.choice("!%^*") + drawn(made, 5),
        )
    )


MAKERS: dict[str, Callable[[random.Random], str]] = {
    "@P": thought_up,
    "@W": lambda made: drawn(made, made.randint(9, 14)),
    "@T": lambda made: drawn(made, made.randint(24, 40)),
    "@U": lambda made: drawn(made, 40),
    "@X": lambda made: drawn(made, 32, HEX),
    "@Y": lambda made: drawn(made, 8, HEX),
    "@G": lambda made: "-".join(drawn(made, count, HEX) for count in (8, 4, 4, 4, 12)),
    "@B": lambda made: drawn(made, 43),
    "@A": lambda made: drawn(made, 40),
    "@K": lambda made: drawn(made, 40, HEX),
    "@Z": lambda made: drawn(made, 8, HEX),
    "@J": lambda made: drawn(made, 16, HEX),
}


def filled(text: str, made: random.Random) -> tuple[str, list[str]]:
    """The text with something made at each of its tags, and what was made."""
    values: list[str] = []

    def put(match: re.Match[str]) -> str:
        values.append(MAKERS[match.group()](made))
        return values[-1]

    return TAG.sub(put, text), values


@pytest.mark.slow
@rows("place", every("shapes", "code", "files"))
def test_a_secret_is_found_in_every_place(place: str) -> None:
    for seed in range(6):
        text, values = filled(place, random.Random(seed))
        said = REDACTOR.redact_text(text)
        assert not [value for value in values if len(value) > 8 and value in said], text


@rows("text", every("shapes_look_alikes", "code_look_alikes", "files_look_alikes"))
def test_what_only_looks_so_stays(text: str) -> None:
    for seed in range(4):
        plain, _ = filled(text, random.Random(seed))
        assert REDACTOR.redact_text(plain) == plain
