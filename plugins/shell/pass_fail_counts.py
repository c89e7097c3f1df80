"""Reads the numbers of tests and the names of failed tests from the output of test programs.

Invariant: a count that cannot be known from the output is -1 and not 0.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

MAX_FAILURES = 50


@dataclass(frozen=True, slots=True)
class TestCounts:
    """The number of tests with each result in a test run. `passed`, `failed` and `skipped` are -1 if unknown.

    - `failed`: includes `errors`
    - `failures`: names of failed tests and errors
    - `uncollected`: test files that could not be loaded; each file counts as an error
    - `xfailed`: tests that failed as expected
    - `xpassed`: tests that passed unexpectedly
    """

    passed: int = -1
    failed: int = -1
    skipped: int = -1
    failures: tuple[str, ...] = ()
    uncollected: tuple[str, ...] = ()
    errors: int = 0
    xfailed: int = 0
    xpassed: int = 0

    @property
    def is_known(self) -> bool:
        return self.passed >= 0 or self.failed >= 0

    def format_counts(self) -> str:
        """Format the counts above zero, such as `1 file could not be collected, 1 failed, 31 passed, 2 skipped`."""
        uncollected = len(self.uncollected)
        counts = (
            (uncollected, f"{'file' if uncollected == 1 else 'files'} could not be collected"),
            (self.errors - uncollected, "error" if self.errors - uncollected == 1 else "errors"),
            (self.failed - self.errors, "failed"),
            (self.passed, "passed"),
            (self.skipped, "skipped"),
            (self.xfailed, "xfailed"),
            (self.xpassed, "xpassed"),
        )
        return ", ".join(f"{count} {words}" for count, words in counts if count > 0) or "no tests"

    @property
    def failed_lines(self) -> list[str]:
        """Return a line for each failed test, and for each file that could not be collected."""
        return [
            f"{'not collected' if name in self.uncollected else 'failed'}: {name}" for name in self.failures
        ]


def read_counts(framework: str, output: str, folder: str = "") -> TestCounts:
    """Read the counts from the output of a framework (a name returned by `frameworks.detect_framework`).

    `folder`: absolute path of the folder in which the tests ran. Paths in the names of tests are relative to this
    folder.
    """
    return _READERS[framework](output.replace(f"{folder}/", "") if folder else output)


def _pytest(output: str) -> TestCounts:
    # The summary is not always the last line, because plugins of pytest can print lines after it.
    for line in reversed(output.split("\n")):
        plain = line.strip("= \t")
        timed = " in " in plain and re.search(r" in [\d.:]+", plain)
        words = "passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?"
        counts = _count_words(words, plain) if timed else Counter[str]()
        if counts:
            names = re.findall(r"^(FAILED|ERROR) (\S+?)(?: - .*)?$", output, re.MULTILINE)
            errors = counts["error"] + counts["errors"]
            return TestCounts(
                counts["passed"],
                counts["failed"] + errors,
                counts["skipped"],
                _limit_names([name for _, name in names]),
                _limit_names([name for word, name in names if word == "ERROR" and "::" not in name]),
                errors,
                counts["xfailed"],
                counts["xpassed"],
            )
        if plain.startswith(("no tests ran", "ERROR: usage:")) and "INTERNALERROR>" not in output:
            return TestCounts(0, 0, 0)
    return TestCounts()


def _unittest(output: str) -> TestCounts:
    ran = _last_number(r"^Ran (\d+) tests? in ", output)
    if ran is None:
        return TestCounts()
    ending = re.findall(r"^(?:OK|FAILED|NO TESTS RAN)\b.*$", output, re.MULTILINE)
    named_counts = re.findall(
        r"(expected failures|unexpected successes|failures|errors|skipped)=(\d+)", "".join(ending[-1:])
    )
    counts = Counter({name: int(count) for name, count in named_counts})
    failed, skipped = counts["failures"] + counts["errors"], counts["skipped"]
    xfailed, xpassed = counts["expected failures"], counts["unexpected successes"]
    names, uncollected = list[str](), list[str]()
    for name, inner in re.findall(r"^(?:FAIL|ERROR): (\S+)(?: \(([\w.]+)\))?", output, re.MULTILINE):
        if inner.startswith("unittest.loader._FailedTest"):
            uncollected.append(name)
        # Python 3.10 and older name the class in parentheses, newer ones the method.
        is_full = not inner or inner.endswith(f".{name}")
        names.append(name if name in uncollected else (inner or name) if is_full else f"{inner}.{name}")
    return TestCounts(
        max(ran - failed - skipped - xfailed - xpassed, 0),
        failed,
        skipped,
        _limit_names(names),
        _limit_names(uncollected),
        counts["errors"],
        xfailed,
        xpassed,
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
    not_built = re.findall(r"^FAIL\t(\S+) \[(?:build|setup) failed\]$", output, re.MULTILINE)
    if not rows and not not_built:
        return TestCounts()
    count = {word: sum(row[0] == word for row in rows) for word in ("PASS", "FAIL", "SKIP")}
    # Without -v, go prints only failed tests, so the number of passed tests is unknown.
    passed = count["PASS"] if count["PASS"] or "=== RUN" in output else -1
    names = [name for word, name in rows if word == "FAIL"]
    return TestCounts(
        passed,
        count["FAIL"] + len(not_built),
        count["SKIP"],
        _limit_names([*names, *not_built]),
        _limit_names(not_built),
        len(not_built),
    )


def _npm(output: str) -> TestCounts:
    for reader in (_jest, _vitest, _node, _mocha):
        counts = reader(output)
        if counts.is_known:
            return counts
    return TestCounts()


def _jest(output: str) -> TestCounts:
    names, uncollected, path = list[str](), list[str](), ""
    for file, name in re.findall(
        r"^(?:FAIL +(.+?)(?: \([\d.]+ m?s\))?|  ● (?!Console$)(.+))$", output, re.MULTILINE
    ):
        path = file or path
        if name == "Test suite failed to run":
            uncollected.append(path)
        if name:
            names.append(path if name == "Test suite failed to run" else _join_file(path, name))
    return _read_summary(r"^Tests: +(.*\d total.*)$", output, names, uncollected)


def _join_file(path: str, name: str) -> str:
    """Put the path of a test's file before the test's name, in the form that vitest prints."""
    return f"{path} > {name}" if path and path != name else name


def _vitest(output: str) -> TestCounts:
    # A failed test is `a.test.js > adds`; a file that could not be loaded is `a.test.js [ a.test.js ]`.
    titles = re.findall(r"^ FAIL  (.+)$", output, re.MULTILINE)
    names = [
        title if " > " in title else title.partition(" [ ")[0]
        for title in titles
        if " > " in title or title.endswith(" ]")
    ]
    uncollected = [name for name in names if " > " not in name]
    return _read_summary(r"^ *Tests +(no tests$|\d+ .*\(\d+\))", output, names, uncollected)


def _read_summary(pattern: str, output: str, names: list[str], uncollected: list[str]) -> TestCounts:
    """Read counts such as `1 failed, 2 passed` from the last line that matches `pattern`.

    - `names`: names of failed tests, including the paths in `uncollected`
    - `uncollected`: paths of test files that could not be loaded. Their number is added to `failed`, because the output
      does not count them.
    """
    lines = re.findall(pattern, output, re.MULTILINE)
    if not lines:
        return TestCounts()
    counts = _count_words("passed|failed|skipped|todo", lines[-1])
    paths = _limit_names(uncollected)
    return TestCounts(
        counts["passed"],
        counts["failed"] + len(paths),
        counts["skipped"] + counts["todo"],
        _limit_names(names),
        paths,
        len(paths),
    )


def _node(output: str) -> TestCounts:
    passed = _last_number(r"^(?:#|ℹ) pass (\d+)", output)
    failed = _last_number(r"^(?:#|ℹ) fail (\d+)", output)
    if passed is None or failed is None:
        return TestCounts()
    skipped = (_last_number(r"^(?:#|ℹ) skipped (\d+)", output) or 0) + (
        _last_number(r"^(?:#|ℹ) todo (\d+)", output) or 0
    )
    return TestCounts(passed, failed, skipped, _limit_names(_node_failures(output)))


_NODE_LINE = re.compile(
    r"^( *+)(# Subtest:|▶|✖|not ok \d++(?: -)?) (.+?)( \([\d.]++ms\))?( # (?:TODO|SKIP)\b.*)?$", re.MULTILINE
)
"""Matches a line at which a test or a suite starts or ends."""
_NODE_SPEC_FILE = re.compile(r"^test at (.+):\d++:\d++\n✖ (.+?)(?: \([\d.]++ms\))?$", re.MULTILINE)
"""Matches the file and the name of a failed test in the list at the end of the output."""
_NODE_TAP_FILE = re.compile(
    r"\n *+---\n(?: *+(?:duration_ms|type): .*+\n)*+ *+location: '(.+):\d++:\d++'$", re.MULTILINE
)
"""Matches the details that follow a failed test in TAP output, up to the test's file."""


@dataclass(slots=True)
class _OpenTest:
    indent: int
    name: str
    has_failure: bool = False


def _node_failures(output: str) -> list[str]:
    """Return the names of failed tests in the output of Node's test runner.

    Each name is preceded by the path of its file and the names of its suites.
    """
    # A suite is left out if a test in it failed: its failure is the same.
    names, open_tests, files = list[str](), list[_OpenTest](), dict[str, list[str]]()
    output, _, failing = output.partition("\n✖ failing tests:\n")
    for path, name in _NODE_SPEC_FILE.findall(failing):
        files.setdefault(name, []).append(path)
    for line in _NODE_LINE.finditer(output):
        indent, (mark, name, time, directive) = len(line[1]), line.group(2, 3, 4, 5)
        while open_tests and open_tests[-1].indent > indent:
            open_tests.pop()
        test = open_tests.pop() if open_tests and open_tests[-1].indent == indent else None
        if mark == "# Subtest:" or (mark == "▶" and not time):
            open_tests.append(_OpenTest(indent, name))
        elif mark != "▶" and not directive and not (test and test.name == name and test.has_failure):
            file = _NODE_TAP_FILE.match(output, line.end())
            path = file[1] if file else files[name].pop(0) if files.get(name) else ""
            names.append(_join_file(path, " ".join([*(outer.name for outer in open_tests), name])))
            for outer in open_tests:
                outer.has_failure = True
    return names


def _mocha(output: str) -> TestCounts:
    passed = _last_number(r"^ *(\d+) passing\b", output)
    if passed is None:
        return TestCounts()
    failed = _last_number(r"^ *(\d+) failing\b", output) or 0
    skipped = _last_number(r"^ *(\d+) pending\b", output) or 0
    return TestCounts(passed, failed, skipped, _limit_names(_mocha_failures(output) if failed else []))


def _mocha_failures(output: str) -> list[str]:
    """Return the names of failed tests from the list below `2 failing`.

    Each name is preceded by the names of its suites.
    """
    # A name takes several lines there: the outermost suite after the failure's number, the others below it, each
    # indented by two more spaces, and a colon at the end.
    names, indent = list[str](), 0
    for line in re.split(r"^ *\d+ failing$", output, flags=re.MULTILINE)[-1].split("\n"):
        text = line.lstrip()
        if line.startswith(f"  {len(names) + 1}) "):
            names.append(text.partition(" ")[2])
            indent = 7
        elif indent and text and len(line) - len(text) == indent:
            names[-1] += f" {text}"
            indent += 2
        else:
            indent = 0
    return [name.removesuffix(":") for name in names]


_READERS: dict[str, Callable[[str], TestCounts]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "cargo": _cargo,
    "go": _go,
    "npm": _npm,
}


def _count_words(words: str, text: str) -> Counter[str]:
    """Return the number before each word in a text such as `1 failed, 2 passed`.

    `words`: regular expression of alternatives, such as `passed|failed`.
    """
    return Counter({word: int(count) for count, word in re.findall(rf"(?<!\d)(\d++) ({words})\b", text)})


def _last_number(pattern: str, output: str) -> int | None:
    matches = re.findall(pattern, output, re.MULTILINE)
    return int(matches[-1]) if matches else None


def _limit_names(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in names))[:MAX_FAILURES]
