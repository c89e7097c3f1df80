"""A test of many rows plays every one and names those that fail."""

import inspect

import pytest

from tests.stubs.rows import rows


def test_each_row_that_fails_is_named_with_its_reason_and_all_are_played() -> None:
    played: list[int] = []

    @rows("number", [1, 2, 3, 4])
    def judge(number: int) -> None:
        played.append(number)
        assert number % 2, f"{number} is even"
        if number == 3:
            raise KeyError("no three")

    with pytest.raises(AssertionError) as failed:
        judge()
    assert played == [1, 2, 3, 4]
    said = str(failed.value)
    assert said.startswith("3 of 4 rows:")
    assert "number=2, in line" in said and "2 is even" in said
    assert "number=3" in said and "KeyError: 'no three'" in said
    assert "number=1" not in said


def test_rows_of_several_values_stand_beside_fixtures() -> None:
    seen: list[object] = []

    @rows("left, right", [(1, "a"), (2, "b")])
    def judge(left: int, right: str, fixture: str) -> None:
        seen.append((left, right, fixture))

    assert list(inspect.signature(judge).parameters) == ["fixture"]
    judge(fixture="f")
    assert seen == [(1, "a", "f"), (2, "b", "f")]


def test_without_rows_and_where_it_is_stopped_nothing_passes() -> None:
    @rows("number", [])
    def none(number: int) -> None: ...

    @rows("number", [1])
    def stopped(number: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(AssertionError):
        none()
    with pytest.raises(KeyboardInterrupt):
        stopped()
