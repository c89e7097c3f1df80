"""A built-in demo that is refused a call, or asked for more, ends with words and not with a fault."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tui_agent.cli.run.demo import bundled_demos, make_workspace
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.commands import Interrupt, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.session.headless_turn import run_turn
from tui_agent.wiring.session import open_session

DEMO = bundled_demos()["bugfix"]


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    """The demo in a new workspace, where nobody is there to allow anything."""
    monkeypatch.setenv("HOME", str(tmp_path))
    workspace = make_workspace(DEMO, tmp_path / "work")
    return SessionOptions(
        cwd=workspace, client="demo", interactive=False, data_dir=tmp_path / "data", model="demo:bugfix"
    )


async def _said(options: SessionOptions, text: str) -> tuple[str, str]:
    """The next turn of the one session: how it ended, and the last words."""
    async with open_session(replace(options, session="ses_0000000000000001")) as opened:
        outcome = await run_turn(opened, text, lambda record: None)
    return outcome.reason, outcome.answer


@pytest.mark.slow
async def test_a_refused_call_ends_the_demo_in_good_order_and_for_good(options: SessionOptions) -> None:
    reason, answer = await _said(options, DEMO.prompt)
    assert reason == "finished"
    assert answer.startswith("**The demo ends here. Its script cannot continue")
    for _ in range(6):
        reason, answer = await _said(options, "go on")
        assert reason == "finished" and answer.startswith("**The demo ends here.**")
        assert "Next:" in answer and "Fixed" not in answer


@pytest.mark.slow
async def test_a_refused_last_step_does_not_end_the_demo_early(options: SessionOptions) -> None:
    reason, answer = await _said(replace(options, policy="accept-edits"), DEMO.prompt)
    assert reason == "finished" and answer.startswith("**Fixed.**")
    assert (options.cwd / "reports").is_dir()


@pytest.mark.slow
async def test_another_task_than_the_scripts_is_answered_in_a_friendly_way(options: SessionOptions) -> None:
    reason, answer = await _said(options, "write me a poem")
    assert reason == "finished" and "Its script has no answer to your message" in answer


@pytest.mark.slow
@pytest.mark.timeout(60)
async def test_after_its_last_answer_the_demo_says_what_to_do_next(options: SessionOptions) -> None:
    attended = replace(options, policy="bypass")
    assert (await _said(attended, DEMO.prompt))[1].startswith("**Fixed.**")
    reason, answer = await _said(attended, "thanks, and now?")
    assert reason == "finished" and answer.startswith("**The demo ends here.**")
    assert "tui-agent demo --list" in answer


async def test_an_endless_answer_of_a_demo_is_stopped_at_once(options: SessionOptions) -> None:
    script = options.cwd.parent / "endless.yaml"
    script.write_text("pace: 200\nanswers:\n  - text: >-\n      " + "word " * 20_000)
    endless = replace(options, model=f"scripted:{script}", interactive=True)
    with anyio.fail_after(30):
        async with open_session(endless) as opened:
            session, follower = opened, opened.follow()
            session.submit(SubmitPrompt(text="go"))
            kinds, reason = list[str](), ""
            while "turn.finished" not in kinds:
                for record in await follower.next_batch():
                    assert isinstance(record, Envelope)
                    if record.payload.kind == "model.delta" and "model.delta" not in kinds:
                        session.submit(Interrupt())
                    kinds.append(record.payload.kind)
                    if isinstance(record.payload, TurnFinished):
                        reason = record.payload.reason
    assert reason == "interrupted"
    assert kinds.count("model.delta") < 1_000
