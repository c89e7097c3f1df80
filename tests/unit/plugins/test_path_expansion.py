from pathlib import Path

import pytest

from tests.stubs.tool_context import Bench, tools_of
from tui_agent.errors import EnvironmentFault, ToolError

UNITTEST_FILE = (
    "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(True)\n"
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("shell"))


PYTEST_FILE = "import pytest\ndef test_a(): pass\n"


def write_files(bench, *paths, content=PYTEST_FILE):
    for path in paths:
        bench.write(path, content)


@pytest.mark.parametrize(
    ("path", "command", "words"),
    [
        ("tests/test_*.py", "", "python -m pytest -q tests/test_a.py tests/test_b.py"),
        ("./tests/test_[b-z].py", "", "python -m pytest -q tests/test_b.py"),
        ("tests/{test_b,c_test}.py", "", "python -m pytest -q tests/c_test.py tests/test_b.py"),
        (
            "tests/**/test_?.py",
            "",
            "python -m pytest -q tests/deep/test_c.py tests/test_a.py tests/test_b.py",
        ),
        ("tests/test_a.py tests/test_b.py", "", "python -m pytest -q tests/test_a.py tests/test_b.py"),
        (
            "tests/test_a.py::test_a tests/c*",
            "",
            "python -m pytest -q tests/test_a.py::test_a tests/c_test.py",
        ),
        ("tests/test_a.py::test_a[x y]", "", "python -m pytest -q 'tests/test_a.py::test_a[x y]'"),
        ("tests/my tests", "", "python -m pytest -q 'tests/my tests'"),
        ("tests/de*", "", "python -m pytest -q tests/deep"),
        ("tests/test_*.py", "pytest -x", "pytest -x tests/test_a.py tests/test_b.py"),
        ("test_*.py", "cd tests && pytest -x", "pytest -x test_a.py test_b.py"),
        ("my tests", "cd tests && pytest -x", "pytest -x 'my tests'"),
        ("tests/test_b.py test_a.py", "cd tests && pytest -x", "pytest -x test_b.py test_a.py"),
        ("tests/test_a.py::test_a[x*y]", "pytest", "pytest 'tests/test_a.py::test_a[x*y]'"),
    ],
)
async def test_a_path_with_wildcards_means_the_files_that_a_shell_would_name(bench, path, command, words):
    write_files(bench, "tests/test_a.py", "tests/test_b.py", "tests/c_test.py", "tests/deep/test_c.py")
    (bench.folder / "tests" / "my tests").mkdir()
    write_files(bench, "tests/my tests/x_test.py")
    preview = await bench.preview("run_tests", path=path, command=command)
    assert preview.blocks[0].text == words


async def test_a_file_whose_name_has_a_wildcard_is_only_this_file(bench):
    write_files(bench, "tests/test_[a].py", "tests/test_a.py")
    preview = await bench.preview("run_tests", path="tests/test_[a].py")
    assert preview.blocks[0].text == "python -m pytest -q 'tests/test_[a].py'"


async def test_files_for_pytest_and_for_unittest_run_together(bench):
    bench.write("tests/test_a.py", UNITTEST_FILE)
    preview = await bench.preview("run_tests", path="tests/test_*.py")
    assert preview.blocks[0].text == "python -m unittest -v tests/test_a.py"
    bench.write("tests/test_b.py", PYTEST_FILE)
    preview = await bench.preview("run_tests", path="tests/test_*.py")
    assert preview.blocks[0].text == "python -m pytest -q tests/test_b.py tests/test_a.py"


async def test_wildcards_reach_other_test_programs(bench):
    bench.write("Cargo.toml", "[package]\n")
    write_files(bench, "tests/a.rs", "tests/b.rs", content="")
    assert (await bench.preview("run_tests", path="tests/*.rs")).blocks[0].text == (
        "cargo test --test a --test b"
    )
    bench.write("web/package.json", '{"scripts": {"test": "mocha && eslint ."}}')
    write_files(bench, "web/a.test.js", "web/b.test.js", content="")
    preview = await bench.preview("run_tests", path="web/*.test.js")
    assert preview.blocks[0].text == "npx mocha a.test.js b.test.js"
    bench.write("go/go.mod", "module m\n")
    write_files(bench, "go/a_test.go", "go/b_test.go", content="")
    assert (await bench.preview("run_tests", path="go/*_test.go")).blocks[0].text == "go test -v ."


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("tests/none_*.py", "Nothing matches tests/none_*.py. Use glob to find the test files."),
        ("test/test_*.py", "Folder not found: test. Did you mean tests?"),
        ("../*.py", "../*.py is outside the workspace. Use a path inside the workspace."),
        (
            "tests/many_*.py",
            "More than 100 paths match tests/many_*.py. Give a folder or a narrower pattern.",
        ),
        ("*", "One command cannot run the tests in all 2 paths. Give one folder, or the whole `command`."),
    ],
)
async def test_a_path_whose_wildcards_cannot_be_used_says_why(bench, path, reason):
    write_files(bench, "tests/test_a.py", *(f"tests/many_{index}.py" for index in range(101)))
    bench.write("web/package.json", '{"scripts": {"test": "mocha"}}')
    with pytest.raises((ToolError, EnvironmentFault)) as raised:
        await bench.run("run_tests", path=path)
    assert str(raised.value) == reason


@pytest.mark.parametrize(
    ("path", "command", "words"),
    [
        ("*.py", "pytest", "pytest ./--pdbcls=x.py ./-pevil.py test_a.py"),
        ("*.py", "", "python -m pytest -q ./--pdbcls=x.py ./-pevil.py test_a.py"),
        ("-pevil.py", "pytest", "pytest ./-pevil.py"),
        ("-pevil.py::test_a", "", "python -m pytest -q ./-pevil.py::test_a"),
        ("-deep", "", "python -m pytest -q -o 'python_files=*[Tt]est*.py' ./-deep"),
        ("-*.py", "cd -deep && pytest", "pytest ./-test_b.py"),
    ],
)
async def test_a_file_name_is_no_option_of_the_test_program(bench, path, command, words):
    write_files(bench, "--pdbcls=x.py", "-pevil.py", "test_a.py", "-deep/-test_b.py")
    preview = await bench.preview("run_tests", path=path, command=command)
    assert preview.blocks[0].text == words


async def test_a_file_name_is_no_option_of_unittest_or_of_a_script(bench):
    write_files(bench, "-test_a.py", "-deep/test_b.py", content=UNITTEST_FILE)
    preview = await bench.preview("run_tests", path="-test_a.py")
    assert preview.blocks[0].text == "python -m unittest -v ./-test_a.py"
    preview = await bench.preview("run_tests", path="-deep")
    assert preview.blocks[0].text == "python -m unittest discover -v -s ./-deep"
    bench.write("web/package.json", '{"scripts": {"test": "mocha"}}')
    write_files(bench, "web/-a.test.js", content="")
    preview = await bench.preview("run_tests", path="web/-a.test.js")
    assert preview.blocks[0].text == "npm test -- ./-a.test.js"


async def test_links_that_lead_out_of_the_workspace_are_skipped(tmp_path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    bench = Bench(workspace, tools_of("shell"))
    write_files(bench, "test_a.py")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "test_b.py").write_text(PYTEST_FILE)
    (workspace / "link").symlink_to(tmp_path / "outside")
    (workspace / "test_b.py").symlink_to(tmp_path / "outside" / "test_b.py")
    (workspace / "test_c.py").symlink_to("test_a.py")
    for command, start in (("", "python -m pytest -q"), ("pytest", "pytest")):
        preview = await bench.preview("run_tests", path="*", command=command)
        assert preview.blocks[0].text == f"{start} test_a.py test_c.py"


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        ("tests/test_a.py tests/missing.py", "tests/missing.py"),
        ("tests/test_a.py, tests/missing.py", "tests/missing.py"),
        ("tests/missing.py, tests/test_a.py", "tests/missing.py"),
        ("tests/test_a.py::test_a tests/missing.py::test_b", "tests/missing.py"),
    ],
)
async def test_a_missing_path_of_several_is_named_alone(bench, path, missing):
    write_files(bench, "tests/test_a.py")
    for command in ("", "pytest"):
        with pytest.raises(ToolError) as raised:
            await bench.preview("run_tests", path=path, command=command)
        assert raised.value.args[0] == f"File or folder not found: {missing}."


@pytest.mark.parametrize(
    "path", ["tests/test_a.py, tests/test_b.py", "tests/test_[ab].py,", "tests/test_a.py , tests/test_b.py"]
)
async def test_paths_can_be_separated_by_commas(bench, path):
    write_files(bench, "tests/test_a.py", "tests/test_b.py")
    preview = await bench.preview("run_tests", path=path)
    assert preview.blocks[0].text == "python -m pytest -q tests/test_a.py tests/test_b.py"
