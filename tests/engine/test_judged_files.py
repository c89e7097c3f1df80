"""The file that was judged is the one that is opened, wherever its name leads by the time the call runs."""

from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel

from tests.engine.harness import call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.middleware import ToolNext
from tui_agent.ports.policy import Policy
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.parts import TextContent, ToolCallPart

POLICY: Policy = RulePolicy()


class Meanwhile:
    """Does something between the decision about a call and its run."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act

    async def wrap_tool(self, made: ToolCallPart, nxt: ToolNext) -> ToolResult:
        self.act()
        return await nxt(made)


class Plain(Meanwhile):
    """The other hooks of a middleware, doing nothing."""

    async def on_turn_start(self, turn: object) -> None:
        return

    def contribute(self, state: object) -> tuple[()]:
        return ()

    async def wrap_model(self, request: object, nxt: Callable[[object], object]) -> object:
        return await nxt(request)  # type: ignore[misc]

    async def on_turn_end(self, turn: object) -> None:
        return


def told(finished: ToolFinished) -> str:
    return "\n".join(str(piece.text) for piece in finished.content if isinstance(piece, TextContent))


def places(tmp_path: Path) -> tuple[Path, Path]:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    for folder in (workspace, outside, workspace / ".git" / "hooks"):
        folder.mkdir(parents=True)
    (outside / "f").write_text("the secret of another")
    (outside / "allowed").write_text("what was allowed")
    (workspace / "f").write_text("plain")
    (workspace / ".env").write_text("KEY=the secret of here")
    return workspace, outside


def point(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)


async def outcome(tmp_path: Path, tool: str, arguments: str, act: Callable[[], None]) -> ToolFinished:
    tools = list(tools_of("files").values())
    answers = [call((tool, arguments)), say("done")]
    async with running(
        tmp_path, answers, tools, policy=POLICY.decide, policy_name="bypass", middlewares=[Plain(act)]
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        return bench.of(ToolFinished)[-1]


async def test_a_file_that_became_a_link_out_is_not_read(tmp_path: Path) -> None:
    workspace, outside = places(tmp_path)
    swap = lambda: point(workspace / "f", outside / "f")  # noqa: E731
    done = await outcome(tmp_path, "read_file", '{"path": "f"}', swap)
    assert done.status == "failed"
    assert "secret" not in told(done)


async def test_a_file_that_became_a_link_to_secrets_in_the_workspace_is_not_read(tmp_path: Path) -> None:
    workspace, _ = places(tmp_path)
    done = await outcome(
        tmp_path, "read_file", '{"path": "f"}', lambda: point(workspace / "f", workspace / ".env")
    )
    assert done.status == "failed"
    assert "secret" not in told(done)


async def test_a_link_is_read_as_it_led_when_it_was_judged(tmp_path: Path) -> None:
    workspace, outside = places(tmp_path)
    (workspace / "l").symlink_to(outside / "allowed")
    done = await outcome(
        tmp_path, "read_file", '{"path": "l"}', lambda: point(workspace / "l", outside / "f")
    )
    assert done.status == "ok"
    assert "what was allowed" in told(done)


async def test_a_new_file_is_not_made_behind_a_link_that_came_later(tmp_path: Path) -> None:
    workspace, outside = places(tmp_path)
    (workspace / "d").mkdir()

    def swap() -> None:
        (workspace / "d").rmdir()
        (workspace / "d").symlink_to(workspace / ".git" / "hooks")

    done = await outcome(tmp_path, "write_file", '{"path": "d/pre-commit", "content": "x"}', swap)
    assert done.status == "failed"
    assert list((workspace / ".git" / "hooks").iterdir()) == []
    assert sorted(path.name for path in outside.iterdir()) == ["allowed", "f"]


async def test_what_leads_elsewhere_while_the_user_thinks_is_asked_again(tmp_path: Path) -> None:
    workspace, outside = places(tmp_path)
    (workspace / "l").symlink_to(outside / "allowed")
    tools = list(tools_of("files").values())
    answers = [call(("read_file", '{"path": "l"}')), say("done")]
    async with running(tmp_path, answers, tools, policy=POLICY.decide) as bench:
        bench.submit(SubmitPrompt(text="go"))
        first = await bench.until_payload(PermissionRequested)
        point(workspace / "l", outside / "f")
        bench.submit(DecidePermission(request_id=first.request_id, decision="allow"))
        second = await bench.until_payload(PermissionRequested, 2)
        bench.submit(DecidePermission(request_id=second.request_id, decision="deny"))
        await bench.until("turn.finished")
        done = bench.of(ToolFinished)[-1]
        assert done.status == "denied"


async def test_a_search_shows_no_file_that_a_rule_denies(tmp_path: Path) -> None:
    workspace, _ = places(tmp_path)
    (workspace / "private").mkdir()
    (workspace / "private" / "a.txt").write_text("the secret of a rule")
    policy: Policy = RulePolicy(["deny read private/**", "allow tool grep"])
    answers = [call(("grep", '{"pattern": "plain|secret"}')), say("done")]
    tools: list[BaseModel] = list(tools_of("search").values())
    async with running(tmp_path, answers, tools, policy=policy.decide) as bench:
        bench.submit(SubmitPrompt(text="go"))
        asked = await bench.until_payload(PermissionRequested)
        bench.submit(DecidePermission(request_id=asked.request_id, decision="allow"))
        await bench.until("turn.finished")
        done = bench.of(ToolFinished)[-1]
        assert "plain" in told(done)
        assert "secret" not in told(done).replace("plain|secret", "")


async def test_a_question_says_which_paths_are_outside_through_a_link(tmp_path: Path) -> None:
    workspace, outside = places(tmp_path)
    (workspace / "lk").symlink_to(outside)
    tools = list(tools_of("files").values())
    answers = [call(("write_file", '{"path": "lk/y.txt", "content": "y"}')), say("done")]
    async with running(tmp_path, answers, tools, policy=POLICY.decide, policy_name="accept-edits") as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await bench.until_payload(PermissionRequested)
        assert request.outside_paths == ("lk/y.txt",)
