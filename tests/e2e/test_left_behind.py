"""Whatever a tool started is gone within 5 s, however the program ends (all ways in `make soak`)."""

import pytest

from tests.e2e.conftest import Program
from tests.e2e.leaving import ENDS, leaving, left
from tests.stubs.left_out import linux_only

SLICE = (
    ("run: the command ends", False),
    ("run: kill -9", False),
    ("app: Esc", False),
    ("job: /quit", False),
    ("job: kill -9 of its engine", False),
    ("run: the command ends", True),
    ("job: kill -9", True),
)

pytestmark = [
    pytest.mark.e2e,
    linux_only("elsewhere a process can leave its group unseen"),
]


@pytest.mark.parametrize(("end", "sandbox"), SLICE)
def test_nothing_is_left_behind(program: Program, end: str, sandbox: bool) -> None:
    """`sandbox`: the commands are confined where that works, with processes of their own."""
    with leaving(program, sandbox=sandbox) as bench:
        ENDS[end](bench)
        there, _ = left(bench.folder)
        assert there == [], f"left after {end}: {there}"
