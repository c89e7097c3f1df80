import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.stubs.tool_context import Bench, module_of, text, tools_of
from tui_agent.errors import ToolError
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.events.eval import TestFinished

PASSES = (
    "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(True)\n"
)
FAILS = PASSES + "\n    def test_b(self):\n        self.assertEqual(1, 2)\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("shell"))


def finished(bench: Bench) -> TestFinished:
    event = bench.events[-1]
    assert isinstance(event, TestFinished)
    return event


# --- real runs -------------------------------------------------------------------------------------------------------


async def test_unittest_is_recognised_run_and_counted(bench):
    bench.write("test_a.py", FAILS)
    result = await bench.run("run_tests")
    assert (result.ok, result.summary) == (False, "1 failed, 1 passed")
    assert text(result).startswith(
        "1 failed, 1 passed [exit 1]\n$ python -m unittest discover -v\nfailed: test_a.A.test_b\n"
    )
    assert "AssertionError: 1 != 2" in text(result)
    event = finished(bench)
    assert (event.framework, event.passed, event.failed, event.skipped, event.exit_code) == (
        "unittest",
        1,
        1,
        0,
        1,
    )
    assert (event.failures, event.call_id) == (("test_a.A.test_b",), "c1")
    bench.write("test_a.py", PASSES)
    again = await bench.run("run_tests")
    assert (again.ok, again.summary) == (True, "1 passed")
    assert re.sub(r"\d\.\d+s", "0s", text(again)) == (
        "1 passed [exit 0]\n$ python -m unittest discover -v\n\nRan 1 test in 0s\nOK"
    ), "no rules and no empty lines"


async def test_unittest_in_a_folder_of_its_own_finds_its_tests(bench):
    bench.write("pkg/__init__.py", "x = 1\n")
    bench.write("tests/test_a.py", "from pkg import x\n" + PASSES)
    assert (await bench.run("run_tests")).summary == "1 passed"
    assert (await bench.run("run_tests", path="tests/test_a.py")).summary == "1 passed"


async def test_pytest_is_recognised_run_and_counted(bench):
    bench.write(
        "tests/test_a.py",
        "import pytest\ndef test_a(): pass\ndef test_b(): assert 0\n@pytest.mark.skip\ndef test_c(): pass\n",
    )
    bench.write("broken/test_e.py", "import nothing_like_this\n")
    result = await bench.run(
        "run_tests", command=f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider tests"
    )
    assert result.summary == "1 failed, 1 passed, 1 skipped"
    assert finished(bench).failures == ("tests/test_a.py::test_b",)
    errors = await bench.run(
        "run_tests", command=f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider broken"
    )
    assert (errors.summary, errors.ok) == ("1 file could not be collected", False)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("nothing_here.py", "file or directory not found: nothing_here.py [exit 4]"),
        ("--nope", "error: unrecognized arguments: --nope"),
        ("-k nothing", "no tests [exit 5]"),
    ],
)
async def test_a_run_that_fails_without_a_failed_test_records_why(bench, arguments, fault):
    bench.write("test_a.py", PASSES)
    command = f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider {arguments}"
    assert not (await bench.run("run_tests", command=command)).ok
    assert fault in finished(bench).fault


async def test_node_tests_are_recognised_run_and_counted(bench):
    bench.write("package.json", '{"scripts": {"test": "node --test"}}')
    bench.write(
        "a.test.js",
        "const t=require('node:test');t('good',()=>{});t('bad',()=>{throw Error('no')});t.skip('later')",
    )
    result = await bench.run("run_tests")
    assert (result.ok, result.summary) == (False, "1 failed, 1 passed, 1 skipped")
    assert finished(bench).failures == ("a.test.js > bad",)


async def test_tests_that_take_too_long_are_stopped(bench):
    bench.write("test_a.py", PASSES.replace("self.assertTrue(True)", "import time; time.sleep(1000)"))
    result = await bench.run("run_tests", timeout=1)
    assert (result.ok, result.summary) == (False, "stopped after 1 s")
    assert (finished(bench).exit_code, finished(bench).passed) == (None, -1)


# --- what is recognised ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "path", "command"),
    [
        ({"test_a.py": "def test_a(): pass\n"}, "", "python -m pytest -q"),
        ({"test_a.py": PASSES, "pyproject.toml": "[tool.pytest.ini_options]\n"}, "", "python -m pytest -q"),
        ({"test_a.py": PASSES, "setup.cfg": "[tool:pytest]\n"}, "", "python -m pytest -q"),
        ({"test_a.py": PASSES, "conftest.py": ""}, "test_a.py", "python -m pytest -q test_a.py"),
        ({"test_a.py": PASSES, "pyproject.toml": "not toml ["}, "", "python -m unittest discover -v"),
        ({"test_a.py": PASSES, ".venv/bin/python": ""}, "", ".venv/bin/python -m unittest discover -v"),
        ({"tests/test_a.py": PASSES}, "", "python -m unittest discover -v -s tests"),
        ({"tests/test_a.py": PASSES, "tests/__init__.py": ""}, "", "python -m unittest discover -v"),
        ({"Cargo.toml": ""}, "", "cargo test"),
        ({"go.mod": ""}, "", "go test -v ./..."),
        ({"go.mod": "", "pkg/a.go": ""}, "pkg", "go test -v ./pkg/..."),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, "", "npm test"),
        ({"package.json": '{"scripts": {"test": "jest"}}', "pnpm-lock.yaml": ""}, "", "pnpm test"),
        (
            {"package.json": '{"scripts": {"test": "jest"}}', "a.test.js": ""},
            "a.test.js",
            "npm test -- a.test.js",
        ),
        ({"test/test_a.py": "import pytest\n", "setup.py": ""}, "test", "python -m pytest -q test"),
        ({"test/test_a.py": "import pytest\n"}, "test", "python -m pytest -q test"),
        ({"test/test_a.py": "import pytest\n", "setup.py": ""}, "./test/", "python -m pytest -q test"),
        ({"test/test_a.py": "import pytest\n"}, ".", "python -m pytest -q"),
        ({"tests/test_a.py": PASSES}, "tests", "python -m unittest discover -v -s tests"),
        (
            {"p/tests/test_a.py": PASSES, "p/tests/__init__.py": ""},
            "p/tests",
            "python -m unittest discover -v -s p/tests -t .",
        ),
        (
            {"package.json": '{"scripts": {"test": "jest"}}', "test/package.json": "{}"},
            "test",
            "npm test -- test",
        ),
        ({"go.mod": "", "pkg/a_test.go": ""}, "pkg/a_test.go", "go test -v ./pkg"),
        ({"go.mod": "", "a_test.go": ""}, "a_test.go", "go test -v ."),
        ({"Cargo.toml": "", "tests/a.rs": ""}, "tests/a.rs", "cargo test --test a"),
        ({"Cargo.toml": "", "tests/a/main.rs": ""}, "tests/a", "cargo test --test a"),
        ({"Cargo.toml": "", "tests/a/main.rs": ""}, "tests/a/main.rs", "cargo test --test a"),
        ({"Cargo.toml": "", "tests/a.rs": ""}, "tests", "cargo test --test '*'"),
        ({"Cargo.toml": "", "py/test_a.py": PASSES}, "py", "python -m unittest discover -v"),
        ({"t/tests_a.py": "def test_a(): pass\n"}, "t/tests_a.py", "python -m pytest -q t/tests_a.py"),
        ({"checks.py": PASSES}, "checks.py", "python -m unittest -v checks.py"),
        (
            {"package.json": '{"scripts": {"test": "jest"}}', "t/a.py": PASSES},
            "t/a.py",
            "python -m unittest -v t/a.py",
        ),
        (
            {"t/tests_a.py": "def test_a(): pass\n", "test_b.py": "import pytest\n"},
            "t",
            "python -m pytest -q -o 'python_files=*[Tt]est*.py' t",
        ),
        ({"t/checks.py": "def test_a(): pass\n"}, "t", "python -m pytest -q -o 'python_files=*.py' t"),
        (
            {"t/tests_a.py": "def test_a(): pass\n", "pytest.ini": "[pytest]\npython_files = tests_*.py\n"},
            "t",
            "python -m pytest -q t",
        ),
        ({"t/checks.py": PASSES}, "t", "python -m unittest discover -v -s t -p '*.py'"),
        (
            {"t/test_a.py": "def test_a(): pass\n"},
            "t/test_a.py::test_a[x/y::z]",
            "python -m pytest -q 't/test_a.py::test_a[x/y::z]'",
        ),
    ],
)
async def test_the_projects_own_command_is_found(bench, files, path, command):
    for name, content in files.items():
        bench.write(name, content)
    preview = await bench.preview("run_tests", path=path)
    assert preview.blocks[0].text == command
    assert preview.content.endswith(f"\n{command}")


@pytest.mark.parametrize(
    ("files", "path", "command", "folder"),
    [
        ({"web/package.json": '{"scripts": {"test": "x"}}', "test_a.py": PASSES}, "web", "npm test", "web"),
        (
            {"lib/setup.cfg": "", "lib/tests/test_a.py": "import pytest\n", "test_b.py": PASSES},
            "lib/tests",
            "python -m pytest -q tests",
            "lib",
        ),
        (
            {"lib/tox.ini": "", "lib/tests/test_a.py": PASSES, "test_b.py": PASSES},
            "lib/tests/test_a.py",
            "python -m unittest -v tests/test_a.py",
            "lib",
        ),
        (
            {"lib/tox.ini": "", "lib/tests/test_a.py": "import pytest\n"},
            "lib/tests/test_a.py::TestA",
            "python -m pytest -q tests/test_a.py::TestA",
            "lib",
        ),
        ({"go.mod": "", "py/test_a.py": "import pytest\n"}, "py", "python -m pytest -q", "py"),
        (
            {"Cargo.toml": "", "b/Cargo.toml": "", "b/tests/a.rs": ""},
            "b/tests/a.rs",
            "cargo test --test a",
            "b",
        ),
        ({"Cargo.toml": "", "b/Cargo.toml": "", "b/src/a.rs": ""}, "b", "cargo test", "b"),
    ],
)
async def test_the_nearest_project_is_the_one_that_is_tested(bench, files, path, command, folder):
    for name, content in files.items():
        bench.write(name, content)
    preview = await bench.preview("run_tests", path=path)
    assert preview.blocks[0].text == command
    assert preview.content == f"{folder}\n{command}"


async def test_a_folder_of_tests_is_run_from_the_projects_folder_and_the_result_says_so(bench):
    bench.write("lib/setup.py", "")
    bench.write("lib/flat/__init__.py", "x = 1\n")
    bench.write("lib/test/test_a.py", "import pytest\nfrom flat import x\ndef test_a(): assert x == 1\n")
    result = await bench.run("run_tests", path="lib/test")
    assert result.summary == "1 passed"
    assert text(result).split("\n")[1] == "$ python -m pytest -q test  (in lib)"
    assert result.display[0].text == "$ python -m pytest -q test  (in lib)"
    assert (finished(bench).command, finished(bench).folder) == ("python -m pytest -q test", "lib")


@pytest.mark.parametrize(
    "package",
    ["{", "[]", '{"scripts": 1}', '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'],
)
async def test_a_project_without_tests_is_told(bench, package):
    bench.write("package.json", package)
    with pytest.raises(ToolError, match=r"No tests found.* runs only pytest, .*go test\.") as raised:
        await bench.run("run_tests")
    assert "run_command" in raised.value.hint and "ctest" in raised.value.hint
    with pytest.raises(ToolError, match="File or folder not found: nowhere"):
        await bench.run("run_tests", path="nowhere")


@pytest.mark.parametrize(
    ("path", "words"),
    [("src/eval.rs", "eval::"), ("src/a/mod.rs", "a::"), ("src/lib.rs", "--lib"), ("src", "--lib")],
)
async def test_a_module_of_a_crate_is_not_run_as_all_tests_but_needs_a_command(bench, path, words):
    bench.write("Cargo.toml", "")
    bench.write(path if path.endswith(".rs") else f"{path}/lib.rs", "")
    for arguments in ({}, {"command": "cargo test"}):
        with pytest.raises(ToolError, match=r"With cargo, `path` must be .*a test file") as raised:
            await bench.run("run_tests", path=path, **arguments)
        assert f"`cargo test {words}`" in raised.value.hint


@pytest.mark.parametrize(
    ("command", "path", "argv"),
    [
        ("cargo test -q", "tests/a.rs", "cargo test -q --test a"),
        ("cargo test -- --nocapture", "b/tests/a.rs", "cargo test --test a -- --nocapture"),
        ("cargo nextest run", "tests", "cargo nextest run --test '*'"),
        ("go test -v ./...", "pkg/a_test.go", "go test -v ./pkg"),
        ("go test", "pkg", "go test ./pkg/..."),
    ],
)
async def test_a_path_narrows_a_given_command_in_the_form_of_its_program(bench, command, path, argv):
    preview = await bench.preview("run_tests", command=command, path=path)
    assert preview.blocks[0].text == argv


@pytest.mark.parametrize("path", ["test_a.py::A", "tests::test_b"])
async def test_a_test_of_another_program_needs_its_command(bench, path):
    bench.write("test_a.py", PASSES)
    bench.write("tests/test_b.py", "def test_b(): pass\n")
    with pytest.raises(
        ToolError, match="`path` must be a file, a folder or the id of a pytest test, not "
    ) as raised:
        await bench.run("run_tests", path=path)
    assert "`command`" in raised.value.hint


@pytest.mark.parametrize(
    ("command", "framework"),
    [
        ("pytest", "pytest"),
        ("python -m pytest -k x", "pytest"),
        (".venv/bin/python3.12 -m unittest tests.test_a", "unittest"),
        ("uv run pytest", "pytest"),
        ("poetry run python -m pytest", "pytest"),
        ("npm run test:unit", "npm"),
        ("yarn test", "npm"),
        ("npx vitest run", "npm"),
        ("cargo nextest run", "cargo"),
        ("go test ./...", "go"),
    ],
)
def test_test_programs_are_known(command, framework):
    assert module_of("shell", "frameworks").detect_framework(tuple(command.split())) == framework


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "rm -rf /",
        "python -m http.server",
        "python evil.py",
        "python",
        "python -c pytest",
        "npm install",
        "npm run build",
        "cargo run",
        "go run .",
        "pytest; rm x",
        "pytest | tail -5; rm x",
        "pytest | tail -5 > out",
        "pytest | tee out",
        "pytest | tail $(id)",
        "pytest | tail -f /etc/passwd",
        "cd $(id) && pytest",
        "cd a; pytest",
        "cd a && cd b && rm x",
        "pytest -k 'x | tail -5",
        "pytest && ls",
        "pytest $(id)",
        "FOO=1 pytest",
        "./pytest.sh",
        "uv run",
        "npx",
        "make test",
    ],
)
async def test_other_commands_are_refused(bench, command):
    with pytest.raises(ToolError, match="only test programs"):
        await bench.run("run_tests", command=command)
    assert bench.events == []


@pytest.mark.parametrize(
    ("command", "argv", "cwd"),
    [
        ("pytest -q | tail -5", "pytest -q", ""),
        ("pytest -q 2>&1 | tail -n 20", "pytest -q", ""),
        ("pytest -q 2>&1|head -50", "pytest -q", ""),
        ("pytest -q 2>&1", "pytest -q", ""),
        ("cd sub && pytest -q a.py 2>&1 | tail -3", "pytest -q a.py", "sub"),
        ("cd 'a b' && pytest", "pytest", "a b"),
        ("cd {root} && pytest", "pytest", ""),
        ("cd {root}/sub && pytest", "pytest", "sub"),
    ],
)
async def test_what_only_limits_the_output_or_names_the_folder_is_understood(bench, command, argv, cwd):
    tool, root = bench.tools["run_tests"], str(bench.folder)
    given = tool.spec.args(command=command.format(root=root))
    args = await tool.settle_arguments(given, bench.env)
    assert tool.effects(args) == (RunEffect(argv=tuple(argv.split()), cwd=cwd),)
    assert tool.effects(given)[0].argv == tuple(argv.split())


async def test_a_path_is_named_as_seen_from_the_commands_folder(bench):
    tool = bench.tools["run_tests"]
    for command, path, words in (
        ("cd sub && pytest", "sub/a.py", "pytest a.py"),
        ("pytest", "sub/a.py", "pytest sub/a.py"),
    ):
        args = await tool.settle_arguments(tool.spec.args(command=command, path=path), bench.env)
        assert tool.effects(args)[0].argv == tuple(words.split())


def test_what_will_run_is_declared(bench):
    assert bench.effects("run_tests", command="pytest -q", path="a") == (
        RunEffect(argv=("pytest", "-q", "a")),
    )
    assert bench.effects("run_tests") == (RunEffect(),)


async def test_the_recognised_command_is_what_is_judged_shown_and_run(bench):
    bench.write("web/package.json", '{"scripts": {"test": "x"}}')
    bench.write("test_a.py", PASSES)
    tool = bench.tools["run_tests"]
    args = await tool.settle_arguments(tool.spec.args(), bench.env)
    assert tool.effects(args) == (RunEffect(argv=("python", "-m", "unittest", "discover", "-v")),)
    bench.write("conftest.py", "")  # what would now be recognised otherwise was settled before
    assert (await tool.preview(args, bench.env)).blocks[0].text == "python -m unittest discover -v"
    web = await tool.settle_arguments(tool.spec.args(path="web"), bench.env)
    assert tool.effects(web) == (RunEffect(argv=("npm", "test"), cwd="web"),)


# --- by another tool -------------------------------------------------------------------------------------------------


async def test_a_test_program_that_run_command_runs_is_counted_too(bench):
    bench.write("test_a.py", FAILS)
    result = await bench.run("run_command", command=f"{shlex.quote(sys.executable)} -m unittest -v test_a")
    assert not result.ok
    event = finished(bench)
    assert (event.passed, event.failed, event.failures) == (1, 1, ("test_a.A.test_b",))
    await bench.run("run_command", command="echo pytest")
    assert bench.events[-1] == event


async def test_the_folder_and_the_paths_of_a_test_run_are_recorded_without_the_workspace(bench):
    bench.write("lib/test_a.py", FAILS)
    folder = bench.folder / "lib"
    python = shlex.quote(sys.executable)
    await bench.run("run_command", command=f"{python} -m unittest {folder}/test_a.py", cwd=str(folder))
    event = finished(bench)
    assert (event.command, event.folder) == (f"{python} -m unittest test_a.py", "lib")
    assert event.failures == ("test_a.A.test_b",)
    await bench.run("run_command", command=f"{python} -m unittest discover {folder}", cwd=str(bench.folder))
    assert (finished(bench).command, finished(bench).folder) == (f"{python} -m unittest discover lib", "")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("npx mocha test/obj-*.mjs --require a.mjs", "`*`. Give the files or the test as `path`."),
        ("cd web && npx mocha test/?.mjs", "`?`. Give the files or the test as `path`."),
        ("pytest; ls", "`;`. Use run_command."),
    ],
)
async def test_the_refusal_of_a_test_command_names_its_shell_syntax(bench, command, reason):
    with pytest.raises(ToolError) as raised:
        await bench.run("run_tests", command=command)
    assert (
        str(raised.value)
        == f"run_tests runs only test programs without shell syntax, and this command has {reason}"
    )
