"""The rows of an approval, one for each command in the order of the text, and the chain of reasons behind a decision."""

from collections.abc import Collection, Sequence

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import (
    Effect,
    InternalEffect,
    McpCallEffect,
    NetworkEffect,
    ReadEffect,
    RunEffect,
    WriteEffect,
)
from tui_agent.protocol.events.policy import CommandEffects, PermissionRequested
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.tui.modals.effect_table import effect_lines

WORKSPACE = "/home/ada/timesheet"
FACTS = PolicyFacts(WORKSPACE, "ask")


def deeds(
    *effects: Effect, new: Collection[str] = (), facts: PolicyFacts = FACTS
) -> tuple[CommandEffects, ...]:
    return RulePolicy().describe_effects(effects, new, facts)


def table(found: Sequence[CommandEffects]) -> list[tuple[str, list[str]]]:
    return [
        (deed.command, [f"{effect.verb} {effect.target}".strip() for effect in deed.effects])
        for deed in found
    ]


def lines(script: str) -> list[tuple[str, list[str]]]:
    return table(deeds(RunEffect(script=script)))


STARTS = ["starts the command below"]


@rows(
    "script, expected",
    [
        ("timeout 5 rm -rf build", [("timeout 5 rm -rf build", ["deletes build"])]),
        (
            "printenv | grep KEY",
            [
                (
                    "printenv",
                    [
                        "may do anything: it shows every variable, and one may hold a secret",
                        "prints possible secrets",
                    ],
                ),
                ("grep KEY", []),
            ],
        ),
        ("grep -r KEY", [("grep -r KEY", ["reads ."])]),
        ("sleep 300", [("sleep 300", ["may do anything: sleep may run for a long time with 300"])]),
        (
            "python3 -m http.server",
            [
                (
                    "python3 -m http.server",
                    ["network host not known", "may do anything", "runs until it is stopped"],
                )
            ],
        ),
        ("sh -c 'rm -rf build'", [("sh -c 'rm -rf build'", STARTS), ("rm -rf build", ["deletes build"])]),
        (
            "nice -n 5 python x.py",
            [("nice -n 5 python x.py", ["reads x.py", "may do anything"])],
        ),
        (
            "sudo rm -rf /var",
            [("sudo rm -rf /var", ["acts as another user"]), ("rm -rf /var", ["deletes /var"])],
        ),
        (
            ".venv/bin/python -m pytest -q",
            [(".venv/bin/python -m …", ["runs or changes code in this workspace"])],
        ),
        (
            "env PATH=. ls",
            [
                ("env PATH=. ls", ["may do anything: PATH is set, which may change what runs"]),
                ("ls", ["may do anything: PATH is set, which may change what runs"]),
            ],
        ),
        (
            "ls; \\rm -rf src",
            [
                ("ls; \\rm -rf src", ["may do anything: there is a backslash before `r`"]),
                ("ls", ["lists ."]),
                ("rm -rf src", ["deletes src"]),
            ],
        ),
        ("cd ../other && make", [("cd ../other", []), ("make", ["runs or changes code in ../other"])]),
        ("foo", [("foo", ["may do anything: it is not known what foo does"])]),
        ("# nothing", [("# nothing", ["may do anything: it contains no command"])]),
        ("kill 123", [("kill 123", ["ends processes"])]),
        ("kill $!", [("kill $!", [])]),
        ("wc a; pwd", [("wc a", ["reads a"]), ("pwd", [])]),
        (
            "tail -f a; nohup make &",
            [
                ("tail -f a", ["reads a", "runs until it is stopped"]),
                ("nohup make", ["leaves a process behind"]),
                ("make", ["runs or changes code in this workspace", "leaves a process behind"]),
            ],
        ),
    ],
)
def test_each_command_has_a_row_with_its_effects(script: str, expected: list[tuple[str, list[str]]]) -> None:
    assert lines(script) == expected


def test_code_of_another_folder_is_named_with_its_folder() -> None:
    assert table(deeds(RunEffect(script="npm test", cwd="../other"))) == [
        ("npm test", ["runs or changes code in ../other"])
    ]


def test_a_line_that_installs_and_tests_is_shown_row_by_row() -> None:
    line = 'pip install "freezegun>=1.5" && pytest -q tests/test_entry.py > report.txt'
    assert table(deeds(RunEffect(script=line), new={"report.txt"})) == [
        (
            "pip install …",
            [
                "network package index",
                "runs code from outside",
                "changes files that it does not name",
            ],
        ),
        ("pytest -q …", ["writes report.txt, a new file", "runs or changes code in this workspace"]),
    ]
    assert RulePolicy().written_paths((RunEffect(script=line),)) == ("report.txt",)


@rows(
    "script, order",
    [
        ("cat <<'EOF' | python -\nprint(1)\nEOF\n", ["cat <<'EOF'", "python -"]),
        ("sort a && ls; wc b | head", ["sort a", "ls", "wc b", "head"]),
        ("if test -f a; then cat a; fi; pwd", ["test -f a", "cat a", "pwd"]),
    ],
)
def test_commands_stand_in_the_order_of_the_text(script: str, order: list[str]) -> None:
    assert [what for what, _ in lines(script)] == order


@rows(
    "script, about",
    [
        ("curl https://example.org/a", "example.org"),
        ("curl example.org", "example.org"),
        ("wget -q 'example.org:8080/a?b'", "example.org:8080"),
        ("curl -d @a.json localhost", "host not known, localhost"),
        ("curl good.org@evil.example", "host not known"),
        ("git push", "host not known"),
        ("pip install x", "package index"),
    ],
)
def test_the_row_of_the_network_names_the_host_or_says_that_it_is_not_known(script: str, about: str) -> None:
    [deed] = deeds(RunEffect(script=script))
    assert [effect.target for effect in deed.effects if effect.verb == "network"] == [about]


def test_rows_of_single_effects() -> None:
    effects = (
        ReadEffect(path="a"),
        WriteEffect(path="b"),
        WriteEffect(path="c", removes=True),
        NetworkEffect(host="example.org"),
        InternalEffect(subject="todos"),
    )
    assert table(deeds(*effects)) == [
        ("a", ["reads a"]),
        ("b", ["writes b"]),
        ("c", ["deletes c"]),
        ("example.org", ["network example.org"]),
        ("todos", []),
    ]
    [deed] = deeds(RunEffect(script="rm -r build"))
    assert (deed.command, deed.classes) == ("rm -r build", ("destructive",))
    assert [(effect.verb, effect.target, effect.risky) for effect in deed.effects] == [
        ("deletes", "build", True)
    ]


def test_rows_beyond_what_an_event_may_hold_are_counted() -> None:
    found = deeds(RunEffect(script="; ".join(f"cat file{number}.txt" for number in range(240))))
    assert 50 < len(found) < 240
    assert found[-1].command == f"{240 - len(found) + 1} more"


@pytest.mark.parametrize(("last", "name"), [("rm -rf sub", "destructive"), ("sudo make", "privilege")])
def test_commands_that_delete_or_act_as_another_user_are_never_only_counted(last: str, name: str) -> None:
    line = "; ".join([*(f"cat file{number}.txt" for number in range(200)), last, "echo end"])
    found = deeds(RunEffect(script=line))
    assert [deed.command for deed in found if name in deed.classes] == [last]
    assert found[-1].command.endswith(" more")


STEERED = PolicyFacts(WORKSPACE, "ask", git_is_steered=True)
OWN = PolicyFacts(WORKSPACE, "ask", workspace_programs=frozenset({"ls"}))


@pytest.mark.parametrize(
    ("script", "facts", "about"),
    [
        ("git status", STEERED, "programs set in this repository's git configuration"),
        ("cd src && git -C a log", STEERED, "programs set in this repository's git configuration"),
        ("ls src", OWN, "a program from this workspace"),
    ],
)
def test_programs_that_the_workspace_supplies_have_their_effect_in_the_row(
    script: str, facts: PolicyFacts, about: str
) -> None:
    policy, effects = RulePolicy(), (RunEffect(script=script),)
    row = policy.describe_effects(effects, (), facts)[-1]
    first = row.effects[0]
    assert (first.verb, first.target, first.risky) == ("runs", about, True)
    decided = policy.decide("run_command", effects, facts)
    assert (decided.verdict, decided.classes, row.classes) == ("ask", ("arbitrary",), ("arbitrary",))
    assert policy.decide("run_command", effects, FACTS).classes == ("read-only",)
    assert all(effect.verb == "lists" for effect in policy.describe_effects(effects, (), FACTS)[-1].effects)


def test_other_commands_of_such_a_line_are_shown_as_they_are() -> None:
    found = deeds(RunEffect(script="git status; wc a; pwd"), facts=STEERED)
    assert [deed.classes for deed in found] == [("arbitrary",), ("read-only",), ("read-only",)]


def asked(*effects: Effect) -> PermissionRequested:
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
        commands=deeds(*effects) if any(isinstance(effect, RunEffect) for effect in effects) else (),
    )


UNKNOWN = {"Reads": "not known", "Writes": "not known"}
CONNECTS = "not blocked: the {} can use the network"
OUTSIDE = {"Undo": "/undo restores nothing outside this workspace"}
INSIDE = {"Undo": "/undo restores the changed files, but nothing else"}
UNNAMED = {"Undo": "/undo restores only changed files, and no ignored ones"}


@rows(
    "effects, expected",
    [
        ((), {**UNKNOWN, **UNNAMED, "Network": CONNECTS.format("tool")}),
        (
            (McpCallEffect(server="time", tool="now"),),
            {**UNKNOWN, **UNNAMED, "Network": CONNECTS.format("MCP server")},
        ),
        ((NetworkEffect(host="x.org"),), {"Reads": "nothing else", "Writes": "nothing", "Network": "x.org"}),
        (
            (InternalEffect(subject="notes"),),
            {"Reads": "nothing else", "Writes": "nothing", "Network": "none"},
        ),
        *(
            ((RunEffect(script=script),), OUTSIDE)
            for script in (
                "rm -rf /outside/zz",
                "rm a; touch ~/b",
                "echo x > ../a",
                "cp a /opt/b",
                "rm a /opt/b",
            )
        ),
        *(
            ((RunEffect(script=script),), INSIDE)
            for script in ("rm a", f"rm {WORKSPACE}/a", "cat /etc/hosts > a", "mv a b && cp b c")
        ),
        *(
            ((RunEffect(script=script),), UNNAMED)
            for script in (
                "make",
                "sed -i s/a/b/ *.json",
                "python3 -c 1 > a",
                "tar xf a.tar",
                "touch a b c d e",
            )
        ),
        ((WriteEffect(path="/opt/a"),), OUTSIDE),
        ((WriteEffect(path=f"{WORKSPACE}/a"),), {"Undo": "/undo restores 1 file; /diff shows what changed"}),
    ],
)
def test_an_approval_promises_no_more_than_is_known(
    effects: tuple[Effect, ...], expected: dict[str, str]
) -> None:
    assert expected.items() <= dict(effect_lines(asked(*effects), "ask", WORKSPACE)).items()


@rows("script", ["rm -r reports", "git clean -fdx"])
def test_a_deletion_is_not_said_to_be_restored_when_the_warning_says_that_it_may_not(script: str) -> None:
    risk = "It may delete things that /undo cannot restore."
    request = asked(RunEffect(script=script)).model_copy(update={"risk": risk})
    assert "Undo" not in dict(effect_lines(request, "ask", WORKSPACE))


@rows(
    "script, rules, expected",
    [
        (
            "git diff | head -5",
            (),
            [
                "command: git diff",
                "  known: git diff (programs/git/diff.toml); it reads",
                "  file: reads . and everything below it",
                "command: head -5",
                "  known: head (programs/head.toml); it reads",
                "reads.command decides allow: it only reads this workspace or system files that everyone can read",
            ],
        ),
        (
            "foo $X",
            ("ask run foo *",),
            [
                "command: foo $X",
                "  known: foo: not in the catalog; it runs",
                "  file: is given an uncertain file",
                "  unclear (program): it is not known what foo does",
            ],
        ),
        (
            "rm -r build",
            (),
            [
                "command: rm -r build",
                "  known: rm (programs/rm.toml); it deletes",
                "  file: deletes build and everything below it",
                "ask.writes says ask: policy ask requires approval for every removal",
                "ask.commands decides ask: policy ask requires approval for deletions",
            ],
        ),
        (
            "ls \\\n src",
            (),
            ["uses bash syntax that tui-agent does not analyse: there is a backslash at the end of a line"],
        ),
    ],
)
def test_the_chain_of_reasons(script: str, rules: tuple[str, ...], expected: list[str]) -> None:
    found = RulePolicy(rules).explain("run_command", (RunEffect(script=script),), FACTS)
    assert list(found[: len(expected)]) == expected
    assert sum(" decides " in line for line in found) == 1


def test_a_line_outside_the_subset_is_explained_command_by_command() -> None:
    told = RulePolicy().explain("run_command", (RunEffect(script="ls\n\\rm -rf src"),), FACTS)
    assert {"command: ls", "command: rm -rf src"} <= set(told)
    assert not any("\n" in row for row in told if row.startswith(("command:", "  known:")))
