"""Parsing JSON that others wrote."""

import pytest

from tui_agent.json_text import parse_json

INVALID = {
    "cut off": '{"a": 1',
    "empty": b"",
    "not UTF-8": b'"\xff"',
    "nested too deeply": "[" * 100_000,
    "objects nested too deeply": b'{"a":' * 100_000,
}


def test_valid_json_is_parsed() -> None:
    assert parse_json('{"a": [1, null]}') == parse_json(b'{"a": [1, null]}') == {"a": [1, None]}


@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID)
def test_only_a_value_error_is_raised(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        parse_json(text)
