"""The rules that an approval offers, and what rules allow and deny."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stubs.rows import rows
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Effect, NetworkEffect, ReadEffect, RunEffect, WriteEffect

WORKSPACE = "/home/ada/timesheet"


def decide(
    effects: tuple[Effect, ...], *rules: str, granted: tuple[str, ...] = (), policy: str = "ask"
) -> Decision:
    facts = PolicyFacts(WORKSPACE, policy, session_rules=granted)  # type: ignore[arg-type]
    return RulePolicy(rules).decide("some_tool", effects, facts)


def run(script: str, *rules: str, **more: object) -> str:
    return decide((RunEffect(script=script),), *rules, **more).verdict  # type: ignore[arg-type]


def offered(*effects: Effect) -> dict[str, tuple[str, str]]:
    found = decide(effects)
    assert found.verdict == "ask"
    assert [choice.reach for choice in found.choices] == ["once", "session", "always"]
    return {
        choice.reach: (choice.rule if choice.offered else "", choice.explanation) for choice in found.choices
    }


def test_an_edit_offers_its_folder() -> None:
    rule = "allow edit src/timesheet/**"
    words = "edits in src/timesheet/"
    found = offered(WriteEffect(path="src/timesheet/entry.py"))
    assert found == {"once": ("", ""), "session": (rule, words), "always": (rule, words)}


def test_a_file_at_the_top_offers_only_itself() -> None:
    assert offered(WriteEffect(path="setup.py"))["always"] == ("allow edit setup.py", "edits of setup.py")


def test_files_without_a_common_folder_offer_no_rule_for_the_whole_workspace() -> None:
    found = offered(WriteEffect(path="a.py"), WriteEffect(path="y/b.py"))
    assert found["session"] == found["always"] == ("", "not available for files without a common folder")


def test_a_file_outside_is_never_offered_for_always() -> None:
    found = offered(WriteEffect(path="/tmp/x"))
    assert found["session"][0] == "allow edit /tmp/x"
    assert found["always"] == ("", "not available outside the workspace")


@rows(
    "effect, session",
    [
        (ReadEffect(path="/etc/passwd"), "allow read /etc/passwd"),
        (ReadEffect(path="/srv/data", recursive=True), "allow read /srv/data/**"),
        (RunEffect(script="cat /etc/passwd"), "allow exact cat /etc/passwd"),
        (RunEffect(script="ls", cwd="/etc"), "allow exact cd /etc && ls"),
    ],
)
def test_reading_outside_is_never_offered_for_always(effect: Effect, session: str) -> None:
    found = offered(effect)
    assert found["session"][0] == session
    assert found["always"] == ("", "not available outside the workspace")


@pytest.mark.parametrize(
    ("script", "facts", "why"),
    [
        (
            "git status",
            {"git_is_steered": True},
            "git may run programs or read files that the command does not name",
        ),
        ("ls src", {"workspace_programs": frozenset({"ls"})}, "ls is a program in this workspace"),
    ],
)
def test_a_command_that_only_reads_says_why_no_rule_is_offered(
    script: str, facts: dict[str, object], why: str
) -> None:
    found = RulePolicy().decide("run", (RunEffect(script=script),), PolicyFacts(WORKSPACE, "ask", **facts))  # type: ignore[arg-type]
    always = found.choices[-1]
    assert (found.verdict, always.offered, always.explanation) == (
        "ask",
        False,
        f"not available: {why}",
    )


def test_a_known_program_offers_its_calls() -> None:
    assert offered(RunEffect(script="pytest -q tests"))["always"] == ("allow run pytest *", "any pytest")
    assert offered(RunEffect(argv=("npm", "run", "build")))["session"][0] == "allow run npm run build *"


@rows(
    "script, shape",
    [
        ("python3 -m pytest -q tests/test_a.py", "python3 -m pytest"),
        ("python -m unittest discover -s tests", "python -m unittest"),
        ("python -m mypy src", "python -m mypy"),
        ("python -m coverage run -m pytest", "python -m coverage run"),
        ("uv run pytest -q tests/a.py", "uv run pytest"),
        ("uv run python -m pytest -q", "uv run python -m pytest"),
        ("uv run ruff check .", "uv run ruff check"),
        ("poetry run pytest -q", "poetry run pytest"),
        ("pipenv run mypy src", "pipenv run mypy"),
        ("pnpm test a", "pnpm test"),
        ("pnpm run build", "pnpm run build"),
        ("yarn test a", "yarn test"),
        ("bun test", "bun test"),
        ("bundle exec rspec spec/a_spec.rb", "bundle exec rspec"),
        ("go test ./...", "go test"),
        ("cargo test parses", "cargo test"),
    ],
)
def test_a_rule_for_a_started_program_keeps_the_words_in_front(script: str, shape: str) -> None:
    found = offered(RunEffect(script=script))
    assert found["always"] == found["session"] == (f"allow run {shape} *", f"any {shape}")
    assert run(f"{script} && {script}", granted=(found["always"][0],)) == "allow"


def test_a_rule_for_a_started_program_allows_no_other_program() -> None:
    granted = ("allow run uv run pytest *",)
    assert run("uv run pytest -x && uv run pytest -q", granted=granted) == "allow"
    for script in (
        "pytest -q",
        "uv run mypy src",
        "uv run python x.py",
        "uv run pytest -q && pytest -q",
        "uv run pytest > out.txt",
        "uv run --with evil pytest",
        "UV_INDEX_URL=http://evil uv run pytest",
        "poetry run pytest",
    ):
        assert run(script, granted=granted) == "ask", script
    for rule in ("allow run uv run *", "allow run uv *", "allow run uv run [p]ytest *"):
        assert run("uv run pytest -q", granted=(rule,)) == "ask", rule
    assert run("uv run python -m pytest", granted=("allow run uv run python -m pytest *",)) == "allow"
    assert run("uv run python -m pytest", granted=("allow run python -m pytest *",)) == "ask"
    assert run("uv run rm -r build", granted=("allow run uv run rm *",)) == "ask"
    assert run("uv run pytest", "deny run pytest *", granted=granted) == "deny"


@pytest.mark.parametrize(
    "script",
    [
        "uv run script.py",
        "uv run python x.py",
        "uv run python -c 'print(1)'",
        "poetry run rm -r build",
        "python -m http.server",
        "python -m pip install x",
        "python -m pip list --outdated",
        "python -m tox -e py311",
        "python -m build",
        "python -m virtualenv v",
        "python -m mymodule",
        "python -u -m mymodule",
        "uv run touch made",
        "uv run env A=1 pytest",
        "uv run",
        "pnpm run",
    ],
)
def test_no_general_rule_is_offered_for_code_and_scripts(script: str) -> None:
    assert not offered(RunEffect(script=script))["always"][0].endswith("*")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ('pip install "freezegun>=1.5" && pytest -q > report.txt', "not available: it downloads code"),
        ("npx something", "not available: it downloads code"),
        ("rm -r build", "not available for commands that delete"),
        ("sudo make install", "not available for commands that act as another user"),
        ("git fetch", "not available for commands that use the network"),
        ("make && make install", "not available for several commands"),
        ("python -c 'print(1)'", "not available for code on the command line"),
        ("python check.py", "not available for a script, because its contents can change"),
        ("bash scripts/build.sh", "not available for a script, because its contents can change"),
        ("git checkout -b topic", "not available: git checkout -b can run other programs"),
        ("git switch main", "not available: git switch can run other programs"),
        ("docker start web", "not available: docker start can run other programs"),
        ("python -Ic 'print(1)'", "not available for code on the command line"),
        ("python -m venv .venv", "not available: a rule for venv would apply to every file, not only .venv"),
        (
            "venv/bin/python -m pytest -q > /tmp/out.txt; tail -1 /tmp/out.txt",
            "not available: a rule for python -m would apply to every file, not only /tmp/out.txt",
        ),
        (
            "uv run pytest > out.txt",
            "not available: a rule for uv run would apply to every file, not only out.txt",
        ),
        ("pytest -q && cat /etc/passwd", "not available outside the workspace"),
        ("make $TARGET", "not available for commands that print secrets"),
        ("make $(cat x)", "not available for commands that are not fully understood"),
    ],
)
def test_always_is_refused_with_the_reason(script: str, why: str) -> None:
    found = offered(RunEffect(script=script))
    assert found["always"] == ("", why)
    assert found["session"] == (f"allow exact {script}", "this exact command only")


def test_the_reason_names_what_every_command_of_a_line_is_asked_for() -> None:
    line = "pip install x && pytest > report.txt"
    assert decide((RunEffect(script=line),)).reason == (
        "policy ask requires approval for writes by commands, programs that run code, network access"
    )


@pytest.mark.parametrize(
    ("script", "rules", "wishes"),
    [
        ("rm -r build; make test", (), "deletions"),
        ("make test && rm -r build && curl example.org", (), "network access, deletions"),
        ("curl example.org; rm -r build", ("allow run curl *",), "deletions"),
        ("git push", (), "network access"),
    ],
)
def test_the_reason_names_nothing_that_the_sandbox_or_a_rule_allows(
    script: str, rules: tuple[str, ...], wishes: str
) -> None:
    facts = PolicyFacts(WORKSPACE, "accept-edits", sandboxed=True)
    found = RulePolicy(rules).decide("some_tool", (RunEffect(script=script),), facts)
    assert (found.verdict, found.reason) == ("ask", f"policy accept-edits requires approval for {wishes}")


def test_downloading_and_running_code_is_named_as_a_risk() -> None:
    found = decide((RunEffect(script="pip install x"),))
    assert found.risk == "It downloads a package and runs it. Packages can run any code during installation."
    assert found.default_no


OFFERS = [
    (WriteEffect(path="src/a.py"),),
    (WriteEffect(path="a.py"),),
    (WriteEffect(path="x/a.py"), WriteEffect(path="x/y/b.py")),
    (WriteEffect(path="src/a.py", removes=True),),
    (WriteEffect(path="/tmp/x y"),),
    (ReadEffect(path="/etc/hosts"),),
    (ReadEffect(path="/srv/data", recursive=True),),
    (ReadEffect(path="src/a.py"), WriteEffect(path="src/a.py")),
    (NetworkEffect(host="example.org"),),
    (RunEffect(script="pytest -q"),),
    (RunEffect(argv=("pytest", "-k", "a b*")),),
    (RunEffect(script="cd x; frobnicate *.py | sh"),),
    (RunEffect(script="make", cwd="sub dir"),),
    (RunEffect(script="echo 'line\none' > out.txt"),),
    (RunEffect(argv=("./tool", "--x=*")),),
    (RunEffect(script="foo() { make; }; foo $X"),),
    (RunEffect(script="python -m pytest > /tmp/out.txt; tail -1 /tmp/out.txt"),),
    (RunEffect(script="pytest -q && cat /etc/passwd"),),
]


@pytest.mark.parametrize("effects", OFFERS)
def test_an_offered_rule_allows_the_call_it_was_offered_for(effects: tuple[Effect, ...]) -> None:
    found = decide(effects)
    assert found.verdict == "ask"
    rules = [choice.rule for choice in found.choices if choice.offered and choice.rule]
    assert rules
    for rule in rules:
        assert decide(effects, granted=(rule,)).verdict == "allow", rule


def test_a_granted_rule_reaches_no_further() -> None:
    granted = ("allow edit src/**", "allow run pytest *")
    assert decide((WriteEffect(path="src/a.py"),), granted=granted).verdict == "allow"
    assert decide((WriteEffect(path="docs/a.md"),), granted=granted).verdict == "ask"
    assert decide((WriteEffect(path="src/../a.py"),), granted=granted).verdict == "ask"
    assert run("pytest -q && curl evil", granted=granted) == "ask"
    assert run("pytest -q $(curl evil)", granted=granted) == "ask"
    assert run("pytest -q > /etc/x", granted=granted) == "deny"
    assert run("pytest -q > out.txt", granted=granted) == "ask"
    assert run("pytest --env-file .env", granted=granted) == "ask"
    assert run("LD_PRELOAD=x pytest", granted=granted) == "ask"
    assert run("pytest | head", granted=granted) == "allow"
    assert run("pytest", granted=granted, policy="plan") == "deny"


@pytest.mark.parametrize(
    "script",
    [
        "cd ../other && npm test",
        "cd ~ && npm test",
        "pushd /tmp; npm test",
        "(cd /tmp; npm test)",
        "env -C ../other npm test",
        "make -C ../other",
        "make -f ../other/Makefile",
        "cd ../other && git commit -m x",
        "cd ../other && git add .",
    ],
)
def test_a_rule_allows_no_code_or_change_of_another_project(script: str) -> None:
    granted = ("allow run npm test *", "allow run make *", "allow run git commit *", "allow run git add *")
    found = decide((RunEffect(script=script),), granted=granted)
    assert (found.verdict, found.rule_id) == ("ask", "ask.reads-outside")
    assert found.reason.endswith(" is outside this workspace")
    assert run(script, granted=(*granted, "allow read /**", "allow read ~/**", "allow run env *")) == "allow"


@pytest.mark.parametrize(
    "rule, script, expected",
    [
        ("~/venv/bin/pytest *", "~/venv/bin/pytest -q", "allow"),
        ("~/venv/bin/pytest *", "cd src && ~/venv/bin/pytest -q", "allow"),
        ("../other/run.sh *", "../other/run.sh a", "allow"),
        ("../other/.venv/bin/python *", "../other/.venv/bin/python x.py", "allow"),
        ("~/venv/bin/pytest *", "cd ../other && ~/venv/bin/pytest -q", "ask"),
        ("~/venv/bin/pytest *", "~/other/bin/pytest -q", "ask"),
        ("*/bin/pytest *", "~/venv/bin/pytest -q", "ask"),
        ("../run.sh *", "cd .. && ../run.sh a", "ask"),
        ("/usr/bin/make *", "/usr/bin/make -f ../other/Makefile", "ask"),
    ],
)
def test_a_rule_allows_a_program_outside_only_if_it_names_the_program(
    rule: str, script: str, expected: str
) -> None:
    assert run(script, granted=(f"allow run {rule}",)) == expected
    assert run(script, granted=("allow run pytest *",)) == "ask"


def test_a_rule_allows_a_named_program_of_an_environment_that_is_a_link() -> None:
    links = {".venv/bin": "/srv/venv/bin", ".venv/bin/pytest": "/srv/venv/bin/pytest"}
    facts = PolicyFacts(WORKSPACE, "ask", links, ("allow run .venv/bin/pytest *",))
    found = RulePolicy().decide("run_command", (RunEffect(script=".venv/bin/pytest -q"),), facts)
    assert found.verdict == "allow"


@pytest.mark.parametrize(
    "rule, script",
    [
        ("pytest *", "pytest ../other/tests"),
        ("npm test *", "npm test --prefix ../other"),
        ("cargo test *", "cargo test --manifest-path ../other/Cargo.toml"),
        ("go test *", "go test ../other/..."),
    ],
)
def test_a_rule_for_a_test_runner_covers_what_its_own_words_name(rule: str, script: str) -> None:
    assert run(script, granted=(f"allow run {rule}",)) == "allow"


def test_a_compiler_reads_headers_outside_only_with_a_rule_for_them() -> None:
    script, rule = "gcc -I../include -fsyntax-only a.c", "allow run gcc *"
    assert run(script, granted=(rule,)) == "ask"
    assert run(script, granted=(rule, "allow read /home/ada/include/**")) == "allow"


def test_a_rule_for_a_command_that_only_reads_covers_files_outside() -> None:
    assert run("cd ../other && git log", granted=("allow run git log *",)) == "allow"
    assert run("cd src && npm test", granted=("allow run npm test *",)) == "allow"


def test_a_link_out_of_an_allowed_folder_is_not_allowed() -> None:
    facts = PolicyFacts(WORKSPACE, "ask", {"src/a": "/srv/a"}, ("allow edit src/**",))
    assert RulePolicy().decide("edit_file", (WriteEffect(path="src/a"),), facts).verdict in ("ask", "deny")


def test_a_rule_that_cannot_be_read_allows_nothing() -> None:
    assert decide((WriteEffect(path="a"),), granted=("allow everything",)).verdict == "ask"


@pytest.mark.parametrize(
    "script",
    [
        "git push",
        "timeout 5 git push",
        "env git push origin",
        "bash -c 'git push'",
        "/usr/bin/git push",
        "ls; (true && git push)",
        "echo $(git push)",
        "if true; then git push; fi",
        "git $X",
        "f() { git push; }; f",
        "cat <(git push)",
        "xargs git push",
        "\\git push",
        "g'i't push",
    ],
)
def test_a_denied_command_is_found_wherever_it_stands(script: str) -> None:
    assert run(script, "deny run git push *", policy="bypass") == "deny"
    assert run(script, "deny run git push *", granted=(f"allow exact {script}",)) == "deny"


def test_ask_rules_beat_allow_rules() -> None:
    assert run("pytest", "allow run pytest *", "ask run pytest *") == "ask"
    assert decide((WriteEffect(path="a"),), "ask edit a", policy="bypass").verdict == "ask"


def test_a_rule_against_reading_counts_for_folders_above() -> None:
    assert decide((ReadEffect(path="private/x"),), "deny read private/**").verdict == "deny"
    assert decide((ReadEffect(path=".", recursive=True),), "deny read private/**").verdict == "ask"
    assert run("cat private/x", "deny read private/**") == "deny"


RULES = ["allow edit **", "deny edit src/**", "ask edit src/a.py", "allow edit src/a.py", "allow tool edit_*"]


@given(st.permutations(RULES), st.sampled_from(["ask", "accept-edits", "bypass"]))
def test_deny_wins_in_any_order(rules: list[str], policy: str) -> None:
    found = decide((WriteEffect(path="src/a.py"),), *rules[:3], granted=tuple(rules[3:]), policy=policy)
    assert found.verdict == "deny"
    assert found.rule_id == "rule: deny edit src/**"


@pytest.mark.parametrize(
    "effect", [RunEffect(script=""), RunEffect(script=" \n"), RunEffect(script="ls", argv=("ls",))]
)
def test_no_rule_is_offered_without_exactly_one_command(effect: RunEffect) -> None:
    found = RulePolicy().decide("t", (effect,), PolicyFacts("/home/ada/ws", "ask"))
    assert found.verdict == "ask"
    assert found.reason in (
        "it contains no command",
        "it names two commands, one as words and one as a script",
    )
    assert [choice.reach for choice in found.choices if choice.offered] == ["once"]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("touch made.txt", "a rule for touch would apply to every file, not only made.txt"),
        ("cp a b", "a rule for cp would apply to every file, not only b"),
        ("echo x > f", "a rule for echo would apply to every file, not only f"),
    ],
)
def test_no_rule_is_offered_for_a_command_that_writes_named_files(script: str, why: str) -> None:
    found = RulePolicy().decide("t", (RunEffect(script=script),), PolicyFacts("/home/ada/ws", "ask"))
    [always] = [choice for choice in found.choices if choice.reach == "always"]
    assert (always.offered, always.explanation) == (False, f"not available: {why}")
