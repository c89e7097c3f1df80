"""python, pip and pytest of a virtual environment in the workspace: known by their path, never judged weaker than the bare name."""

import pytest

from tests.stubs.rows import rows
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import POLICIES

WORKSPACE = "/home/ada/timesheet"
ORDER = ("allow", "ask", "deny")
FOLDERS = (".venv/bin/", "./.venv/bin/", "venv/bin/", "./venv/bin/", "backend/.venv/bin/")
LINES = """
python -m pytest
python -m pytest -q tests/test_a.py
pytest -x
pytest --log-file=.env
python3 -m pytest -q && git status
cd backend && python -m pytest
python -m unittest
python -m pip install x
python -m pip list
pip install -r requirements.txt
pip3 install x
pip uninstall -y x
pip list
pip --version
python --version
python -c 'import os'
python script.py
python /etc/passwd
python -m pytest --basetemp=/home/ada
python
pytest --pdb
FOO=1 pytest
timeout 60 pytest
""".strip().splitlines()


def decide(line: str, policy: str = "ask", sandboxed: bool = False, rules: tuple[str, ...] = ()) -> Decision:
    # As nearly always, the environment's python is a link to one outside the workspace.
    links = {f"{at}python": "/opt/python/bin/python3" for at in FOLDERS}
    facts = PolicyFacts(WORKSPACE, policy, resolved=links, sandboxed=sandboxed)  # type: ignore[arg-type]
    return RulePolicy(rules).decide("run_command", (RunEffect(script=line),), facts)


def in_venv(line: str, folder: str) -> str:
    words = line.split(" ")
    at = next(at for at, word in enumerate(words) if word in ("python", "python3", "pip", "pip3", "pytest"))
    return " ".join([*words[:at], folder + words[at], *words[at + 1 :]])


@rows("line", LINES)
def test_a_program_of_the_environment_is_never_judged_weaker_than_its_bare_name(line: str) -> None:
    for policy in POLICIES:
        for sandboxed in (False, True):
            bare = decide(line, policy, sandboxed)
            for folder in FOLDERS:
                found = decide(in_venv(line, folder), policy, sandboxed)
                assert ORDER.index(found.verdict) >= ORDER.index(bare.verdict), (policy, sandboxed, folder)
                assert set(bare.classes) - {"read-only"} <= set(found.classes), (policy, folder)


@pytest.mark.parametrize(
    ("line", "classes", "rule"),
    [
        (".venv/bin/python -m pytest -q", ("workspace",), "allow run .venv/bin/python -m pytest *"),
        ("./.venv/bin/pytest -q", ("workspace",), "allow run ./.venv/bin/pytest *"),
        ("venv/bin/python3 -m pytest", ("workspace",), "allow run venv/bin/python3 -m pytest *"),
        (".venv/bin/pip install x", ("network", "arbitrary"), ""),
        (".venv/bin/python -m pip install x", ("workspace", "network", "arbitrary"), ""),
        (".venv/bin/python script.py", ("arbitrary",), ""),
        (".venv/bin/python --version", ("arbitrary",), ""),
    ],
)
def test_they_are_classed_and_offered_as_what_they_are(
    line: str, classes: tuple[str, ...], rule: str
) -> None:
    found = decide(line)
    offered = [choice.rule for choice in found.choices if choice.reach == "always" and choice.offered]
    assert (found.verdict, found.classes, offered) == ("ask", classes, [rule] if rule else [])


def test_tests_run_unasked_in_a_sandbox_and_an_installation_asks_for_the_network_at_first() -> None:
    for folder in FOLDERS:
        assert decide(f"{folder}python -m pytest", "accept-edits", True).verdict == "allow"
        asked = decide(f"{folder}pip install x", "accept-edits", True)
        assert (asked.verdict, asked.classes) == ("ask", ("network", "arbitrary"))
        assert asked.risk.startswith("It downloads a package")


@rows(
    "line",
    [
        "../.venv/bin/python -m pytest",
        "a/../../.venv/bin/python -m pytest",
        "/home/bob/.venv/bin/python -m pytest",
        "~/.venv/bin/python -m pytest",
        ".venv/bin/../x/pytest",
        ".venv/bin/deploy",
        ".venv/lib/python",
        "xvenv/bin/python -m pytest",
        "$X/.venv/bin/python -m pytest",
        ".venv/bin/python9.9 -m pytest",
    ],
)
def test_other_paths_stay_unknown(line: str) -> None:
    found = decide(line)
    assert (found.verdict, found.classes) == ("ask", ("arbitrary",))


def test_a_rule_for_the_bare_program_allows_no_program_of_the_workspace_and_a_denial_covers_it() -> None:
    allowed = ("allow run python *", "allow run pytest *")
    assert decide(".venv/bin/python -m pytest", rules=allowed).verdict == "ask"
    assert decide(".venv/bin/pytest", rules=("allow run .venv/bin/pytest *",)).verdict == "allow"
    assert decide(".venv/bin/pytest", rules=("deny run pytest *",)).verdict == "deny"
    assert decide(".venv/bin/pytest", rules=("deny read .venv/**",)).verdict == "deny"


@rows(
    "line",
    [
        "echo 'rm -rf src' > .venv/bin/pytest; .venv/bin/pytest",
        "ln -s /bin/rm .venv/bin/pytest; .venv/bin/pytest -rf src",
        "cp /bin/rm venv/bin/python && venv/bin/python -rf src",
    ],
)
def test_one_that_the_line_itself_writes_is_asked_about_in_a_sandbox_too(line: str) -> None:
    assert decide(line, "accept-edits", True).verdict != "allow"


def test_an_environment_behind_a_link_is_judged_as_the_place_it_leads_to() -> None:
    def through_link(target: str) -> Decision:
        links = {"link/.venv/bin": f"{target}/.venv/bin", "link/.venv/bin/python": "/usr/bin/python3"}
        facts = PolicyFacts(WORKSPACE, "accept-edits", resolved=links, sandboxed=True)
        return RulePolicy().decide("run_command", (RunEffect(script="link/.venv/bin/python x.py"),), facts)

    assert through_link(f"{WORKSPACE}/backend").verdict == "allow"
    outside = through_link("/home/ada/other")
    assert (outside.verdict, outside.reason) == ("ask", "link/.venv/bin is outside this workspace")


BACK = "examples/tutorial/../../.venv/bin/python"
LINES_BACK = (
    "cd examples/tutorial && ../../.venv/bin/python -m pytest -q",
    "examples/tutorial/../../.venv/bin/python -m pytest -q",
)


def decide_back(line: str, folder: str) -> Decision:
    """Decide under accept-edits. `folder`: the real path of `examples/tutorial/../..`."""
    links = {
        BACK: "/usr/bin/python3",
        ".venv/bin/python": "/usr/bin/python3",
        "examples/tutorial/../..": folder,
    }
    facts = PolicyFacts(WORKSPACE, "accept-edits", resolved=links, sandboxed=True)
    return RulePolicy().decide("run_command", (RunEffect(script=line),), facts)


@rows("line", LINES_BACK)
def test_a_path_back_to_the_environment_is_judged_as_its_direct_path(line: str) -> None:
    direct = decide_back(".venv/bin/python -m pytest -q", WORKSPACE)
    found = decide_back(line, WORKSPACE)
    assert (found.verdict, found.classes) == (direct.verdict, direct.classes) == ("allow", ("workspace",))


@rows("line", LINES_BACK)
@pytest.mark.parametrize("folder", ["/opt", f"{WORKSPACE}/src"])
def test_a_path_back_through_a_link_is_asked_about(line: str, folder: str) -> None:
    found = decide_back(line, folder)
    assert (found.verdict, found.reason) == ("ask", "examples/tutorial/../.. leads through a link")


@rows(
    "line",
    [
        "ln -s . l; l/../.venv/bin/python -m pytest",
        "echo x > .venv/bin/pytest; examples/../.venv/bin/pytest",
        "cd $X && ../.venv/bin/python -m pytest",
        "cd /opt/a && ../.venv/bin/python -m pytest",
        "examples/../../.venv/bin/python -m pytest",
    ],
)
def test_a_path_back_that_the_line_changes_or_that_leads_out_is_asked_about(line: str) -> None:
    assert decide_back(line, WORKSPACE).verdict == "ask"
