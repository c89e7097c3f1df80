"""The result of run_tests for the model: short if the tests passed, the first failures if they did not."""

import shlex
import sys
from pathlib import Path

import pytest

from tests.stubs.tool_context import Bench, module_of, text, tools_of
from tui_agent.engine.tools.large_results import offload_large_result

PYTEST = f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("shell"))


def find_failures(framework: str, output: str) -> list[str]:
    found: list[str] = module_of("shell", "failures").find_failures(framework, output)
    return found


async def test_of_passed_tests_the_model_gets_the_counts_the_command_and_the_last_five_lines(bench):
    bench.write("test_a.py", "def test_a():\n    for n in range(3000): print('noise', n)\n")
    command = f"{PYTEST} -s test_a.py"
    result = await bench.run("run_tests", command=command)
    lines = text(result).split("\n")
    assert lines[:3] == ["1 passed [exit 0]", f"$ {command}", ""]
    assert lines[3:7] == [f"noise {n}" for n in (2997, 2998, 2999)] + ["."] or lines[3] == "noise 2996"
    assert len(lines) == 8 and lines[7].startswith("1 passed in ")
    assert "noise 0\n" in str(result.display[0].text.preview)
    assert result.full_output.size > 8_000


async def test_long_lines_of_passed_tests_are_cut(bench):
    bench.write("test_a.py", "def test_a():\n    print('x' * 5000)\n")
    result = await bench.run("run_tests", command=f"{PYTEST} -s test_a.py")
    assert f"\n{'x' * 300}…\n" in text(result)


async def test_of_failed_tests_the_model_gets_the_names_and_the_first_three_failures(bench):
    tests = "".join(f"def test_{n}():\n    wanted = {n}\n    assert wanted == -1\n\n\n" for n in range(12))
    bench.write("test_a.py", tests)
    result = await bench.run("run_tests", command=f"{PYTEST} test_a.py")
    told = text(result)
    assert told.startswith("12 failed [exit 1]\n")
    assert [line for line in told.split("\n") if line.startswith("failed: ")] == [
        f"failed: test_a.py::test_{n}" for n in range(12)
    ]
    assert [n for n in range(12) if f"E       assert {n} == -1" in told] == [0, 1, 2]
    assert told.endswith("\n[9 more failures are left out: run one alone to see it]")
    assert len(told) < 3_000
    assert "assert 11 == -1" in str(result.full_output)


async def test_a_failure_that_passed_over_the_limit_is_cut_in_its_middle(bench):
    bench.write(
        "test_a.py", "def test_a():\n    for n in range(500): print('noise', n)\n    assert 0, 'the end'\n"
    )
    told = text(await bench.run("run_tests", command=f"{PYTEST} test_a.py"))
    assert "test_a ___" in told and "noise 499" in told and "noise 200\n" not in told
    assert "lines left out" in told and len(told) < 5_000


async def test_a_short_output_of_failed_tests_is_complete(bench):
    bench.write("test_a.py", "def test_a(): assert 1 == 2\n")
    told = text(await bench.run("run_tests", command=f"{PYTEST} test_a.py"))
    assert "=== FAILURES ===" in told and "short test summary info" in told and "left out" not in told


async def test_a_failure_to_collect_is_told_as_such(bench):
    bench.write("test_a.py", "import nothing_like_this\n")
    bench.write("test_b.py", "def test_b(): pass\n")
    result = await bench.run("run_tests", command=f"{PYTEST} test_a.py test_b.py")
    assert result.summary == "1 file could not be collected"
    assert "\nnot collected: test_a.py\n" in text(result)
    assert "No module named 'nothing_like_this'" in text(result)
    bench.write("test_c.py", "def test_c(): assert 0\n")
    on = await bench.run("run_tests", command=f"{PYTEST} --continue-on-collection-errors")
    assert on.summary == "1 file could not be collected, 1 failed, 1 passed"
    event = bench.events[-1]
    assert event.errors == 1
    assert (event.failed, event.passed, event.failures) == (2, 1, ("test_c.py::test_c", "test_a.py"))


async def test_a_unittest_module_that_cannot_be_imported_is_told_as_such(bench):
    bench.write("test_a.py", "import nothing_like_this\n")
    result = await bench.run("run_tests", command=f"{shlex.quote(sys.executable)} -m unittest test_a")
    assert result.summary == "1 file could not be collected"
    assert "\nnot collected: test_a\n" in text(result)


LIBRARY_LINES = "".join(f"    value = {number}\n" for number in range(50))
LIBRARY = (
    f"def outer(count):\n{LIBRARY_LINES}    return inner(count)\n\n\n"
    f"def inner(count):\n{LIBRARY_LINES}    raise OSError('no connection')\n"
)


async def test_of_a_long_traceback_the_frames_of_the_workspace_stay_and_an_artifact_has_the_rest(bench):
    bench.write("venv/lib/python3.12/site-packages/far.py", LIBRARY)
    own = "import sys\nsys.path.append('venv/lib/python3.12/site-packages')\nimport far\n\n\n"
    own += "def ask():\n    return far.outer(1)\n\n\ndef test_ask():\n    assert ask()\n"
    bench.write("test_a.py", own)
    result = await bench.run("run_tests", command=f"{PYTEST} --tb=long test_a.py")
    told = text(result)
    assert (
        "\ntest_a.py:11: \n" in told and "\ntest_a.py:7: \n" in told and ">       return far.outer(1)" in told
    )
    assert "E       OSError: no connection" in told and "lines left out" in told and "value = 2\n" not in told
    recorded = await offload_large_result(result, "run_tests", 0, bench.blobs)
    assert recorded.artifact is not None
    assert f"left out: read_file or grep {recorded.artifact.id} …]" in str(recorded.content[-1])
    assert "value = 2\n" in bench.blobs.read_text(recorded.full_output)


def test_a_long_comparison_does_not_displace_the_place_of_the_failure():
    shorten = module_of("shell", "tracebacks").shorten_traceback
    library = [
        "",
        "    def outer(n):",
        ">       return n()",
        "",
        "/w/.venv/lib/python3.11/site-packages/far.py:7: ",
    ]
    own = ["    def ask():", ">       assert got == expected", *(f"E       line {n}" for n in range(41))]
    lines = ["____ test_ask ____", *library, "_ " * 20, *own, "", "src/mod.py:9: AssertionError"]
    shortened = shorten(lines, "/w", "/w")
    assert shortened[-1] == "src/mod.py:9: AssertionError" and len(shortened) < 45


def test_of_python_and_javascript_tracebacks_library_frames_are_cut_first():
    shorten = module_of("shell", "tracebacks").shorten_traceback
    library = [f'  File "/usr/lib/python3.12/x{n // 2}.py", line 1, in f\n    g()' for n in range(30)]
    python = "\n".join(['  File "/w/m.py", line 3, in test_b', "    far()", *library, "OSError: no"])
    shown = shorten(["ERROR: test_b", *library[0].split("\n") * 7, *python.split("\n")], "/w", "/w")
    assert shown[0] == "ERROR: test_b" and shown[-1] == "OSError: no" and len(shown) < 40
    at = shown.index('  File "/w/m.py", line 3, in test_b')
    assert shown[at + 1] == "    far()"
    frames = [f"      at call (node_modules/jest/x{n}.js:1:{n})" for n in range(60)]
    script = ["  ● adds", *frames[:30], "      at sum (src/sum.js:3:5)", *frames[30:]]
    assert "      at sum (src/sum.js:3:5)" in shorten(script, "/w", "/w")


UNITTEST = f"""\
.FF
{"=" * 70}
FAIL: test_b (m.A)
{"-" * 70}
Traceback (most recent call last):
  File "m.py", line 3, in test_b
AssertionError: 1 != 2

{"=" * 70}
ERROR: test_c (m.A.test_c)
{"-" * 70}
Traceback (most recent call last):
ValueError: no

{"-" * 70}
Ran 3 tests in 0.001s

FAILED (failures=1, errors=1)
"""
CARGO = """\
test a::b ... FAILED
test a::c ... ok

failures:

---- a::b stdout ----
thread 'a::b' panicked at src/lib.rs:3:
assertion failed

failures:
    a::b

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured
"""
GO = """\
=== RUN   TestA
--- PASS: TestA (0.00s)
=== RUN   TestB
    b_test.go:9: boom
--- FAIL: TestB (0.00s)
=== RUN   TestC
    c_test.go:9: bang
--- FAIL: TestC (0.00s)
FAIL
FAIL\texample.com/a\t0.002s
"""
JEST = """\
FAIL ./a.test.js
  ✓ fine (1 ms)
  ✕ adds (2 ms)

  ● sums › adds

    expect(received).toBe(expected)

      at Object.<anonymous> (a.test.js:3:5)

Test Suites: 1 failed, 1 total
Tests:       1 failed, 1 passed, 2 total
"""
NODE = """\
✔ good (0.5ms)
✖ bad (0.4ms)
ℹ tests 2
ℹ pass 1
ℹ fail 1

✖ failing tests:

test at a.test.js:1:60
✖ bad (0.4ms)
  Error: no
      at a.test.js:1:70
"""
TAP = """\
TAP version 13
# Subtest: good
ok 1 - good
# Subtest: bad
not ok 2 - bad
  ---
  error: 'no'
  ...
1..2
# pass 1
# fail 1
"""
TAP_OF_A_FILE = """\
TAP version 13
# Fine here
# Subtest: a.test.js
ok 1 - a.test.js
# node:internal/modules/cjs/loader:1210
#   throw err;
# Error: Cannot find module 'nope'
# Subtest: b.test.js
not ok 2 - b.test.js
  ---
  error: 'test failed'
  ...
1..2
# pass 1
# fail 1
"""
MOCHA = """\
  sums
    1) adds

  0 passing (4ms)
  1 failing

  1) sums
       adds:
     AssertionError: 1 == 2
      at Context.<anonymous> (a.js:3:5)
"""
VITEST = """\
 ❯ a.test.js (2 tests | 1 failed) 4ms

⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯

 FAIL  a.test.js > adds
AssertionError: expected 1 to be 2
 ❯ a.test.js:3:5
⎯⎯⎯⎯[1/1]⎯

 Test Files  1 failed (1)
      Tests  1 failed | 1 passed (2)
"""


@pytest.mark.parametrize(
    ("framework", "output", "failures"),
    [
        (
            "unittest",
            UNITTEST,
            [
                f'FAIL: test_b (m.A)\n{"-" * 70}\nTraceback (most recent call last):\n  File "m.py", line 3, in test_b\n'
                "AssertionError: 1 != 2",
                f"ERROR: test_c (m.A.test_c)\n{'-' * 70}\nTraceback (most recent call last):\nValueError: no",
            ],
        ),
        (
            "cargo",
            CARGO,
            ["---- a::b stdout ----\nthread 'a::b' panicked at src/lib.rs:3:\nassertion failed"],
        ),
        (
            "go",
            GO,
            [
                "=== RUN   TestB\n    b_test.go:9: boom\n--- FAIL: TestB (0.00s)",
                "=== RUN   TestC\n    c_test.go:9: bang\n--- FAIL: TestC (0.00s)",
            ],
        ),
        (
            "go",
            "--- FAIL: TestB (0.00s)\n    b_test.go:9: boom\nFAIL\n",
            ["--- FAIL: TestB (0.00s)\n    b_test.go:9: boom"],
        ),
        (
            "npm",
            JEST,
            [
                "  ● sums › adds\n\n    expect(received).toBe(expected)\n\n      at Object.<anonymous> (a.test.js:3:5)"
            ],
        ),
        ("npm", NODE, ["test at a.test.js:1:60\n✖ bad (0.4ms)\n  Error: no\n      at a.test.js:1:70"]),
        ("npm", TAP, ["not ok 2 - bad\n  ---\n  error: 'no'\n  ..."]),
        (
            "npm",
            TAP_OF_A_FILE,
            [
                "not ok 2 - b.test.js\n  ---\n  error: 'test failed'\n  ...\n"
                "node:internal/modules/cjs/loader:1210\n  throw err;\nError: Cannot find module 'nope'"
            ],
        ),
        (
            "npm",
            MOCHA,
            ["  1) sums\n       adds:\n     AssertionError: 1 == 2\n      at Context.<anonymous> (a.js:3:5)"],
        ),
        ("npm", VITEST, [" FAIL  a.test.js > adds\nAssertionError: expected 1 to be 2\n ❯ a.test.js:3:5"]),
        ("pytest", "INTERNALERROR> boom\n", []),
        ("npm", "all fine\n", []),
    ],
)
def test_the_failures_are_found_in_the_output(framework, output, failures):
    assert find_failures(framework, output) == failures
