"""The counts and the names of failed tests that run_tests reads from the output of test programs."""

import pytest

from tests.stubs.tool_context import module_of

OUTPUTS = {
    "pytest, decorated": (
        "pytest",
        "===== 1 failed, 31 passed, 2 skipped, 1 xfailed, 3 warnings in 0.12s =====\n",
        (31, 1, 2),
    ),
    "pytest, long": (
        "pytest",
        "FAILED a.py::t[x - y] - boom\n12 passed, 2 errors in 61.00s (0:01:01)\n",
        (12, 2, 0),
    ),
    "pytest, none": ("pytest", "no tests ran in 0.01s\n", (0, 0, 0)),
    "pytest, crash": ("pytest", "INTERNALERROR> boom\n\nno tests ran in 0.01s\n", (-1, -1, -1)),
    "pytest, path": (
        "pytest",
        "=== no tests ran in 0.01s ===\nERROR: file or directory not found: nope.py\n\n",
        (0, 0, 0),
    ),
    "pytest, option": (
        "pytest",
        "ERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --bad\n",
        (0, 0, 0),
    ),
    "unittest, ok": ("unittest", "Ran 5 tests in 0.001s\n\nOK (skipped=2)\n", (3, 0, 2)),
    "unittest, all": (
        "unittest",
        "Ran 9 tests in 1.0s\n\nFAILED (failures=1, errors=2, skipped=1)\n",
        (5, 3, 1),
    ),
    "unittest, none": ("unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", (0, 0, 0)),
    "cargo": (
        "cargo",
        "test a::b ... ok\ntest a::c ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured\n"
        "test result: ok. 4 passed; 0 failed; 2 ignored; 0 measured\n",
        (5, 1, 2),
    ),
    "nextest": ("cargo", "  Summary [ 0.1s] 7 tests run: 6 passed, 1 failed, 2 skipped\n", (6, 1, 2)),
    "go": (
        "go",
        "=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n--- SKIP: TestC (0.00s)\nFAIL\n",
        (1, 1, 1),
    ),
    "go, quiet": ("go", "ok  \texample.com/a\t0.002s\n", (-1, -1, -1)),
    "go, quiet failure": ("go", "--- FAIL: TestB (0.00s)\nFAIL\texample.com/a\t0.002s\n", (-1, 1, 0)),
    "jest": ("npm", "Tests:       1 failed, 1 todo, 5 passed, 7 total\n", (5, 1, 1)),
    "vitest": ("npm", "      Tests  2 failed | 5 passed | 1 skipped (8)\n", (5, 2, 1)),
    "mocha": (
        "npm",
        "  5 passing (12ms)\n  1 pending\n  2 failing\n\n  1) sums adds:\n  2) sums subtracts:\n",
        (5, 2, 1),
    ),
    "node, tap": ("npm", "not ok 1 - bad\n# tests 3\n# pass 2\n# fail 1\n# skipped 0\n# todo 0\n", (2, 1, 0)),
    "unknown": ("npm", "all fine\n", (-1, -1, -1)),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_counts_are_read_from_the_output(name):
    framework, output, expected = OUTPUTS[name]
    counts = module_of("shell", "pass_fail_counts").read_counts(framework, output)
    assert (counts.passed, counts.failed, counts.skipped) == expected


@pytest.mark.parametrize(
    ("framework", "output", "words"),
    [
        (
            "pytest",
            "ERROR test_b.py - boom\nERROR test_c.py::t - boom\n"
            "1 failed, 31 passed, 2 skipped, 3 xfailed, 4 xpassed, 2 errors in 0.12s\n",
            "1 file could not be collected, 1 error, 1 failed, 31 passed, 2 skipped, 3 xfailed, 4 xpassed",
        ),
        ("pytest", "3 xfailed in 0.12s\n", "3 xfailed"),
        (
            "unittest",
            "Ran 9 tests in 1s\n\nFAILED (failures=1, errors=2, skipped=1, expected failures=1, unexpected successes=1)\n",
            "2 errors, 1 failed, 3 passed, 1 skipped, 1 xfailed, 1 xpassed",
        ),
        (
            "go",
            "=== RUN   TestA\n--- PASS: TestA (0.00s)\nFAIL\texample.com/m/b [build failed]\nFAIL\n",
            "1 file could not be collected, 1 passed",
        ),
    ],
)
def test_every_result_is_named_by_its_own_word(framework, output, words):
    counts = module_of("shell", "pass_fail_counts").read_counts(framework, output)
    assert counts.format_counts() == words


@pytest.mark.parametrize(
    ("framework", "output", "names"),
    [
        ("pytest", "FAILED t.py::a - x\nERROR t.py\nFAILED t.py::a - x\n1 failed in 1s", ("t.py::a", "t.py")),
        (
            "unittest",
            "FAIL: test_b (m.A.test_b)\nERROR: m (unittest.loader._FailedTest.m)\nRan 2 tests in 0s\nFAILED (failures=1, errors=1)",
            ("m.A.test_b", "m"),
        ),
        (
            "unittest",
            "FAIL: test_b (m.A)\nFAIL: test_c (m.A) (i=1)\nERROR: setUpClass (m.B)\nFAIL: test_b (m.A.test_b)\n"
            "ERROR: n (unittest.loader._FailedTest)\nRan 2 tests in 0s\nFAILED (failures=2, errors=1)",
            ("m.A.test_b", "m.A.test_c", "m.B.setUpClass", "n"),
        ),
        ("cargo", "test a::c ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored;", ("a::c",)),
        (
            "go",
            "--- FAIL: TestA (0.00s)\nFAIL\texample.com/m/b [setup failed]\n",
            ("TestA", "example.com/m/b"),
        ),
        ("npm", "  ● sums › adds\n\nTests:       1 failed, 1 total", ("sums › adds",)),
    ],
)
def test_the_failed_ones_are_named_once(framework, output, names):
    assert module_of("shell", "pass_fail_counts").read_counts(framework, output).failures == names
