"""Reading of test counts and the names of failed tests from the output of test programs.

Invariant: a count that the output does not contain is -1.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

MAX_FAILURES = 50


@dataclass(frozen=True, slots=True)
class TestCounts:
    """Numbers of passed, failed and skipped tests in a test run, -1 if unknown.

    `failed` includes errors; `failures` has the names of failed tests. `uncollected` are the names of files with tests
    that could not be loaded. Each of these files counts as failed.
    """

    passed: int = -1
    failed: int = -1
    skipped: int = -1
    failures: tuple[str, ...] = ()
    uncollected: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        return self.passed >= 0 or self.failed >= 0

    def format_counts(self) -> str:
        """Format the counts above zero, e.g. `1 file could not be collected, 1 failed, 31 passed, 2 skipped`."""
        uncollected = len(self.uncollected)
        counts = (
            (uncollected, f"{'file' if uncollected == 1 else 'files'} could not be collected"),
            (self.failed - uncollected, "failed"),
            (self.passed, "passed"),
            (self.skipped, "skipped"),
        )
        return ", ".join(f"{count} {words}" for count, words in counts if count > 0) or "no tests"

    @property
    def failed_lines(self) -> list[str]:
        """Return a line for each failed test, and for each file that could not be collected."""
        return [
            f"{'not collected' if name in self.uncollected else 'failed'}: {name}" for name in self.failures
        ]


def read_counts(framework: str, output: str) -> TestCounts:
    """Read the counts from the output of a framework (a name returned by `frameworks.detect_framework`)."""
    return _READERS[framework](output)


def _pytest(output: str) -> TestCounts:
    for line in reversed(output.split("\n")):
        plain = line.strip("= \t")
        timed = " in " in plain and re.search(r" in [\d.:]+", plain)
        words = "passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?"
        counts = _count_words(words, plain) if timed else Counter[str]()
        if counts:
            names = re.findall(r"^(FAILED|ERROR) (\S+?)(?: - .*)?$", output, re.MULTILINE)
            return TestCounts(
                counts["passed"] + counts["xpassed"],
                counts["failed"] + counts["error"] + counts["errors"],
                counts["skipped"] + counts["xfailed"],
                _limit_names([name for _, name in names]),
                _limit_names([name for word, name in names if word == "ERROR" and "::" not in name]),
            )
        if plain.startswith("no tests ran"):
            return TestCounts(0, 0, 0)
    return TestCounts()


def _unittest(output: str) -> TestCounts:
    ran = _last_number(r"^Ran (\d+) tests? in ", output)
    if ran is None:
        return TestCounts()
    ending = re.findall(r"^(?:OK|FAILED|NO TESTS RAN)\b.*$", output, re.MULTILINE)
    numbers = dict(
        re.findall(r"(failures|errors|skipped|expected failures)=(\d+)", ending[-1] if ending else "")
    )
    failed = int(numbers.get("failures", 0)) + int(numbers.get("errors", 0))
    skipped = int(numbers.get("skipped", 0))
    names, uncollected = list[str](), list[str]()
    for name, inner in re.findall(r"^(?:FAIL|ERROR): (\S+)(?: \(([\w.]+)\))?", output, re.MULTILINE):
        if inner.startswith("unittest.loader._FailedTest"):
            uncollected.append(name)
        # Python 3.10 and older name the class in parentheses, newer ones the method.
        is_full = not inner or inner.endswith(f".{name}")
        names.append(name if name in uncollected else (inner or name) if is_full else f"{inner}.{name}")
    return TestCounts(
        max(ran - failed - skipped, 0), failed, skipped, _limit_names(names), _limit_names(uncollected)
    )


def _cargo(output: str) -> TestCounts:
    results = re.findall(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", output)
    if results:
        passed, failed, skipped = (sum(int(row[column]) for row in results) for column in range(3))
        names = re.findall(r"^test (\S++).* \.\.\. FAILED", output, re.MULTILINE)
        return TestCounts(passed, failed, skipped, _limit_names(names))
    nextest = re.findall(r"(?<!\d)(\d++) tests? run: (.*)", output)
    if not nextest:
        return TestCounts()
    counts = _count_words("passed|failed|skipped", nextest[-1][1])
    names = re.findall(r"^[ \t]*+FAIL \[[^\]\n]*+\] +(.+)$", output, re.MULTILINE)
    return TestCounts(counts["passed"], counts["failed"], counts["skipped"], _limit_names(names))


def _go(output: str) -> TestCounts:
    rows = re.findall(r"^--- (PASS|FAIL|SKIP): (\S+)", output, re.MULTILINE)
    if not rows:
        return TestCounts()
    count = {word: sum(row[0] == word for row in rows) for word in ("PASS", "FAIL", "SKIP")}
    # Without -v, go prints only failed tests, so the number of passed tests is unknown.
    passed = count["PASS"] if count["PASS"] or "=== RUN" in output else -1
    return TestCounts(
        passed, count["FAIL"], count["SKIP"], _limit_names([name for word, name in rows if word == "FAIL"])
    )


def _npm(output: str) -> TestCounts:
    for reader in (_jest, _vitest, _node, _mocha):
        counts = reader(output)
        if counts.is_known:
            return counts
    return TestCounts()


def _jest(output: str) -> TestCounts:
    return _summary_line(r"^Tests: +(.*\d total.*)$", r"^ +● (.+)$", output)


def _vitest(output: str) -> TestCounts:
    return _summary_line(r"^ *Tests +(\d+ .*)\(\d+\)", r"^ *FAIL +(.+)$", output)


def _summary_line(pattern: str, failure: str, output: str) -> TestCounts:
    """Read counts such as `1 failed, 2 passed` from the last line of the output that matches `pattern`.

    `failure` is the pattern of a line with the name of a failed test.
    """
    lines = re.findall(pattern, output, re.MULTILINE)
    if not lines:
        return TestCounts()
    counts = _count_words("passed|failed|skipped|todo", lines[-1])
    names = re.findall(failure, output, re.MULTILINE)
    skipped = counts["skipped"] + counts["todo"]
    return TestCounts(counts["passed"], counts["failed"], skipped, _limit_names(names))


def _node(output: str) -> TestCounts:
    passed = _last_number(r"^(?:#|ℹ) pass (\d+)", output)
    failed = _last_number(r"^(?:#|ℹ) fail (\d+)", output)
    if passed is None or failed is None:
        return TestCounts()
    skipped = (_last_number(r"^(?:#|ℹ) skipped (\d+)", output) or 0) + (
        _last_number(r"^(?:#|ℹ) todo (\d+)", output) or 0
    )
    names = re.findall(r"^ *(?:not ok \d+ - |✖ )(.+?)(?: \([\d.]+ms\))?$", output, re.MULTILINE)
    return TestCounts(
        passed, failed, skipped, _limit_names([name for name in names if name != "failing tests:"])
    )


def _mocha(output: str) -> TestCounts:
    passed = _last_number(r"^ *(\d+) passing\b", output)
    if passed is None:
        return TestCounts()
    names = re.findall(r"^ +\d+\) (.+?):?$", output, re.MULTILINE)
    return TestCounts(
        passed,
        _last_number(r"^ *(\d+) failing\b", output) or 0,
        _last_number(r"^ *(\d+) pending\b", output) or 0,
        _limit_names(names),
    )


_READERS: dict[str, Callable[[str], TestCounts]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "cargo": _cargo,
    "go": _go,
    "npm": _npm,
}


def _count_words(words: str, text: str) -> Counter[str]:
    """Return the number before each word in a text such as `1 failed, 2 passed`.

    `words` is a regular expression of alternatives, e.g. `passed|failed`.
    """
    return Counter({word: int(count) for count, word in re.findall(rf"(?<!\d)(\d++) ({words})\b", text)})


def _last_number(pattern: str, output: str) -> int | None:
    matches = re.findall(pattern, output, re.MULTILINE)
    return int(matches[-1]) if matches else None


def _limit_names(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in names))[:MAX_FAILURES]
