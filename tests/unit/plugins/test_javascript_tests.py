"""Counts and names of failed tests in recorded outputs of mocha, jest, vitest and Node's test runner.

The outputs are in `tests/fixtures/javascript_tests`. Their tests are nested, and print lines that look like failures.
"""

from pathlib import Path

import pytest

from tests.stubs.tool_context import module_of

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "javascript_tests"
MOCHA = (
    "top level",
    "has a",
    "res .redirect(url) should default to /",
    "res .redirect(url) 1) with numbers: 2) adds: well",
    'hooks "before each" hook for "never"',
    "slow slow one",
)
NODE = ("a.test.js > sums of two adds", "a.test.js > top", "a.test.js > outer inner")


@pytest.mark.parametrize(
    ("name", "counts", "failures"),
    [
        ("mocha_spec", "6 failed, 2 passed, 1 skipped", MOCHA),
        ("mocha_dot", "6 failed, 2 passed, 1 skipped", MOCHA),
        ("mocha_tap", "6 failed, 2 passed", MOCHA),
        (
            "jest",
            "1 file could not be collected, 2 failed, 1 passed, 2 skipped",
            ("./a.test.js > sums › of two › adds", "./a.test.js > top", "./b.test.js"),
        ),
        (
            "jest_verbose",
            "2 failed, 1 passed, 2 skipped",
            ("./a.test.js > sums › of two › adds", "./a.test.js > top"),
        ),
        (
            "vitest",
            "1 file could not be collected, 2 failed, 1 passed, 2 skipped",
            ("b.test.js", "a.test.js > sums > of two > adds", "a.test.js > top"),
        ),
        # Node counts the failed test `outer` too, which failed only because its subtest `inner` did.
        ("node_spec", "4 failed, 1 passed, 2 skipped", NODE),
        ("node_tap", "4 failed, 1 passed, 2 skipped", NODE),
    ],
)
def test_every_failure_has_one_name_with_its_file_and_suites(name, counts, failures):
    output = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    result = module_of("shell", "pass_fail_counts").read_counts("npm", output, "/project/n")
    assert (result.format_counts(), result.failures) == (counts, failures)


def test_tests_of_node_with_the_same_name_are_told_apart_by_their_files() -> None:
    output = (
        "✖ top (0.3ms)\n✖ top (0.4ms)\n✖ /p/c.test.js (2ms)\nℹ pass 0\nℹ fail 3\n\n✖ failing tests:\n\n"
        "test at a.test.js:3:1\n✖ top (0.3ms)\n\ntest at b.test.js:3:1\n✖ top (0.4ms)\n\n"
        "test at c.test.js:1:1\n✖ /p/c.test.js (2ms)\n"
    )
    counts = module_of("shell", "pass_fail_counts").read_counts("npm", output, "/p")
    assert counts.failures == ("a.test.js > top", "b.test.js > top", "c.test.js")


@pytest.mark.parametrize(
    ("output", "failures"),
    [
        (
            "▶ sums\n  ✔ adds (0.5ms)\n✖ sums (1.5ms)\n  Error: in a hook\n✖ sums (0.1ms)\nℹ pass 1\nℹ fail 2\n",
            ("sums",),
        ),
        ("▶ sums\n  ✔ adds (1ms)\n▶ sums (1.5ms)\n✖ top (0.1ms)\nℹ pass 1\nℹ fail 1\n", ("top",)),
        ("▶ sums\n  ✔ adds (1ms)\n✔ sums (1.5ms)\n✖ top (0.1ms)\nℹ pass 1\nℹ fail 1\n", ("top",)),
    ],
    ids=["hook", "old node", "new node"],
)
def test_a_suite_of_node_fails_only_by_itself(output, failures):
    assert module_of("shell", "pass_fail_counts").read_counts("npm", output).failures == failures


@pytest.mark.parametrize(
    ("output", "path"),
    [
        ("FAIL ./b.test.js (5.1 s)\n  ● Test suite failed to run\n\nTests:       0 total\n", "./b.test.js"),
        (
            " FAIL  b.test.js [ b.test.js ]\nError: no\n\n Test Files  1 failed (1)\n      Tests  no tests\n",
            "b.test.js",
        ),
    ],
    ids=["jest", "vitest"],
)
def test_a_file_that_cannot_be_loaded_is_counted_and_named(output, path):
    counts = module_of("shell", "pass_fail_counts").read_counts("npm", output)
    assert counts.format_counts() == "1 file could not be collected"
    assert counts.failed_lines == [f"not collected: {path}"]
