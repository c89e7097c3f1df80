"""What npx and its kind run comes from outside, and what they are given to run counts by itself."""

from pathlib import Path

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, confined, decide
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import PolicyName
from tui_agent.workspace.local.environment import LocalEnvironment

FETCHING = """
npx tsc
npx vue
npx tsc@latest
npx -p typescript tsc
npx --package=x tsc
npx ./x
npx
npx create-foo app
npx tsc; npx vue
pnpm dlx tsc
yarn dlx tsc
bunx tsc
uvx ruff
pipx run black
yarn install
yarn add x
yarn --frozen-lockfile
npm exec vue
npx github:a/b
pnpm i
pnpm --filter web add x
pnpm create vite
npm install
""".strip().splitlines()
DELETING = """
npx rimraf dist
npx --no-install rm -rf src
pnpm exec rm -rf src
yarn exec rm -rf src
npm exec -- rm -rf src
npx -c 'rm -rf src'
yarn rm -rf src
npx foo rm -rf src
pnpm rimraf dist
pnpm -r exec rm -rf dist
yarn workspace web rimraf dist
yarn workspace web exec rm -rf dist
yarn workspaces foreach -A exec rm -rf x
bun x rimraf dist
pnpm prune
yarn workspace web remove x
""".strip().splitlines()


@rows("line", [*FETCHING, *DELETING])
def test_what_fetches_or_deletes_is_asked_about_in_a_sandbox_too(line: str) -> None:
    assert confined(line).verdict == "ask"
    assert decide(line).verdict == "ask"


@rows(
    "line",
    ["npm test", "npm run build", "yarn test", "pnpm test", "yarn run test", "yarn tsc", "pnpm tsc --noEmit"],
)
def test_scripts_and_tools_of_the_project_run_in_a_sandbox(line: str) -> None:
    assert confined(line).verdict == "allow"
    assert decide(line).verdict == "ask"


@rows(
    "line, rule",
    [
        ("npx eslint .", "deny run eslint *"),
        ("npx eslint --fix keep/a", "deny edit keep/**"),
        ("npx tsc", "deny run npx *"),
    ],
)
def test_rules_count_for_what_it_runs(line: str, rule: str) -> None:
    facts = PolicyFacts("/home/ada/timesheet", "accept-edits", sandboxed=True)
    assert RulePolicy([rule]).decide("run_command", (RunEffect(script=line),), facts).verdict != "allow"


def decide_installed(line: str, policy: PolicyName = "ask", *, rules: tuple[str, ...] = ()) -> Decision:
    """The decision where mocha and eslint are installed at the top, and `link` leads out of the workspace."""
    installed = frozenset({"node_modules/.bin/mocha", f"{WORKSPACE}/node_modules/.bin/mocha"})
    facts = PolicyFacts(
        WORKSPACE,
        policy,
        resolved={"link": "/opt/link"},
        sandboxed=policy == "accept-edits",
        local_programs=installed,
    )
    return RulePolicy(rules).decide("run_command", (RunEffect(script=line),), facts)


@rows(
    "line",
    [
        "npx mocha test",
        "npx -y -q mocha -R dot",
        "npx --no-install mocha",
        "npx --no mocha",
        "cd sub/folder && npx mocha",
        f"cd {WORKSPACE}/sub && npx mocha",
        "npx mocha 2>&1 | tail -5",
        "npm exec mocha test",
        "npm exec -- mocha -R dot",
        "npm exec --no -- mocha",
    ],
)
def test_a_program_that_is_installed_here_is_run_without_a_download(line: str) -> None:
    asked = decide_installed(line)
    assert (asked.verdict, asked.classes, asked.risk, asked.default_no) == ("ask", ("workspace",), "", False)
    assert decide_installed(line, "accept-edits").verdict == "allow"
    assert decide_installed(line, "plan").verdict == "deny"


def test_a_rule_is_offered_for_a_program_that_is_installed_here() -> None:
    offered = [
        choice.rule for choice in decide_installed("npx mocha test").choices if choice.reach == "always"
    ]
    assert offered == ["allow run npx mocha *"]
    assert decide_installed("npx mocha other", rules=tuple(offered)).verdict == "allow"
    assert (
        RulePolicy(offered)
        .decide("run_command", (RunEffect(script="npx mocha"),), PolicyFacts(WORKSPACE, "ask"))
        .risk.startswith("It downloads a package")
    )
    assert decide_installed("npx mocha", rules=("deny read node_modules/**",)).verdict == "deny"


@rows(
    "line",
    [
        "npx vue",
        "npx mocha@1",
        "npx ./mocha",
        "npx .mocha",
        "npx -p x mocha",
        "npx --package=x mocha",
        "npx -c mocha",
        "npx $X",
        "npx github:a/mocha",
        "cd .. && npx mocha",
        "cd link && npx mocha",
        "cd $X && npx mocha",
        "rm -rf node_modules; npx mocha",
        "mv node_modules old && npx mocha",
        "npm exec --package=x mocha",
        "npm exec mocha --package=x",
        "npm -w web exec mocha",
        "npm exec mocha@1",
    ],
)
def test_other_programs_may_still_be_downloaded(line: str) -> None:
    asked = decide_installed(line)
    assert (asked.verdict, asked.default_no) == ("ask", True)
    assert asked.risk.startswith("It downloads a package")
    assert decide_installed(line, "accept-edits").verdict == "ask"


@rows("line", ["npx --no-install vue", "npx --no vue", "npm exec --no vue"])
def test_a_program_that_must_not_be_downloaded_runs_only_if_it_is_installed(line: str) -> None:
    asked = decide_installed(line)
    assert (asked.verdict, asked.risk) == ("ask", "")
    effects, facts = (RunEffect(script=line),), PolicyFacts(WORKSPACE, "ask")
    [first, *_] = RulePolicy().describe_effects(effects, (), facts)
    assert any(effect.target == "node_modules/.bin/vue only if it exists" for effect in first.effects)
    assert decide(f"{line.replace(' vue', ' --yes vue')}").risk


def test_a_file_counts_as_installed_only_in_a_folder_of_the_workspace(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    for folder in (workspace / "bin", outside):
        folder.mkdir(parents=True)
        (folder / "mocha").touch()
    (workspace / "bin/eslint").symlink_to(outside / "mocha")
    (workspace / "bin/broken").symlink_to(outside / "missing")
    (workspace / "link").symlink_to(outside)
    paths = [
        "bin/mocha",
        "bin/eslint",
        "bin/broken",
        "bin",
        "link/mocha",
        "../outside/mocha",
        f"{workspace}/bin/mocha",
    ]
    found = LocalEnvironment(workspace).find_files(paths)
    assert found == {"bin/mocha", "bin/eslint", f"{workspace}/bin/mocha"}
