"""Search for the failures in the output of test programs, each with a name, a message and a traceback.

Invariant: the search works line by line, in time proportional to the output.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .tracebacks import omit_middle, shorten_traceback

MAX_LINE_CHARS = 300
_NEVER = r"(?!)"
_RULE = re.compile(r"\s*|[=-]{70}")
"""Matches lines to remove at the start and end of a failure: empty lines, and lines of 70 `=` or `-`."""
_SECTION = re.compile(r"-+ Captured .+ -+")


@dataclass(frozen=True, slots=True)
class _Form:
    """The format of failures in a test framework's output. Each field is a pattern for the start of a line.

    - `first`: matches the first line of a failure. This line also ends the previous failure.
    - `after`: matches a line that ends a failure without starting a new one
    - `heading`: matches the line before the failures
    - `mark`: matches a line that every failure contains
    - `printed`: matches the lines before a failure. The text of its group, which the test printed, is added at the
      failure's end.
    """

    first: str
    after: str = _NEVER
    heading: str = ""
    mark: str = ""
    printed: str = _NEVER


_FORMS: dict[str, tuple[_Form, ...]] = {
    "pytest": (_Form(r"_{3,} .+ _{3,}$", r"=+ .+ =+$", heading=r"=+ (?:FAILURES|ERRORS) =+$"),),
    "unittest": (_Form(r"={70}$", r"Ran \d+ tests? in ", mark=r"(?:FAIL|ERROR): "),),
    "cargo": (_Form(r"---- .+ stdout ----$", r"failures:$|test result: "),),
    "go": (
        _Form(r"=== (?:RUN|CONT|NAME) ", r"(?:FAIL|PASS|ok)\b", mark=r"\s*--- FAIL: "),
        _Form(r"--- FAIL: ", r"(?:FAIL|PASS|ok|---)(?:\s|$)"),
    ),
    "npm": (
        _Form(r"  ● (?!Console$)", r"Test Suites: |Tests: |Summary of all failing tests|(?:PASS|FAIL) "),
        _Form(r" FAIL  ", r"⎯| *Test Files "),
        _Form(r"test at ", heading=r"✖ failing tests:$"),
        # Only what a file printed tells why it could not be loaded.
        _Form(r"\s*not ok \d", r"\s*(?:# |ok \d|1\.\.)", printed=r"# (?:Subtest: .*|(.*))"),
        _Form(r"  \d+\) ", heading=r"\s+\d+ failing$"),
    ),
}
"""Maps a framework (see `frameworks.detect_framework`) to the formats that its failures can have.

The first format that finds a failure is used.
"""


def find_failures(framework: str, output: str) -> list[str]:
    """Return the failures in the output of a test program in order, without repetitions."""
    lines = output.split("\n")
    for form in _FORMS[framework]:
        failures = ["\n".join(block) for block in _blocks(lines, form)]
        if failures:
            return list(dict.fromkeys(failures))
    return []


def _blocks(lines: list[str], form: _Form) -> Iterator[list[str]]:
    first, after, heading = map(re.compile, (form.first, form.after, form.heading))
    mark, printed = re.compile(form.mark), re.compile(form.printed)
    is_behind_heading = not form.heading
    block: list[str] | None = None
    waiting, output = list[str](), list[str]()
    for line in [*lines, None]:
        is_first = line is not None and is_behind_heading and first.match(line) is not None
        if block is not None and (line is None or is_first or after.match(line)):
            if any(map(mark.match, block)):
                yield _without_rules([*block, *output])
            block = None
        if line is None:
            return
        is_behind_heading = is_behind_heading or heading.match(line) is not None
        if is_first:
            block, output, waiting = [line], waiting, []
        elif block is not None:
            block.append(line)
        elif match := printed.match(line):
            waiting += filter(None, match.groups())
        else:  # the result of another test
            waiting = []


def _without_rules(lines: list[str]) -> list[str]:
    start, end = 0, len(lines)
    while start < end and _RULE.fullmatch(lines[start]):
        start += 1
    while start < end and _RULE.fullmatch(lines[end - 1]):
        end -= 1
    return lines[start:end]


def shorten_failure(failure: str, root: str, folder: str) -> str:
    """Shorten the text of a failure: its traceback, and the output of the failed test.

    - `root`: absolute path of the workspace
    - `folder`: absolute path of the folder in which the tests ran
    """
    sections: list[list[str]] = [[]]
    for line in failure.split("\n"):
        if _SECTION.fullmatch(line):
            sections.append([])
        sections[-1].append(cut_line(line))
    traceback, *printed = sections
    return "\n".join(
        [
            *shorten_traceback(traceback, root, folder),
            *(line for section in printed for line in omit_middle(section, 1, 8)),
        ]
    )


def cut_line(line: str) -> str:
    """Return the line, cut after `MAX_LINE_CHARS` characters."""
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}…"
