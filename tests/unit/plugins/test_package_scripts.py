"""run_tests where the test script of package.json runs several commands."""

import json
from pathlib import Path

import pytest

from tests.stubs.tool_context import Bench, tools_of
from tui_agent.errors import ToolError
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.events.eval import TestFinished


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("shell"))


def finished(bench: Bench) -> TestFinished:
    event = bench.events[-1]
    assert isinstance(event, TestFinished)
    return event


async def test_with_a_path_only_its_tests_run_although_the_script_runs_several_commands(bench):
    bench.write(
        "package.json", '{"scripts": {"test": "node --test && npm run lint", "lint": "node --check"}}'
    )
    for name in ("a", "b"):
        bench.write(f"{name}.test.js", f"require('node:test')('{name}', () => {{}})")
    result = await bench.run("run_tests", path="a.test.js")
    assert (result.ok, result.summary) == (True, "1 passed")
    assert finished(bench).command == "node --test a.test.js"


@pytest.mark.parametrize(
    ("scripts", "command"),
    [
        ({"test": "node --test && npm run lint"}, "node --test a.js"),
        ({"test": "eslint . && node --import tsx --test 'test/**/*.js'"}, "node --import tsx --test a.js"),
        ({"test": "standard; mocha -r ts-node/register test/*.js"}, "npx mocha -r ts-node/register a.js"),
        ({"test": "mocha 'a && b' 2>&1 | tap-spec"}, "npx mocha a.js"),
        ({"test": "vitest run test/ || true"}, "npx vitest run a.js"),
        ({"test": "npx jest --coverage test && tsc"}, "npx jest --coverage a.js"),
        ({"test": "npm run lint && yarn -s unit", "lint": "eslint .", "unit": "ava"}, "npx ava a.js"),
        ({"test": "npm run all", "all": "npm run unit && npm test", "unit": "tap"}, "npx tap a.js"),
        ({"test": "npm run unit", "unit": "tap"}, "npm test -- a.js"),
        ({"test": "mocha -g 'a && b'"}, "npm test -- a.js"),
    ],
)
async def test_a_path_goes_to_the_test_program_of_a_script_with_several_commands(bench, scripts, command):
    bench.write("package.json", json.dumps({"scripts": scripts}))
    bench.write("a.js", "")
    tool = bench.tools["run_tests"]
    args = await tool.settle_arguments(tool.spec.args(path="a.js"), bench.env)
    assert tool.effects(args) == (RunEffect(argv=tuple(command.split())),)
    if command.startswith("npx"):
        given = tool.spec.args(command="npm test -- --watch=no", path="a.js")
        assert (await tool.settle_arguments(given, bench.env)).argv == (*args.argv[:-1], "--watch=no", "a.js")


@pytest.mark.parametrize(
    "script",
    [
        "make test && npm run lint",
        "X=1 mocha && tsc",
        "mocha -R $R && tsc",
        "(mocha) && tsc",
        "pytest . && tsc",
    ],
)
@pytest.mark.parametrize("command", ["", "npm test"])
async def test_a_path_is_refused_if_no_test_program_is_known_among_several_commands(bench, script, command):
    bench.write("package.json", json.dumps({"scripts": {"test": script}}))
    bench.write("a.js", "")
    bench.write("t/test_a.py", "import pytest\n")
    with pytest.raises(ToolError, match="runs several commands, so `path` cannot be used") as refused:
        await bench.run("run_tests", path="a.js", command=command)
    assert "`npx mocha a.js`" in refused.value.hint
    assert (await bench.preview("run_tests")).blocks[0].text == "npm test"
    assert (await bench.preview("run_tests", path="t/test_a.py")).blocks[0].text.startswith("python ")


@pytest.mark.parametrize(
    ("last", "fault"),
    [
        ("false", "exit 1"),
        ("echo error TS5042: no; echo done; exit 2", "error TS5042: no [exit 2]"),
    ],
)
async def test_if_all_tests_pass_the_fault_is_the_last_line_that_is_an_error(bench, last, fault):
    script = f"node --test --test-reporter=tap && ({last})"
    bench.write("package.json", json.dumps({"scripts": {"test": script}}))
    bench.write("a.test.js", "require('node:test')('with { error: true } then stderr', () => {})")
    result = await bench.run("run_tests")
    assert (result.ok, result.summary) == (False, "1 passed")
    assert finished(bench).fault == fault
