"""What npx and its kind run comes from outside, and what they are given to run counts by itself."""

from tests.stubs.rows import rows
from tests.unit.policy.judging import confined, decide
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

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
