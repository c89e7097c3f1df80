"""Readers of a log that a writer truncates at the same time: if they mapped the file, the kernel would kill them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stubs.processes import find_ends, find_runs, processes, summarise_damaged_starts
from tests.stubs.store import write_log


@pytest.mark.slow_variants
@pytest.mark.timeout(60)
@pytest.mark.parametrize("reader", [find_ends, find_runs, summarise_damaged_starts])
def test_a_reader_survives_a_writer_that_truncates_the_log(
    tmp_path: Path, reader: Callable[[Path, int], None]
) -> None:
    path = write_log(tmp_path, "ses_1", [f"message {number} " + "x" * 700 for number in range(700)])
    data = b"damaged start\n" + path.read_bytes()
    child = processes().Process(target=reader, args=(path, 150))
    child.start()
    with path.open("r+b") as log:
        while child.is_alive():
            log.seek(0)
            log.write(data)
            log.flush()
            os.truncate(path, len(data) // 8)
    child.join()
    assert child.exitcode == 0, f"signal {-(child.exitcode or 0)}"
