"""Every kind of child against every way to end, on the real program."""

import pytest

from tests.e2e.conftest import Program
from tests.e2e.leaving import ENDS, KINDS, leaving, left
from tests.soak.conftest import Report
from tests.stubs.left_out import linux_only

pytestmark = [pytest.mark.soak, pytest.mark.e2e, linux_only("elsewhere a process can leave its group unseen")]


@pytest.mark.parametrize("sandbox", [False, True], ids=["bare", "sandbox"])
@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_behind(program: Program, end: str, sandbox: bool, report: Report) -> None:
    with leaving(program, sandbox=sandbox) as bench:
        ENDS[end](bench)
        there, seconds = left(bench.folder)
        report(
            f"{end}{' (sandbox)' if sandbox else ''}: {len(KINDS)} kinds of children, {len(there)} left, "
            f"looked at {seconds:.2f} s after the end"
        )
        assert there == []
