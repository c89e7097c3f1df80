"""The description of a recorded call that ended differently in a replay."""

from tests.stubs.rows import rows
from tui_agent.evals.frozen.frozen_session import RecordedCall, describe_difference


def recorded_call(content: str) -> RecordedCall:
    return RecordedCall(
        seq=7, turn=1, agent="main", call_id="c", tool="read_file", status="ok", content=content
    )


@rows(
    "new, old, description",
    [
        ("1\tx = 1", "1\tx = 2", r"its result has '1\tx = 1', but the recording has '1\tx = 2'"),
        (
            "1\tdef f():\n2\t return a - b",
            "1\tdef f():\n2\t    return a - b",
            r"its result has '2\t·return·a·-·b', but the recording has '2\t····return·a·-·b' (each · is a space)",
        ),
        ("a\n", "a", r"its result has 'a\n', but the recording has 'a'"),
        (
            "b" * 200 + "x",
            "b" * 200 + "y",
            f"its result has '{'b' * 60}x', but the recording has '{'b' * 60}y'",
        ),
        ("a", "a", ""),
    ],
)
def test_a_different_result_is_described_so_that_the_difference_shows(
    new: str, old: str, description: str
) -> None:
    assert describe_difference(recorded_call(old), recorded_call(new)) == description
