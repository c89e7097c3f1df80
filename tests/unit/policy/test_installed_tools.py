"""What npx and its kind run is code of the workspace where it is installed there, and comes from outside where it is not."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, classes, confined, decide
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Runs

AT_HAND = {
    f"{folder}node_modules/.bin/{name}": f"{WORKSPACE}/node_modules/{name}/bin/{name}.js"
    for folder in ("", "packages/../")
    for name in ("tsc", "jest", "eslint", "foo", "rimraf")
}


def installed(script: str, *rules: str, cwd: str = "") -> Decision:
    policy = RulePolicy(rules)
    effects = (Runs(script=script, cwd=cwd),)
    asked = policy.paths(effects, ())
    links = {path: AT_HAND[path] for path in asked if path in AT_HAND}
    facts = PolicyFacts(WORKSPACE, "accept-edits", links, sandboxed=True)
    return policy.decide("run_command", effects, facts)


@pytest.mark.parametrize(
    "line",
    ["npx tsc", "npx jest --watch=false", "npx eslint .", "npm exec tsc", "npm exec -- tsc -p .", "npm x tsc", "bunx tsc",
     "npx -y tsc", "npx foo", "cd packages/a && npx tsc", "npx tsc && npx eslint src"],
)  # fmt: skip
def test_what_is_installed_runs_as_code_of_the_workspace(line: str) -> None:
    found = installed(line)
    assert found.verdict == "allow"
    assert "network" not in found.classes
    assert "network" in decide(line).classes
    assert confined(line).verdict == "ask"


def test_it_is_looked_for_in_the_folders_above_the_one_it_runs_in() -> None:
    found = installed("npx tsc", cwd="packages/a")
    assert (found.verdict, found.classes) == ("allow", ("workspace",))


@rows(
    "line",
    [
        "npx vue",
        "npx tsc@latest",
        "npx -p typescript tsc",
        "npx --package=x tsc",
        "npx ./x",
        "npx",
        "npx create-foo app",
        "npx tsc; npx vue",
        "pnpm dlx tsc",
        "yarn dlx tsc",
        "uvx ruff",
        "pipx run black",
        "yarn",
        "yarn install",
        "yarn add x",
        "yarn --frozen-lockfile",
        "npm exec vue",
        "npx github:a/b",
        "pnpm",
        "pnpm i",
        "pnpm --filter web add x",
        "pnpm --registry=http://x.org tsc",
        "pnpm create vite",
        "bun x vue",
        "bun x github:a/b",
        "yarn workspace web add x",
        "yarn workspaces focus",
        "yarn workspaces foreach -A npm publish",
    ],
)
def test_what_is_not_comes_from_outside(line: str) -> None:
    found = installed(line)
    assert found.verdict == "ask"
    assert "network" in found.classes


def test_a_name_that_leads_nowhere_else_is_not_installed() -> None:
    policy, effects = RulePolicy(), (Runs(script="npx tsc"),)
    elsewhere = {"node_modules/.bin/tsc": "/mnt/node_modules/.bin/tsc"}
    facts = PolicyFacts(WORKSPACE, "accept-edits", elsewhere, sandboxed=True)
    assert policy.decide("run_command", effects, facts).verdict == "ask"


@pytest.mark.parametrize(
    "line",
    ["npx --no-install tsc", "npx --no tsc", "npx --offline tsc", "npm exec --no -- tsc", "pnpm exec tsc", "yarn tsc", "yarn jest",
     "yarn run test", "bunx --no-install tsc", "pnpm tsc --noEmit", "pnpm -r ls", "pnpm --filter web build", "pnpm -C web test",
     "yarn workspace web run build", "yarn workspaces run build", "yarn workspaces foreach -A run test"],
)  # fmt: skip
def test_what_fetches_nothing_is_code_of_the_workspace(line: str) -> None:
    assert "network" not in classes(line)
    assert confined(line).verdict == "allow"


@pytest.mark.parametrize(
    "line",
    ["npx rimraf dist", "npx --no-install rm -rf src", "pnpm exec rm -rf src", "yarn exec rm -rf src", "npm exec -- rm -rf src",
     "npx -c 'rm -rf src'", "yarn rm -rf src", "npx foo rm -rf src", "pnpm rimraf dist", "pnpm -r exec rm -rf dist",
     "yarn workspace web rimraf dist", "yarn workspace web exec rm -rf dist", "yarn workspaces foreach -A exec rm -rf x",
     "bun x rimraf dist", "pnpm prune", "yarn workspace web remove x"],
)  # fmt: skip
def test_what_it_is_told_to_run_counts(line: str) -> None:
    found = installed(line)
    assert found.verdict == "ask"
    assert "destructive" in found.classes


def test_rules_count_for_what_it_runs() -> None:
    assert installed("npx eslint .", "deny run eslint *").verdict == "deny"
    assert installed("npx eslint --fix keep/a", "deny edit keep/**").verdict == "deny"
    assert installed("npx tsc", "deny run npx *").verdict == "deny"


def test_an_approval_tells_of_it_as_it_is_judged() -> None:
    policy, effects = RulePolicy(), (Runs(script="npx tsc"),)
    assert "network" in policy.deeds(effects, (), PolicyFacts("/w", "ask"))[0].classes
    at_hand = {"node_modules/.bin/tsc": AT_HAND["node_modules/.bin/tsc"]}
    for row in policy.deeds(effects, (), PolicyFacts("/w", "ask", at_hand)):
        assert "network" not in row.classes
        assert "outside" not in str(row.effects)
