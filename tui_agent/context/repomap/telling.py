"""L3: what of a question says what it is about: not what the form of an issue asks, nor what it was seen on,
nor the frames of foreign code.

Invariant: pure; of a question that is nothing else, everything is left, and of one line too, but for comments.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r"\s*(?:```|~~~)")
_HEADING = re.compile(
    r" {0,3}(?:#{1,6}\s+(?P<marked>.+?)[\s#]*|\*\*(?P<bold>[^*]+)\*\*:?|(?P<plain>[A-Z][\w /()-]{1,40}):)\s*$"
)
_AGREED = re.compile(r"\s*[-*+] \[(?:[xX]\]|\s?\]\s+I\b)")
"""A box that is ticked, or that says of who asks what they have done; one of a plan is neither."""
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_LABELLED = re.compile(r"(?P<label>[A-Za-z][\w ./()+-]{0,40}?)[* ]*(?P<sign>[:=])[=* ]*(?P<value>.*)$")
_VERSION = re.compile(r"\W*(?:[A-Za-z][\w.+-]*\s+){0,3}(?:[vV]\d+\.\d|\d+\.\d+\.\d)")
_FILLED = re.compile(
    r"A clear and concise description of |Steps to reproduce the behavio|Add any other context |If applicable, add "
    r"|_No response_|(?:Go to|Click on|Scroll down to) '\.+'|See error$"
)
"""What the forms of GitHub say where nobody has said anything else."""
_WORD, _NUMBER = re.compile(r"[^\W\d_]+"), re.compile(r"\d")
_PLACE = frozenset(
    """arch architecture browser browsers checklist conduct cpu desktop device distro duplicates environment hardware kernel
    machine os phone platform prerequisites ram screenshot screenshots severity smartphone system validations version
    versions""".split()  # noqa: SIM905 - read as prose
)
"""With what is headed what says where something was seen, and not what."""
_FORM = _PLACE | frozenset(
    """a actual additional an and any are behavior behaviour bug can case code complete contact context current debugging
    describe description desired details did do does example existing expect expected feature following for further happen
    happened happens have how i in info information is issue issues it list log logs mandatory minimal modification
    modifications more motivation notes of on operating optional or other output please possible problem related relevant
    reproduce reproducer reproducible reproduction request required result results sample summary the there this to
    used using was we what where which you your""".split()  # noqa: SIM905 - read as prose
)
"""Of what words the headings of forms are made."""
_MOST_NAMED = 2
"""Words that name what a version is of."""
_PYTHON = re.compile(r"\s*File \"")
_FOREIGN = re.compile(
    r"\s*(?:File \"[^\"]*(?:(?:site|dist)-packages|/lib(?:64)?/python\d|<frozen )"
    r"|at (?:\S.*)?(?:node_modules/|\bnode:|\(<anonymous>\)|<anonymous>:\d)|at (?:System|Microsoft)\."
    r"|at [\w$.@/]+\.[\w$<>]+\((?:[\w$]+\.\w+:\d+|Native Method|Unknown Source)\)|\.\.\. \d+ more$)"
)
"""A frame of an installed package or of what runs the program, and every frame of Java, whose class is its file."""
_DEEP = "    "
"""Before the line of code that Python prints below a frame."""
_LONGEST_HEADING, _LONGEST_VALUE = 120, 3
"""Characters of a heading; words of what stands behind a label, where there is no number."""


class _Section(NamedTuple):
    """Lines below a heading, which is empty where there is none. `code`: which of them are in a fence."""

    heading: str
    lines: list[str]
    code: set[int]


def told(text: str) -> str:
    """A question without comments, a form's own words, boxes that are ticked, and versions and what they were seen on."""
    bare = _uncommented(text)
    if "\n" in bare:
        bare = "\n".join(line for section in _sections(bare) for line in _telling(section))
    return bare if bare.strip() else text


def unframed(text: str) -> str:
    """A question whose words are those of whoever asks: without a stack's frames in code that is not the repository's, and
    without those that only name a file (see `mentioned`)."""
    kept: list[str] = []
    foreign = False
    for line in text.splitlines():
        below = foreign and line.startswith(_DEEP) and not _PYTHON.match(line)
        frame = _FOREIGN.match(line) is not None
        foreign = below or (frame and _PYTHON.match(line) is not None)
        if not below and not frame:
            kept.append(line)
    found = "\n".join(kept)
    return found if found.strip() else text


def _uncommented(text: str) -> str:
    """Without comments of markup that are not themselves quoted."""
    found, at = "", 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        found += text[at : start if text[start - 1 : start] != "`" else end]
        at = end if text[start - 1 : start] == "`" else end + len("-->")
    return found + text[at:]


def _sections(text: str) -> Iterator[_Section]:
    section, fenced = _Section("", [], set()), False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            section.code.add(len(section.lines))
        elif len(line) <= _LONGEST_HEADING and _HEADING.match(line):
            yield section
            section = _Section(line, [], set())
            continue
        section.lines.append(line)
    yield section


def _telling(section: _Section) -> list[str]:
    """What is left of a section: nothing of one about a place, and no heading that a form wrote or that stands for nothing."""
    match = _HEADING.match(section.heading)
    words = _words(match[match.lastgroup or 0]) if match else []
    if match and match.lastgroup != "plain" and _is_of_place(words):
        return []
    left = list(_left(section))
    said = any(line.strip() for line in left)
    if match and not _is_of_form(words) and (said or len(left) == len(section.lines)):
        left.insert(0, section.heading)
    return left


def _left(section: _Section) -> Iterator[str]:
    agreed = False
    for at, line in enumerate(section.lines):
        code = at in section.code
        if not code:
            agreed = _AGREED.match(line) is not None or (agreed and line[:1] == " " and not _ITEM.match(line))
        if not agreed and not _is_aside(line, code=code):
            yield line


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _is_of_form(words: list[str]) -> bool:
    return words[-1:] == ["reproduce"] or (bool(words) and _FORM.issuperset(words))


def _is_of_place(words: list[str]) -> bool:
    """Whether a heading asks for a version, or is a form's and asks where something was seen."""
    others = [word for word in words if word not in _FORM]
    if words[-1:] in (["version"], ["versions"]):
        return len(others) <= _MOST_NAMED
    return not others and not _PLACE.isdisjoint(words)


def _is_aside(line: str, *, code: bool) -> bool:
    """Whether one line says a version, what something was seen on, or what nobody has filled in."""
    start = _ITEM.match(line)
    said = line[start.end() if start else 0 :].strip("* ")
    if _FILLED.match(said):
        return True
    labelled = _LABELLED.match(said)
    if labelled is None:
        return False
    value = labelled["value"]
    if _VERSION.match(value):
        return True
    short = _NUMBER.search(value) or (not code and len(value.split()) <= _LONGEST_VALUE)
    return bool(short) and labelled["sign"] == ":" and _is_of_place(_words(labelled["label"]))
