"""A corpus of places where secrets stand and of texts that only look so, each a line of a file: few may be missed."""

import random
import string
from pathlib import Path

import pytest

from tests.stubs.rows import rows
from tui_agent.store.redaction.redactor import Redactor

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "secrets"
REDACTOR = Redactor()
THOUGHT_UP = ("hunter2", "Tr0ub4dor&3", "S3cur3P@ss!", "Winter2025!", "qwerty!234", "My$ecret1", "letmein123")
ALNUM = string.ascii_letters + string.digits


def texts(name: str) -> list[str]:
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [
        line.replace("\\\\", "\0").replace("\\n", "\n").replace("\\e", "\x1b").replace("\0", "\\")
        for line in lines
    ]


def values() -> list[str]:
    made = random.Random(4)
    drawn = ["".join(made.choices(ALNUM, k=20)) + "7q" for _ in range(4)]
    odd = ["".join(made.choices(ALNUM, k=9)) + made.choice("!#^*_") + "59Zq" for _ in range(3)]
    return [*THOUGHT_UP, *drawn, *odd]


@pytest.mark.slow
@rows("place", texts("places.txt"))
def test_a_password_is_found_in_every_place(place: str) -> None:
    missed = [
        value
        for value in values()
        if value in REDACTOR.redact_text(f"one\n{place.replace('@@', value)}\ntwo")
    ]
    assert not missed


def test_look_alikes_stay_as_they_are() -> None:
    assert not [text for text in texts("look_alikes.txt") if REDACTOR.redact_text(text) != text]


@pytest.mark.slow
def test_our_own_code_and_pages_stay_as_they_are() -> None:
    root = Path(__file__).resolve().parents[3]
    files = sorted((root / "tui_agent").rglob("*.py"))
    files = [path for path in files if "redaction" not in path.parts]  # these hold what is looked for
    touched = [path.name for path in files if REDACTOR.redact_text(path.read_text()) != path.read_text()]
    assert touched == []


LONG_LINES = {
    "words": "the quick brown fox jumps over the lazy dog; ",
    "code": "e.token=t;if(n.key!==r.key&&e.password)return a(b,{auth:c,secret:d});var login=function(u){send(u)};",
    "records": '{"id": 12, "key": "name", "value": "the quick brown fox"},',
    "options": "--a-b --key x --token y -p z ",
    "addresses": "https://host.example/a?key=v&code=1 ",
}


@pytest.mark.parametrize("name", LONG_LINES)
def test_a_long_line_without_secrets_stays_as_it_is(name: str) -> None:
    line = LONG_LINES[name] * (200_000 // len(LONG_LINES[name]))
    assert REDACTOR.redact_text(line) is line


def test_secrets_of_many_kinds_in_one_text_are_all_found() -> None:
    kinds = [place for place in texts("places.txt") if "\n" not in place][:120]
    held = "\n".join(place.replace("@@", "Tr0ub4dor&3x") for place in kinds)
    assert "Tr0ub4dor&3x" not in REDACTOR.redact_text(f"{LONG_LINES['code'] * 100}é\n{held}")
