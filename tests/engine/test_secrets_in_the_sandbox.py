"""What a command reads of the workspace's secrets follows from how it was allowed: against the real bubblewrap."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from tests.engine.harness import Bench, call, running, say
from tests.stubs.sandboxed import confinement, elsewhere, require_sandbox
from tests.stubs.tool_context import text, tools_of
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.policy import PermissionRequested, Reach
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.settings import PolicyName
from tui_agent.workspace.local.environment import LocalEnvironment


@dataclass(frozen=True, slots=True)
class Seen:
    """What the model was told, and what the user was asked."""

    told: str
    asked: tuple[str, ...]


def answering(bench: Bench, decision: Literal["allow", "deny"], reach: Reach, rule: str = "") -> None:
    def react(event: Envelope) -> None:
        if isinstance(event.payload, PermissionRequested):
            wide = event.payload.reason == ASKED
            if wide and rule and not event.payload.rule_error:
                words = DecidePermission(
                    request_id=event.payload.request_id, decision="allow", reach=reach, rule=rule
                )
                bench.submit(words)
                return
            answer = DecidePermission(
                request_id=event.payload.request_id, decision=decision, reach=reach if wide else "once"
            )
            bench.submit(answer)

    bench.on_event = react


async def seen(
    command: str,
    policy: PolicyName,
    files: dict[str, str],
    *,
    sandbox: bool = True,
    rules: Sequence[str] = (),
    answer: Literal["allow", "deny"] = "allow",
    reach: Reach = "once",
    kept: Callable[[Sequence[str]], None] | None = None,
    again: str = "",
    rule: str = "",
    interactive: bool = True,
) -> Seen:
    """One command, or one more after it, with the same answer to every question; the last result."""
    require_sandbox()
    with elsewhere() as base:

        def made(root: Path) -> LocalEnvironment:
            for name, content in files.items():
                (root / name).write_text(content)
            confined = confinement(root, base / "home", base / "records", confines=sandbox)
            return LocalEnvironment(root, confinement=confined)

        calls = [call(("run_command", json.dumps({"command": each}))) for each in (command, again) if each]
        script = [*calls, say("Done.")]
        async with running(
            base,
            script,
            list(tools_of("shell").values()),
            env=made,
            policy=RulePolicy(rules).decide,
            policy_name=policy,
            interactive=interactive,
            remember_readable=kept,
        ) as bench:
            answering(bench, answer, reach, rule)
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished")
            end = bench.of(ToolFinished)[-1]
            asked = bench.of(PermissionRequested)
            told = text(ToolResult(ok=True, content=end.content))
            return Seen(told, tuple(one.reason for one in asked))


FILES = {".env": "APP_TOKEN=canary\n", "a.txt": "canary of a.txt\n"}
TEST = "import os\nfor line in open('.env'):\n    os.environ.update([line.strip().split('=')])\nprint(len(os.environ['APP_TOKEN']))\n"


@pytest.mark.parametrize("command", ["grep -rn canary .", "rg --hidden -uu -n canary"])
async def test_an_unasked_search_finds_the_rest_and_says_what_was_empty_to_it(command: str) -> None:
    found = await seen(command, "ask", FILES)
    assert found.asked == ()
    assert "a.txt:1:canary of a.txt" in found.told and "APP_TOKEN" not in found.told
    assert "[the sandbox: .env may hold secrets, so it appeared empty to this command.]" in found.told


async def test_without_a_sandbox_it_is_asked_about_and_a_yes_reads_all() -> None:
    found = await seen("grep -rn canary .", "ask", FILES, sandbox=False)
    assert found.asked == ("it would also read .env, which may hold secrets",)
    assert "APP_TOKEN=canary" in found.told


async def test_a_listing_says_what_in_it_is_not_as_it_stands() -> None:
    of_env = "[the sandbox: .env may hold secrets: its content, size and time are hidden from commands.]"
    told = (await seen("ls -la", "ask", FILES)).told
    assert told.endswith(of_env) and told.count("the sandbox") == 1
    told = (await seen("touch b.txt; ls -la", "accept-edits", FILES)).told
    assert told.endswith(
        "[the sandbox: .git, commondir, refs do not exist: the output shows empty "
        f"placeholders of the sandbox.]\n{of_env}"
    )
    assert (await seen("ls -la a.txt", "ask", FILES)).told.count("sandbox") == 0


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ("set -a; source .env; true", "The command could not read .env, which may hold secrets."),
        (
            ". ./.env 2>/dev/null",
            "start.sh refers to .env, which may hold secrets and cannot be read by this command.",
        ),
    ],
)
async def test_a_script_that_goes_on_without_it_is_said_to(script: str, note: str) -> None:
    found = await seen("bash start.sh", "accept-edits", {**FILES, "start.sh": f"{script}\ntrue\n"})
    assert found.told.startswith("[exit 0") and found.told.endswith(f"[the sandbox: {note}]")
    assert "canary" not in found.told


async def test_a_command_that_reads_nothing_of_it_says_nothing_of_it() -> None:
    assert (await seen("cat a.txt", "ask", FILES)).told == "[exit 0]\ncanary of a.txt"


NEEDS = {**FILES, "test.py": TEST}
ASKED = "The command tried to read .env, which may hold secrets and is hidden from commands."


async def test_tests_that_need_it_run_again_with_it_and_in_the_sandbox() -> None:
    found = await seen(
        "python3 test.py; echo $TUI_AGENT_SANDBOX", "accept-edits", {**NEEDS, "test.py": f"{TEST}exit(0)\n"}
    )
    assert found.asked == () and "Traceback" in found.told  # it ended well: nothing is asked
    found = await seen("echo in $TUI_AGENT_SANDBOX && python3 test.py", "accept-edits", NEEDS)
    assert found == Seen("[exit 0]\nin 1\n6", (ASKED,))


async def test_tests_that_rewrite_one_run_again_with_it_and_in_the_sandbox() -> None:
    code = "open('own.key', 'w').write('new')\nprint(open('own.key').read())\n"
    found = await seen(
        "python3 test.py && echo $TUI_AGENT_SANDBOX",
        "accept-edits",
        {"own.key": "old", "test.py": code},
    )
    change = "The command tried to change own.key, which may hold secrets and is protected from commands."
    assert found == Seen("[exit 0]\nnew\n1", (change,))


@pytest.mark.slow_variants
@pytest.mark.parametrize(("reach", "asked"), [("once", 2), ("session", 1), ("always", 1)])
async def test_what_the_user_opened_for_the_session_or_for_always_is_asked_about_no_more(
    reach: Reach, asked: int
) -> None:
    kept: list[Sequence[str]] = []
    found = await seen(
        "python3 test.py", "accept-edits", NEEDS, reach=reach, kept=kept.append, again="python3 ./test.py"
    )
    assert found == Seen("[exit 0]\n6", (ASKED,) * asked)
    assert [len(paths) for paths in kept] == [1] * (reach == "always")
    assert all(path.endswith("/.env") and path.startswith("/") for paths in kept for path in paths)


async def test_a_no_leaves_it_shut_and_the_model_is_told() -> None:
    found = await seen("python3 test.py", "accept-edits", NEEDS, answer="deny")
    assert (
        f"[the sandbox: {ASKED} The command was not run again with access to .env: The user did not allow this call."
        in found.told
    )


async def test_where_no_one_is_there_it_stays_shut_and_the_way_to_open_it_is_named() -> None:
    found = await seen("python3 test.py", "bypass", NEEDS, interactive=False)
    assert (
        found.asked == ()
        and f"{ASKED} The command was not run again with access to .env" in found.told
        and "--readable" in found.told
    )


async def test_an_answer_that_names_other_files_opens_none_and_is_asked_for_again() -> None:
    kept: list[Sequence[str]] = []
    found = await seen(
        "python3 test.py", "accept-edits", NEEDS, answer="deny", reach="always", kept=kept.append,
        rule="sandbox readable /etc/shadow",
    )  # fmt: skip
    assert found.asked == (ASKED, ASKED) and kept == [] and "did not allow this call" in found.told


async def test_a_search_of_the_session_finds_what_was_opened() -> None:
    found = await seen("python3 test.py", "accept-edits", NEEDS, reach="session", again="grep -rn canary .")
    assert "APP_TOKEN=canary" in found.told and "appeared empty" not in found.told


async def test_an_approved_command_that_names_it_reads_it_in_the_sandbox() -> None:
    found = await seen("python3 test.py .env", "ask", {**FILES, "test.py": TEST})
    assert len(found.asked) == 1 and found.told == "[exit 0]\n6"


async def test_a_line_that_the_user_allowed_word_for_word_reads_what_it_names() -> None:
    found = await seen(
        "python3 test.py .env", "ask", {**FILES, "test.py": TEST}, rules=["allow exact python3 test.py .env"]
    )
    assert found == Seen("[exit 0]\n6", ())


@pytest.mark.parametrize(("ignored", "unrestorable"), [(True, (".env",)), (False, ())])
async def test_a_refused_deletion_names_the_file_and_whether_undo_can_restore_it(
    ignored: bool, unrestorable: tuple[str, ...]
) -> None:
    require_sandbox()
    with elsewhere() as base:

        def made(root: Path) -> LocalEnvironment:
            (root / ".env").write_text(FILES[".env"])
            (root / ".gitignore").write_text(".env\n" if ignored else "")
            (root / "clean.py").write_text("import os\nos.remove('.env')\n")
            return LocalEnvironment(root, confinement=confinement(root, base / "home", base / "records"))

        script = [call(("run_command", '{"command": "python3 clean.py"}')), say("Done.")]
        async with running(
            base,
            script,
            list(tools_of("shell").values()),
            env=made,
            policy=RulePolicy().decide,
            policy_name="accept-edits",
            checkpoints=True,
        ) as bench:
            answering(bench, "allow", "once")
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished")
            asked = [request for request in bench.of(PermissionRequested) if request.rerun]
    why = (
        "The command tried to delete or replace .env, which may hold secrets and is protected from commands."
    )
    assert [(one.rerun, one.reason, one.unrestorable) for one in asked] == [("outside", why, unrestorable)]
