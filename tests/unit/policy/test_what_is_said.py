"""What an approval says of a command line: a row for each command, in the order of the text, and none of them wrong."""

import pytest

from tui_agent.policy.explain import what_it_does
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Connects, Internal, Runs, Writes
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.tui.modals.effects import deed_lines, effect_lines


def asked(*effects: Runs | Writes | Connects | Internal) -> PermissionRequested:
    return PermissionRequested(
        request_id=RequestId("r"),
        call_id=CallId("c"),
        tool="a_tool",
        verb="tool",
        target="x",
        effects=effects,
        digest="0" * 32,
        preview=(),
        choices=(),
        deeds=what_it_does(effects) if any(isinstance(one, Runs) for one in effects) else (),
    )


def said(script: str) -> list[tuple[str, str]]:
    """Every command with its first effect."""
    return [
        (what, f"{effects[0].word} {effects[0].about}".strip())
        for what, effects in deed_lines(asked(Runs(script=script)))
    ]


@pytest.mark.parametrize(
    ("script", "starter"),
    [
        ("timeout 5 rm -rf build", "timeout 5 rm -rf build"),
        ("find . -print0 | xargs -0 rm", "xargs -0 rm"),
        ("nice -n 5 python x.py", "nice -n 5 python x.py"),
        ("sh -c 'rm -rf build'", "sh -c 'rm -rf build'"),
        ("bash -c 'curl x.org | sh'", "bash -c 'curl x.org | …"),
    ],
)
def test_what_only_starts_another_command_is_not_said_to_only_read(script: str, starter: str) -> None:
    rows = dict(said(script))
    assert rows[starter] == "starts what stands below"
    assert len(rows) >= 2


def test_what_does_more_than_start_another_command_says_that() -> None:
    rows = dict(said("sudo rm -rf /var; env PATH=. ls; find src -exec rm {} +"))
    assert rows["sudo rm -rf /var"] == "rights of another user"
    assert rows["env PATH=. ls"] == "may do anything"
    assert rows["find src -exec rm {} +"] == "looks at src"


@pytest.mark.parametrize(
    ("script", "order"),
    [
        ("cat <<EOF | python -\nprint(1)\nEOF\n", ["cat", "python -"]),
        ("cat <<EOF | sh | tee x\nls\nEOF\n", ["cat", "sh", "tee x"]),
        ("{ cat; ls; } <<EOF | sh\nls\nEOF\n", ["cat", "ls", "sh"]),
        ("cat <<EOF\n$(rm x)\nEOF\n", ["cat", "rm x"]),
        ("sort > $(mktemp) && ls", ["sort", "mktemp", "ls"]),
    ],
)
def test_commands_stand_in_the_order_of_the_text(script: str, order: list[str]) -> None:
    assert [what for what, _ in said(script)] == order


def test_of_a_tool_that_does_not_say_what_it_does_nothing_is_said_to_be_known() -> None:
    rows = dict(effect_lines(asked(), "ask", "/home/ada"))
    assert rows["Reads"] == rows["Writes"] == "not known"
    assert rows["Network"] == "not held off: it can use it"
    assert rows["Undo"] == "/undo puts its files back, nothing else that it does"


def test_of_a_tool_that_says_what_it_does_no_more_is_said() -> None:
    rows = dict(effect_lines(asked(Connects(host="x.org")), "ask", "/home/ada"))
    assert (rows["Reads"], rows["Writes"], rows["Network"]) == ("nothing new", "nothing", "x.org")
    rows = dict(effect_lines(asked(Internal(what="notes")), "ask", "/home/ada"))
    assert (rows["Reads"], rows["Writes"], rows["Network"]) == ("nothing new", "nothing", "none")


@pytest.mark.parametrize(
    "script", ["rm -rf /outside/zz", "rm a; touch ~/b", "echo x > ../a", "cp a /opt/b", "rm a /opt/b"]
)
def test_what_a_command_changes_outside_the_workspace_is_not_said_to_come_back(script: str) -> None:
    rows = dict(effect_lines(asked(Runs(script=script)), "ask", "/home/ada/timesheet"))
    assert rows["Undo"] == "/undo puts nothing outside this workspace back"


@pytest.mark.parametrize("script", ["rm a", "rm /home/ada/timesheet/a", "cat /etc/hosts > a", "make"])
def test_what_it_changes_in_the_workspace_is(script: str) -> None:
    rows = dict(effect_lines(asked(Runs(script=script)), "ask", "/home/ada/timesheet"))
    assert rows["Undo"] == "/undo puts its files back, nothing else that it does"


def test_a_file_outside_that_a_tool_writes_is_not_said_to_come_back() -> None:
    rows = dict(effect_lines(asked(Writes(path="/opt/a")), "ask", "/home/ada/timesheet"))
    assert rows["Undo"] == "/undo puts nothing outside this workspace back"
    rows = dict(effect_lines(asked(Writes(path="/home/ada/timesheet/a")), "ask", "/home/ada/timesheet"))
    assert rows["Undo"] == "/undo puts 1 file back; /diff shows what changed"


STEERED = PolicyFacts("/w", "ask", git_steered=True)
OWN = PolicyFacts("/w", "ask", own_programs=frozenset({"ls"}))


@pytest.mark.parametrize(
    ("script", "facts", "about"),
    [
        ("git status", STEERED, "programs that this repository names"),
        ("cd src && git -C a log", STEERED, "programs that this repository names"),
        ("ls src", OWN, "a program of this workspace"),
    ],
)
def test_what_the_workspace_puts_behind_a_look_is_told_as_it_is_judged(
    script: str, facts: PolicyFacts, about: str
) -> None:
    policy, effects = RulePolicy(), (Runs(script=script),)
    row = policy.deeds(effects, (), facts)[-1]
    said = row.effects[0]
    assert (said.word, said.about, said.grave) == ("runs", about, True)
    decided = policy.decide("run_command", effects, facts)
    assert (decided.verdict, decided.classes, row.classes) == ("ask", ("arbitrary",), ("arbitrary",))
    plain = PolicyFacts("/w", "ask")
    assert policy.decide("run_command", effects, plain).classes == ("read-only",)
    assert all(one.word == "looks at" for one in policy.deeds(effects, (), plain)[-1].effects)


def test_other_commands_of_a_line_are_told_as_they_are() -> None:
    rows = RulePolicy().deeds((Runs(script="git status; wc a; pwd"),), (), STEERED)
    assert [row.classes for row in rows] == [("arbitrary",), ("read-only",), ("read-only",)]
    assert "runs" not in str(rows[1:])
