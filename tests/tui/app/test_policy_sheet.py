"""`/policy`: what each profile does, the sandbox, the rules in force, switching, and taking a rule back."""

import json
import re

import pytest

from tests.tui.app.driving import Driven, end_grace_period, golden, open_app
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.commands import RevokeRule, SetPolicy
from tui_agent.protocol.effects import Effect, NetworkEffect, ReadEffect, RunEffect, WriteEffect
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRevoked
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.settings import POLICIES
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.policy import PolicySheet
from tui_agent.tui.panes.policy import COLUMNS, GRID

RULES = [
    {
        "rule": "allow run pytest *",
        "source": "/dev/null/nowhere/.config/tui-agent/policy.toml, rule 1",
        "scope": "in every project",
    },
    {
        "rule": "deny run git push *",
        "source": "/home/ada/timesheet/.tui_agent/policy.toml, rule 1",
        "scope": "in this project",
        "bounded": True,
    },
]
SAVED = ("~/.config/tui-agent/policy.toml", "/home/ada/timesheet/.tui_agent/policy.toml")
RULE = "allow run npm run test *"


async def says_rules(*words: str) -> tuple[int, str]:
    rows = RULES if words[:3] == ("policy", "rules", "--json") else []
    return 0, "\n".join(json.dumps(row) for row in rows)


async def says_a_fault(*words: str) -> tuple[int, str]:
    return 2, "tui-agent: policy.toml, rule 1 is no table."


def with_rule() -> list[object]:
    records = golden("night_shift")
    last = records[-1]
    granted = PermissionDecided(
        call_id=CallId("call_x"), request_id=None, decision="allow", decided_by="user", policy="ask", rule_id="ask.commands",
        reason="yes", digest="0" * 32, effects=(RunEffect(script="npm run test"),), reach="session", rule=RULE,
    )  # fmt: skip
    env = EnvStarted(environment="local", root="/home/ada/timesheet", sandbox="bubblewrap")
    return [*records, *(after(last.seq + at, one) for at, one in enumerate((granted, env), 1))]


def after(seq: int, payload: object) -> Envelope:
    return Envelope.model_validate(
        {"v": 2, "seq": seq, "time": 1.0, "session": "ses_0000night0shift", "agent": AgentId("main"), "parent": seq - 1,
         "cause": None, "payload": payload}
    )  # fmt: skip


async def opened(driven: Driven) -> PolicySheet:
    await driven.settle()
    assert driven.app.controller is not None
    driven.app.controller.act("policy")
    await driven.pilot.pause()
    await driven.pilot.pause()
    sheet = driven.app.screen
    assert isinstance(sheet, PolicySheet)
    return sheet


@pytest.mark.parametrize("sandboxed", [False, True])
def test_the_grid_says_what_the_policy_does(sandboxed: bool) -> None:
    samples: dict[str, list[Effect]] = {
        "read": [ReadEffect(path="a"), RunEffect(script="git status")],
        "edit": [WriteEffect(path="a")],
        "remove": [WriteEffect(path="a", removes=True)],
        "run": [RunEffect(script="make"), RunEffect(script="pytest -q")],
        "network": [NetworkEffect(host="example.org"), RunEffect(script="curl example.org")],
        "outside": [ReadEffect(path="/home/bob/a"), WriteEffect(path="/home/bob/a")],
    }
    said = {
        "yes": "allow",
        "asks": "ask",
        "asks*": "ask",
        "no": "deny",
        "sandbox": "allow" if sandboxed else "ask",
    }
    assert tuple(GRID) == POLICIES and tuple(samples) == COLUMNS
    for policy in POLICIES:
        for column, cell in zip(COLUMNS, GRID[policy], strict=True):
            for effect in samples[column]:
                facts = PolicyFacts("/home/ada/ws", policy, sandboxed=sandboxed)
                assert RulePolicy().decide("t", (effect,), facts).verdict == said[cell], (policy, column)
        facts = PolicyFacts("/home/ada/ws", policy, restorable_files=frozenset({"/home/ada/ws/a"}))
        verdict = RulePolicy().decide("run_command", (RunEffect(script="rm a"),), facts).verdict
        cell = GRID[policy][COLUMNS.index("remove")]
        assert verdict == ("allow" if cell.endswith("*") else said[cell]), policy


async def test_it_shows_profiles_sandbox_and_rules_with_their_source() -> None:
    async with open_app(with_rule(), outside=says_rules) as driven:  # type: ignore[arg-type]
        await opened(driven)
        text = driven.text()
        assert "ask in force" in text and "accept-edits    yes        yes        asks*      yes" in text
        assert "* only if /undo cannot restore the files that a command names" in text
        assert "bubblewrap: commands write only to this workspace" in text
        assert RULE in text
        own, project = (re.escape(f"Saved in {file}") + r"\s+▌?[^▌]*▌ +" for file in SAVED)
        assert re.search(own + r"allow run pytest \*  +in every project", text)
        assert re.search(project + r"deny run git push \*  +in this project", text)


async def test_without_a_sandbox_it_says_so_and_why() -> None:
    records = golden("night_shift")
    bare = EnvStarted(environment="local", root="/x", no_sandbox_reason="bubblewrap is not installed.")
    records.append(after(records[-1].seq + 1, bare))
    async with open_app(records, outside=says_rules) as driven:
        await opened(driven)
        assert (
            "not in use. bubblewrap is not installed. Without a sandbox, accept-edits asks" in driven.text()
        )
        assert "accept-edits    yes        yes        asks*      asks" in driven.text()


async def test_enter_switches_and_shift_tab_goes_on_and_the_sheet_stays() -> None:
    async with open_app(golden("night_shift"), outside=says_rules) as driven:
        sheet = await opened(driven)
        await driven.press("down", "down", "enter")
        await driven.press("shift+tab")
        assert [one for one in driven.session.submitted if isinstance(one, SetPolicy)] == [
            SetPolicy(policy="bypass", id=driven.session.submitted[-2].id),
            SetPolicy(policy="accept-edits", id=driven.session.submitted[-1].id),
        ]
        assert driven.app.screen is sheet
        await driven.press("escape")
        assert driven.app.screen is not sheet


async def test_home_and_end_select_the_first_and_the_last_row() -> None:
    async with open_app(golden("night_shift")) as driven:
        sheet = await opened(driven)
        await driven.press("end")
        assert sheet.chosen == sheet.count - 1
        await driven.press("home")
        assert sheet.chosen == 0


async def test_a_rule_of_the_session_is_taken_back_and_goes_from_the_list() -> None:
    async with open_app(with_rule(), outside=says_rules) as driven:  # type: ignore[arg-type]
        await opened(driven)
        await driven.press("up", "up", "up", "d")
        assert "D revoke" in driven.text()
        wished = driven.session.submitted[-1]
        assert isinstance(wished, RevokeRule) and wished.rule == RULE
        driven.session.feed(PermissionRevoked(rule=RULE))
        await driven.until(
            lambda: (
                "“Yes, this session” in an approval adds one" in driven.text()
                and "rule revoked" in driven.text()
            )
        )


async def test_a_saved_rule_is_removed_after_a_question_that_names_its_file() -> None:
    asked: list[tuple[str, ...]] = []

    async def removes(*words: str) -> tuple[int, str]:
        asked.append(words)
        return (0, "Removed.\n") if "remove" in words else await says_rules(*words)

    async with open_app(golden("night_shift"), outside=removes) as driven:
        sheet = await opened(driven)
        await driven.press("up", "up")
        assert "D remove from policy.toml" in driven.text()
        await driven.press("d")
        assert f"The rule applies in every project and is saved in {SAVED[0]}." in driven.text()
        for key in ("escape", "d", "y"):
            if isinstance(driven.app.screen, Confirm):
                end_grace_period(driven.app.screen)
            await driven.press(key)
            assert len(asked) == 1 + 2 * (key == "y")
        assert driven.app.screen is sheet
        assert [words[:3] for words in asked[1:]] == [
            ("policy", "remove", "--everywhere"),
            ("policy", "rules", "--json"),
        ]
        assert asked[1][-2:] == ("--", "allow run pytest *")


async def test_a_rule_that_cannot_be_removed_stays_and_the_sheet_says_why() -> None:
    async def refuses(*words: str) -> tuple[int, str]:
        return (
            (2, "tui-agent: policy.toml cannot be written: No space left.\n")
            if "remove" in words
            else await says_rules(*words)
        )

    async with open_app(golden("night_shift"), outside=refuses) as driven:
        await opened(driven)
        await driven.press("up", "up", "d")
        assert isinstance(driven.app.screen, Confirm)
        end_grace_period(driven.app.screen)
        await driven.press("y")
        assert (
            "policy.toml cannot be written: No space left." in driven.text()
            and "allow run pytest *" in driven.text()
        )


async def test_the_rules_of_a_project_cannot_be_removed_here() -> None:
    async with open_app(golden("night_shift"), outside=says_rules) as driven:
        sheet = await opened(driven)
        assert len(sheet.choices) == len(GRID) + 1


async def test_a_file_of_rules_that_cannot_be_read_is_said() -> None:
    async with open_app(golden("night_shift"), outside=says_a_fault) as driven:
        await opened(driven)
        assert "policy.toml, rule 1 is no table." in driven.text()


@pytest.mark.parametrize("size", [(80, 24), (48, 15), (40, 12)])
async def test_it_keeps_its_columns_apart_on_small_screens(size: tuple[int, int]) -> None:
    async with open_app(with_rule(), size=size, outside=says_rules) as driven:  # type: ignore[arg-type]
        await opened(driven)
        assert "asksasks" not in driven.text() and "bypass" in driven.text()
        assert "Esc close" in driven.text()
