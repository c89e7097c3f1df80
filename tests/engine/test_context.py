"""The context's manifest and its limits, as recorded around each request."""

import threading
from pathlib import Path

import anyio

from tests.engine.harness import EchoTool, call, running
from tui_agent.context.token_counter import Tokens
from tui_agent.engine.middleware.prompt_sections import PromptTexts, prompt_sections
from tui_agent.ports.model import FinishChunk, TextChunk, UsageChunk
from tui_agent.protocol.commands import SetPolicy, SubmitPrompt
from tui_agent.protocol.events.context import ContextPacked, ContextWarned
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import PolicyName

TOOLS = ("write_todos", "write_file", "edit_file", "spawn_subtask")


def _using(tokens: int) -> list[object]:
    return [TextChunk("ok"), UsageChunk(Usage(input_tokens=tokens, output_tokens=5)), FinishChunk("stop")]


async def test_each_limit_that_is_reached_is_recorded_once_with_hysteresis_and_falling_only_below_all(
    tmp_path: Path,
) -> None:
    answers = [_using(tokens) for tokens in (3100, 3300, 3400, 4100, 3500, 4200, 2700, 8600, 4500, 3300)]
    async with running(tmp_path, answers) as bench:
        for count in range(1, len(answers) + 1):
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished", count)
    warned = [event.level for event in bench.of(ContextWarned)]
    assert warned == ["near", "over", "over", "below", "compaction"]


async def test_a_limit_that_is_crossed_again_and_again_in_a_turn_is_told_once(tmp_path: Path) -> None:
    used = (3_300, 4_100, 2_700) * 4
    answers: list[object] = [
        [
            *call(("echo", f'{{"words":"hello {at}"}}'))[:-1],
            UsageChunk(Usage(input_tokens=one)),
            FinishChunk("tool_calls"),
        ]
        for at, one in enumerate(used)
    ]
    async with running(tmp_path, [*answers, _using(2_000)], [EchoTool()]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    warned = [event.level for event in bench.of(ContextWarned)]
    assert warned == ["near", "over", "below"]


async def test_every_request_has_its_manifest_and_the_sections_add_up(tmp_path: Path) -> None:
    sections = prompt_sections(PromptTexts(), "Linux", TOOLS)
    answers = [call(("echo", '{"words":"hello"}')), _using(0)]
    async with running(tmp_path, answers, [EchoTool()], middlewares=sections) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    packed = bench.of(ContextPacked)
    assert len(packed) == bench.kinds().count("model.requested") == 2
    for manifest in packed:
        assert manifest.total_tokens == sum(section.tokens for section in manifest.sections)
    assert {section.name for section in packed[1].sections} == {
        "system",
        "task_contract",
        "available_tools",
        "messages",
        "recent_observations",
    }
    assert packed[0].prefix_digest == packed[1].prefix_digest


async def _prompts(tmp_path: Path, *policies: PolicyName, attended: bool = True) -> list[str]:
    """The system prompt under each policy, in a session with a sandbox."""
    sections = prompt_sections(PromptTexts(), "Linux", TOOLS, attended=attended)
    async with running(tmp_path, [_using(0)] * len(policies), middlewares=sections) as bench:
        bench.recorder.append(EnvStarted(environment="local", root="/w", sandbox="bubblewrap"))
        for count, policy in enumerate(policies, 1):
            bench.submit(SetPolicy(policy=policy))
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished", count)
        return [request.system for request in bench.model.requests]


async def test_the_prompt_ends_with_guidance_and_in_plan_mode_with_its_rules(tmp_path: Path) -> None:
    get = PromptTexts().get
    plan, ask, edits, bypass = await _prompts(tmp_path, "plan", "ask", "accept-edits", "bypass")
    start = bypass.removesuffix(get("guidance"))
    assert plan == start + get("plan_mode")
    assert ask == edits == f"{start}{get('sandbox')}\n\n{get('guidance')}" != bypass
    assert start.startswith(get("identity") + "\n\nWorkspace: ")
    assert start.endswith(f"\n\n{get('planning')}\n\n{get('subagents')}\n\n")


async def test_without_a_user_the_prompt_says_so_and_a_plan_is_the_answer(tmp_path: Path) -> None:
    get = PromptTexts().get
    plan, ask = await _prompts(tmp_path, "plan", "ask", attended=False)
    assert plan.endswith("\n\n" + get("plan_headless")) and get("headless") not in plan
    assert ask.endswith("\n\n".join(["", get("sandbox"), get("headless"), get("guidance")]))


async def test_a_prompt_text_of_the_users_replaces_the_bundled_one(tmp_path: Path) -> None:
    (tmp_path / "identity.md").write_text("You are brief.")
    assert PromptTexts([tmp_path]).get("identity") == "You are brief."
    assert PromptTexts([tmp_path]).get("planning") == PromptTexts().get("planning")


async def test_a_session_that_is_taken_up_is_counted_before_it_is_asked_with(tmp_path: Path) -> None:
    async with running(tmp_path, [call(("echo", '{"words":"hello"}')), _using(0)], [EchoTool()]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    async with running(tmp_path, [_using(0)]) as bench:
        with anyio.fail_after(30):
            while not bench.engine._turns._caller._counted:
                await anyio.lowlevel.checkpoint()
        assert bench.engine._turns._caller._counted == 4
        bench.submit(SubmitPrompt(text="on"))
        await bench.until("turn.finished")
        packed = bench.of(ContextPacked)
        assert len(packed[-1].added) == 5


class Encoding(Tokens):
    """Remembers what is counted on the event loop."""

    def __init__(self) -> None:
        super().__init__(lambda: None)
        self.on_loop: list[str] = []

    def count(self, text: str) -> int:
        if threading.current_thread() is threading.main_thread():
            self.on_loop.append(text)
        return super().count(text)


async def test_the_first_request_of_a_later_run_counts_its_own_message_alone_on_the_loop(
    tmp_path: Path,
) -> None:
    sections = prompt_sections(PromptTexts(), "Linux", TOOLS)
    calls: list[object] = [call(("echo", f'{{"words":"hello {at}"}}')) for at in range(30)]
    async with running(tmp_path, [*calls, _using(0)], [EchoTool()], middlewares=sections) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    tokens = Encoding()
    async with running(tmp_path, [_using(0)], [EchoTool()], middlewares=sections, tokens=tokens) as bench:
        with anyio.fail_after(30):
            while not bench.engine._turns._caller._counted:
                await anyio.lowlevel.checkpoint()
        assert not tokens.on_loop
        bench.submit(SubmitPrompt(text="on"))
        await bench.until("turn.finished")
        assert [one for one in tokens.on_loop if one] == ["on"]


class Words:
    """A vocabulary that counts words."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


async def test_the_tokenizer_is_loaded_once_a_request_takes_a_quarter_of_the_window(tmp_path: Path) -> None:
    said = [call(("echo", f'{{"words":"{number} {"x" * 3_000}"}}')) for number in range(4)]
    async with running(tmp_path, [*said, _using(0)], [EchoTool()], tokens=Tokens(Words)) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        packed = bench.of(ContextPacked)
    assert [one.tokenizer for one in packed] == ["characters"] * 2 + ["words"] * 3
    assert [len(one.added) for one in packed] == [1, 2, 5, 2, 2]
    assert packed[1].total_chars < 10_000 <= packed[2].total_chars


async def test_a_later_run_estimates_by_what_the_provider_counted_before(tmp_path: Path) -> None:
    long = "word " * 400
    async with running(tmp_path, [_using(1_000)]) as bench:
        bench.submit(SubmitPrompt(text=long))
        await bench.until("turn.finished")
        counted = bench.of(ContextPacked)[0].counted_tokens
    async with running(tmp_path, [_using(0)]) as bench:
        bench.submit(SubmitPrompt(text="go on"))
        await bench.until("turn.finished")
        packed = bench.of(ContextPacked)[-1]
    ratio = 1_000 / counted
    assert abs(packed.total_tokens - packed.counted_tokens * ratio) < 10 and ratio > 1.2
