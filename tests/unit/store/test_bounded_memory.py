"""A log of many events holds the newest in memory; followers and readers get the others from its file."""

from pathlib import Path

from tests.stubs.store import said, store
from tui_agent.store.record_follower import MAX_BYTES, MAX_RECORDS


async def test_a_follower_that_lags_sees_every_event_once_and_in_order(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_many")
    early = log.follow()
    for number in range(3 * MAX_RECORDS):
        log.append(said(f"message {number}"))
    assert len(log._recent) <= 2 * MAX_RECORDS + 1
    late = log.follow(MAX_RECORDS)
    for follower, first in ((early, 0), (late, MAX_RECORDS + 1)):
        seen: list[int] = []
        while len(seen) < 3 * MAX_RECORDS - first:
            seen += [record.seq for record in await follower.next_batch()]
        assert seen == list(range(first, 3 * MAX_RECORDS))
    log.append(said("one more"))
    assert [record.seq for record in await early.next_batch()] == [3 * MAX_RECORDS]
    assert [record.seq for record in log.read(3 * MAX_RECORDS - 3)] == [
        3 * MAX_RECORDS - 2,
        3 * MAX_RECORDS - 1,
        3 * MAX_RECORDS,
    ]
    assert [record.seq for record in log.read()] == list(range(3 * MAX_RECORDS + 1))
    log.close()


async def test_long_records_are_held_by_their_bytes_not_by_their_number(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_long")
    follower, size = log.follow(), 7_000
    total = 4 * MAX_BYTES // size
    assert total < 2 * MAX_RECORDS
    for number in range(total):
        log.append(said(f"{number} ".ljust(size, "x")))
    assert MAX_BYTES // size // 2 < len(log._recent) <= 2 * MAX_BYTES // size + 1
    seen: list[int] = []
    while len(seen) < total:
        seen += [record.seq for record in await follower.next_batch()]
    assert seen == list(range(total))
    log.close()


async def test_after_an_opening_history_comes_in_slices(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_many")
    for number in range(5_000):
        log.append(said(f"message {number}"))
    log.close()
    again = store(tmp_path).open("ses_many")
    again.append(said("new"))
    follower, seen = again.follow(), list[int]()
    while len(seen) < 5_001:
        batch = await follower.next_batch()
        assert len(batch) <= 2_000
        seen += [record.seq for record in batch]
    assert seen == list(range(5_001)) and len(again._recent) == 1
    again.close()
