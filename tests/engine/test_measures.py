"""A session's figures against a count by hand: what was read, searched, edited and tested, and where."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.engine.harness import call, running, say
from tests.engine.talks import Talks, rules, spawn, use
from tests.stubs.tool_context import tools_of
from tui_agent.folds.projection import fold
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.protocol.commands import SubmitPrompt

TESTS = "from b import x\n\n\ndef test_x():\n    assert x\n"


def _workspace(tmp_path: Path) -> None:
    work = tmp_path / "workspace"
    work.mkdir()
    (work / "a.py").write_text("one = 1\n" * 20)
    (work / "b.py").write_text("x = 1\n")
    (work / "test_b.py").write_text(TESTS)


@pytest.mark.slow
async def test_a_session_that_edits_with_commands_is_measured_as_a_person_would_count(tmp_path: Path) -> None:
    _workspace(tmp_path)
    reads = [("read_file", json.dumps({"path": name})) for name in ("a.py", "b.py")]
    script = [
        use("grep", pattern="one"),  # parts 0 and 1
        call(*reads, text="I look."),  # 2, calls 3 and 4, results 5 and 6
        use("read_file", path="a.py", offset=3, limit=4),  # 7 and 8: lines that were seen
        use(
            "run_tests", command=f"{shlex.quote(sys.executable)} -m pytest -q test_b.py"
        ),  # 9 and 10: before any edit
        use("run_command", command="sed -i s/1/2/ b.py"),  # 11 and 12: the first edit
        use("run_tests", command=f"{shlex.quote(sys.executable)} -m pytest -q test_b.py"),  # 13 and 14
        use("read_file", path="b.py"),  # 15 and 16: not as it was before
        say("Done."),  # 17
    ]
    tools = [one for name in ("files", "search", "shell") for one in tools_of(name).values()]
    async with running(tmp_path, script, tools, checkpoints=True, policy_name="bypass") as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        metrics = fold(Metrics(), bench.events)
    assert (metrics.parts, metrics.model_calls, metrics.repeated_reads) == (18, 8, 1)
    assert metrics.tools == {"grep": 1, "read_file": 4, "run_tests": 2, "run_command": 1}
    assert (metrics.first_target_read_part, metrics.first_edit_part) == (4, 11)
    assert (metrics.search_to_edit_parts, metrics.edit_to_test_parts) == (11, 2)
    assert metrics.hot_observation_count == 8
    assert metrics.seconds_to_first_edit is not None and metrics.seconds_to_first_test is not None


async def test_what_a_delegate_read_is_no_repetition_and_no_observation_once_it_has_ended(
    tmp_path: Path,
) -> None:
    _workspace(tmp_path)
    talks = Talks(
        Main=[
            use("read_file", path="a.py"),
            spawn("Child: look"),
            use("read_file", path="a.py"),
            say("Done."),
        ],
        Child=[use("read_file", path="a.py"), use("grep", pattern="one"), say("Seen.")],
    )
    tools = [one for name in ("files", "search", "subagent") for one in tools_of(name).values()]
    async with running(tmp_path, [], tools, policy_name="bypass", delegation=rules()) as bench:
        bench.use(talks)
        bench.submit(SubmitPrompt(text="Main: go"))
        await bench.until("turn.finished")
        metrics = fold(Metrics(), bench.events)
    assert metrics.repeated_reads == 1
    assert metrics.hot_observation_count == 3
    assert sum(metrics.tools.values()) == 5
