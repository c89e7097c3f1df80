"""What each worker of a test run gets first, and what it tells the main process."""

from dataclasses import dataclass
from typing import Any

from tests.conftest import order_for_workers, send_outcomes


@dataclass
class Marked:
    """A stand-in for a test with at most one mark."""

    name: str
    mark: str

    def get_closest_marker(self, mark: str) -> bool:
        return mark == self.mark


def order(names: str, workers: int) -> list[str]:
    """Order tests: `s` is marked slow, `e` e2e, others are unmarked. Each is named by its letter and its place."""
    marks = {"s": "slow", "e": "e2e"}
    items: list[Any] = [Marked(f"{name}{at}", marks.get(name, "")) for at, name in enumerate(names)]
    return [item.name for item in order_for_workers(items, workers)]


def test_slow_and_end_to_end_tests_come_first_in_each_equal_share() -> None:
    assert order("aasbebas", 2) == ["s2", "a0", "a1", "b3", "e4", "s7", "b5", "a6"]


def test_one_worker_has_them_all_first_in_the_order_of_the_files() -> None:
    assert order("aseb", 1) == ["s1", "e2", "a0", "b3"]


def test_no_test_is_lost_where_the_shares_are_unequal() -> None:
    assert order("abscdes", 3) == ["a0", "b1", "s2", "c3", "e5", "s6", "d4"]
    assert order("s", 4) == ["s0"]
    assert order("", 4) == []


def test_a_worker_tells_outcomes_and_no_steps_that_passed() -> None:
    told: list[str] = []

    def send(name: str, **content: Any) -> None:
        told.append(
            "{name} {when} {outcome}".format(name=name, **content.get("data", {"when": "", "outcome": ""}))
        )

    send_outcomes(send, "logstart", nodeid="a", location=())
    for outcome in ("passed", "failed", "skipped"):
        for when in ("setup", "call", "teardown"):
            send_outcomes(send, "testreport", data={"when": when, "outcome": outcome})
    send_outcomes(send, "runtest_protocol_complete", item_index=0)
    assert told == [
        "testreport call passed",
        *(
            f"testreport {when} {outcome}"
            for outcome in ("failed", "skipped")
            for when in ("setup", "call", "teardown")
        ),
        "runtest_protocol_complete  ",
    ]
