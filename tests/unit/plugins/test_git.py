"""The tools of git: what they say of a repository, and what the policy makes of their calls."""

import json
import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.engine.harness import call, running, say
from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.events.policy import PermissionRequested


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit of `a.py`, which has changed since, and a new file `b.py`."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    _git(folder, "init", "-q", "-b", "main")
    for key, value in (("user.email", "ada@example.org"), ("user.name", "Ada"), ("color.ui", "always")):
        _git(folder, "config", key, value)
    (folder / "a.py").write_text("one\n")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "Add one")
    (folder / "a.py").write_text("one\ntwo\n")
    (folder / "b.py").write_text("new\n")
    return folder


async def test_they_show_status_changes_commits_and_authors(repository: Path) -> None:
    bench = Bench(repository, tools_of("git"))
    assert text(await bench.run("git_status")) == "## main\n M a.py\n?? b.py"
    assert text(await bench.run("git_diff", path="a.py")).endswith("@@ -1 +1,2 @@\n one\n+two")
    assert text(await bench.run("git_diff", staged=True)) == "No output."
    assert text(await bench.run("git_log", limit=3)).endswith("Ada: Add one")
    assert "Not Committed Yet" in text(await bench.run("git_blame", path="a.py", first_line=2))
    failed = await bench.run("git_log", revision="nothing")
    assert not failed.ok and "exit 128" in text(failed) and "nothing" in text(failed)


async def test_a_long_output_is_shortened_and_stored(repository: Path) -> None:
    (repository / "a.py").write_text("line of text\n" * 3_000)
    bench = Bench(repository, tools_of("git"))
    result = await bench.run("git_diff")
    assert len(text(result)) < 13_000 and "left out" in text(result)


async def test_no_argument_becomes_an_option(repository: Path) -> None:
    bench = Bench(repository, tools_of("git"))
    for name, arguments in (("git_log", {}), ("git_diff", {}), ("git_blame", {"path": "a.py"})):
        with pytest.raises(ValidationError):
            bench.effects(name, **arguments, revision="--output=x")
    await bench.run("git_blame", path="--output=x")
    (repository / "-n").write_text("dash\n")
    assert (await bench.run("git_commit", message="--amend", paths=["-n"])).ok
    assert _git(repository, "log", "--format=%s").split("\n")[:2] == ["--amend", "Add one"]
    assert sorted(_git(repository, "ls-files", "-co").split()) == ["-n", "a.py", "b.py"]


@pytest.mark.parametrize("allowed", [True, False])
async def test_reading_runs_unasked_and_a_commit_of_new_files_asks(
    tmp_path: Path, repository: Path, allowed: bool
) -> None:
    commit = {"message": "Add two", "paths": ["a.py", "b.py"]}
    calls = [("git_status", "{}"), ("git_diff", '{"revision": "HEAD"}'), ("git_commit", json.dumps(commit))]
    tools = list(tools_of("git").values())
    async with running(
        tmp_path, [*(call(single) for single in calls), say("done")], tools, policy=RulePolicy().decide
    ) as bench:
        bench.submit(SubmitPrompt(text="commit"))
        asked = await bench.until_payload(PermissionRequested)
        assert asked.tool == "git_commit"
        paths = ("--", "a.py", "b.py")
        assert asked.effects == (
            RunEffect(argv=("git", "add", *paths)),
            RunEffect(argv=("git", "commit", "-m", "Add two", *paths)),
        )
        decision = DecidePermission(request_id=asked.request_id, decision="allow" if allowed else "deny")
        bench.submit(decision)
        await bench.until("turn.finished")
    commits = ["Add two", "Add one"] if allowed else ["Add one"]
    assert _git(repository, "log", "--format=%s").split() == " ".join(commits).split()


async def test_a_secret_file_is_refused(tmp_path: Path, repository: Path) -> None:
    answers = [call(("git_diff", '{"path": ".env"}')), call(("git_blame", '{"path": ".env"}')), say("done")]
    async with running(
        tmp_path, answers, list(tools_of("git").values()), policy=RulePolicy().decide, policy_name="bypass"
    ) as bench:
        bench.submit(SubmitPrompt(text="look"))
        await bench.until("turn.finished")
    assert [result.status for result in bench.results()] == ["denied", "denied"]
