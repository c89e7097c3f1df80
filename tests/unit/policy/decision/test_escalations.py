"""Each escalation by itself: when it turns an allowed command into a question, and when it does not."""

from dataclasses import replace

import pytest

from tui_agent.policy.catalog.catalog_schema import Program
from tui_agent.policy.decision.escalations import (
    ESCALATIONS,
    escalate,
    follows_link,
    is_steered_by_project,
    is_workspace_program,
    reads_secrets_below,
    runs_configured_programs,
)
from tui_agent.policy.interpreter.command_report import Certainty, CommandReport, FileUse, Value
from tui_agent.ports.environment import SecretFile, WorkspaceLink
from tui_agent.ports.policy import PolicyFacts

WORKSPACE = "/home/ada/timesheet"
LINKS = (
    WorkspaceLink("notes.txt", "/etc/passwd"),
    WorkspaceLink("out", "/srv/data"),
    WorkspaceLink("src/far", "/srv/far"),
)
INSIDE = (
    WorkspaceLink("in", WORKSPACE),
    WorkspaceLink("docs/env.txt", f"{WORKSPACE}/.env", secret=True),
    WorkspaceLink("docs/code", f"{WORKSPACE}/src"),
    WorkspaceLink("docs/plain.md", f"{WORKSPACE}/README.md"),
)
ENV = SecretFile(".env", f"{WORKSPACE}/.env")
LOCAL = SecretFile("config/local.env", f"{WORKSPACE}/config/local.env", ignored=True)
HELD = SecretFile("held.pem", f"{WORKSPACE}/held.pem", in_git=True)


def command(name: str, *, builtin: bool = False, steered_by: tuple[str, ...] = ()) -> CommandReport:
    program = Program(about="", builtin=builtin, steered_by=steered_by)
    return CommandReport(name, (Value(name, Certainty.KNOWN, name),), name=name, program=program)


def facts(**given: object) -> PolicyFacts:
    return PolicyFacts(WORKSPACE, "ask", **given)  # type: ignore[arg-type]


def read(path: str, **given: object) -> list[tuple[FileUse, str]]:
    return [(FileUse(path, "read", **given), path)]  # type: ignore[arg-type]


def pattern(path: str, **given: object) -> list[tuple[FileUse, str]]:
    return read(path, certainty=Certainty.BOUNDED, **given)


def test_a_program_of_the_workspace_may_be_anything() -> None:
    shadowed = facts(workspace_programs=frozenset({"ls", "cd"}))
    assert is_workspace_program(command("ls"), (), shadowed) == "ls is a program in this workspace"
    assert not is_workspace_program(command("cat"), (), shadowed)
    assert not is_workspace_program(command("cd", builtin=True), (), shadowed)


@pytest.mark.parametrize(
    ("name", "applies"), [("git", True), ("/usr/bin/git", True), ("git-log", True), ("gitk", False)]
)
def test_git_may_run_programs_that_the_repository_names(name: str, applies: bool) -> None:
    assert bool(runs_configured_programs(command(name), (), facts(git_is_steered=True))) is applies
    assert not runs_configured_programs(command(name), (), facts())


@pytest.mark.parametrize(
    ("uses", "applies"),
    [
        (pattern("*.txt"), True),
        (pattern("*.md"), False),
        (pattern("n?tes.*"), True),
        (pattern("*"), True),
        (pattern("*/a.py"), True),
        (pattern("src/*"), True),
        (pattern("src/*.py"), False),
        (pattern("src/f*/x"), True),
        (pattern("docs/*"), False),
        (pattern("**"), True),
        (pattern("src/**"), True),
        (pattern("docs/**"), False),
        (read("", below=True), False),
        (read("", below=True, follows_links=True), True),
        (read("src", below=True, follows_links=True), True),
        (read("docs", below=True, follows_links=True), False),
        (read("notes.txt"), False),
    ],
)
def test_a_pattern_or_a_program_that_follows_links_meets_a_link_out(
    uses: list[tuple[FileUse, str]], applies: bool
) -> None:
    assert bool(follows_link(command("cat"), uses, facts(links=LINKS))) is applies
    assert not follows_link(command("cat"), uses, facts())


@pytest.mark.parametrize(
    ("uses", "reason"),
    [
        (pattern("docs/*"), "docs/env.txt is a link to .env, which may hold secrets"),
        (pattern("docs/*.txt"), "docs/env.txt is a link to .env, which may hold secrets"),
        (pattern("docs/*.md"), ""),
        (pattern("i*/*/x"), "it reaches files through the link in"),
        (pattern("docs/c*/*.py"), "it reaches files through the link docs/code"),
        (pattern("docs/c*"), ""),
        (
            read("docs", below=True, follows_links=True),
            "docs/env.txt is a link to .env, which may hold secrets",
        ),
        (read("", below=True), ""),
    ],
)
def test_links_within_the_workspace_count_where_they_lead_to_secrets_or_on(
    uses: list[tuple[FileUse, str]], reason: str
) -> None:
    assert follows_link(command("cat"), uses, facts(links=INSIDE)) == reason


def test_a_program_that_follows_a_link_to_another_folder_may_meet_further_links() -> None:
    links = (WorkspaceLink("docs/code", f"{WORKSPACE}/src"),)
    uses = read("docs", below=True, follows_links=True)
    assert (
        follows_link(command("grep"), uses, facts(links=links))
        == "it reaches files through the link docs/code"
    )
    whole = read("", below=True, follows_links=True)
    assert not follows_link(command("grep"), whole, facts(links=links))


@pytest.mark.parametrize(
    ("uses", "applies"),
    [
        (read("", below=True, follows_links=True), True),
        (read("web", below=True, follows_links=True), True),
        (read("web/node_modules/x", below=True, follows_links=True), True),
        (read("api", below=True, follows_links=True), False),
        (pattern("web/node_modules/*/*.js"), True),
        (pattern("web/*/x"), True),
        (pattern("web/*"), False),
        (pattern("**"), True),
        (pattern("*.py"), False),
        (read("web/node_modules/x.js"), False),
    ],
)
def test_folders_that_were_not_searched_for_links_count_as_links(
    uses: list[tuple[FileUse, str]], applies: bool
) -> None:
    found = follows_link(command("grep"), uses, facts(unscanned=("web/node_modules",)))
    assert bool(found) is applies


def test_outside_the_workspace_nobody_looks_for_links() -> None:
    follows = read("/usr/lib/ssl", below=True, follows_links=True)
    assert follows_link(command("cat"), pattern("/usr/lib/ssl/privat[e]/*"), facts())
    assert follows_link(command("grep"), follows, facts())
    assert not follows_link(command("grep"), read("/usr/lib/ssl", below=True), facts())


def test_where_nothing_was_searched_every_pattern_may_meet_a_link() -> None:
    assert follows_link(command("cat"), pattern("*.py"), facts(unscanned=("",)))
    assert not follows_link(command("cat"), read("a.py"), facts(unscanned=("",)))


@pytest.mark.parametrize(
    ("uses", "name"),
    [
        (read("", below=True), ".env"),
        (read("", below=True, skips=frozenset({"hidden"})), "config/local.env"),
        (read("", below=True, skips=frozenset({"hidden", "ignored"})), ""),
        (read("", below=True, skips=frozenset({"untracked"})), ""),
        (read("", below=True, only=("*.py",)), ""),
        (read("", below=True, only=("*.py", "*.env")), ".env"),
        (read("", below=True, excludes=("*.env",)), ""),
        (read("", below=True, excludes=(".env",)), "config/local.env"),
        (read("", below=True, excludes=(".env", "config")), ""),
        (read("config", below=True), "config/local.env"),
        (read("src", below=True), ""),
        (read(""), ""),
        (pattern("config/*"), "config/local.env"),
        (pattern("*"), ""),
        (pattern(".*"), ".env"),
        (pattern("c*", below=True), "config/local.env"),
    ],
)
def test_a_command_reads_secrets_that_it_does_not_name(uses: list[tuple[FileUse, str]], name: str) -> None:
    found = reads_secrets_below(command("grep"), uses, facts(secrets=(ENV, LOCAL, HELD)))
    assert (name in found) if name else not found


def test_what_nobody_searched_for_secrets_is_asked_about() -> None:
    unscanned = facts(unscanned=("web/node_modules", "deep"))
    assert reads_secrets_below(command("grep"), read("", below=True), unscanned)
    assert reads_secrets_below(command("grep"), read("deep/er", below=True), unscanned)
    assert not reads_secrets_below(command("grep"), read("src", below=True), unscanned)
    assert not reads_secrets_below(command("cat"), read("deep/a.py"), unscanned)


def test_a_file_of_the_project_may_decide_what_a_program_does() -> None:
    cargo = command("cargo", steered_by=("rust-toolchain.toml",))
    steered = facts(steering_files=("web/pyproject.toml", "rust-toolchain.toml"))
    assert is_steered_by_project(cargo, (), steered) == (
        "rust-toolchain.toml may decide what cargo runs, reads or writes"
    )
    assert not is_steered_by_project(command("ls"), (), steered)
    assert not is_steered_by_project(cargo, (), facts(steering_files=("pyproject.toml",)))
    assert not is_steered_by_project(
        cargo, (), facts(steering_files=("rust-toolchain.toml",), sandboxed=True)
    )


def test_a_program_that_files_of_the_project_steer_is_asked_about_where_nobody_looked() -> None:
    cargo = command("cargo", steered_by=("rust-toolchain.toml",))
    below = replace(cargo, folders=("node_modules/p",))
    assert is_steered_by_project(below, (), facts()) == (
        "node_modules/p was not searched for files that decide what cargo runs"
    )
    assert is_steered_by_project(replace(cargo, folders=("deep/er",)), (), facts(unscanned=("deep",)))
    assert is_steered_by_project(cargo, (), facts(unscanned=("",)))
    assert not is_steered_by_project(cargo, (), facts(unscanned=("node_modules",)))
    assert not is_steered_by_project(replace(command("cargo"), folders=below.folders), (), facts())


def test_git_started_in_another_folder_compares_files_that_nobody_tracks() -> None:
    uses = read("docs", below=True, skips=frozenset({"untracked"}))
    secrets = facts(secrets=(SecretFile("docs/.env", "/home/ada/ws/docs/.env"),))
    assert not reads_secrets_below(command("git"), uses, secrets)
    assert reads_secrets_below(replace(command("git"), folders=("nest",)), uses, secrets)


def test_an_ignore_file_may_bring_a_skipped_secret_back() -> None:
    uses = read("", below=True, skips=frozenset({"hidden", "ignored"}))
    back = replace(ENV, maybe_reincluded=True)
    assert reads_secrets_below(command("rg"), uses, facts(secrets=(back,)))
    assert not reads_secrets_below(command("rg"), uses, facts(secrets=(ENV,)))


def test_a_sandbox_hides_files_with_secrets_so_nothing_is_asked() -> None:
    hidden = facts(secrets=(ENV,), sandboxed=True)
    assert not reads_secrets_below(command("grep"), read("", below=True), hidden)


def test_escalations_come_in_their_order_and_only_ask() -> None:
    every = facts(
        steering_files=("go.mod",),
        workspace_programs=frozenset({"git"}),
        git_is_steered=True,
        links=LINKS,
        secrets=(ENV,),
    )
    uses = [*pattern("*.txt"), *read("", below=True)]
    git = command("git", steered_by=("go.mod",))
    found = list(escalate(git, uses, every))
    assert [judgement.rule_id for judgement in found] == [f"guard.{each.name}" for each in ESCALATIONS]
    assert {judgement.verdict for judgement in found} == {"ask"}
    assert not list(escalate(command("git"), uses, facts()))
