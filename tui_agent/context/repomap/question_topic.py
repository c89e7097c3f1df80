"""What of a question says what it is about: not what the form of an issue asks, nor what it was seen on,
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
_VERSION = re.compile(r"\W*(?:[A-Za-z][\w.+-]*\s+){0,3}(?:[vV]\d+\.\d|\d+\.\d+\.\d)[\w.+-]*")
_BRACKET = re.compile(r"\([^()]*\)")
_TOKEN = re.compile(r"[nN]/[aA]\b|\w[\w.+-]*")
_CODE = re.compile(
    r"\s*(?:(?:async |export |pub(?:lic)? |static |private )*(?:class|const|def|fn|from|func|function|import|let|return|var"
    r"|export|package|using|if|for|while|#include)\b.*[\w)\]}'\":;{>]|[\w.]+\(.*\)|[\w.]+ ?= ?[A-Za-z_'\"\[{(].*|.*[;{}])\s*$"
)
"""A line of a program: what looks like a heading above it is a comment."""
_FILLED = re.compile(
    r"A clear and concise description of |Steps to reproduce the behavio|Add any other context |If applicable, add "
    r"|_No response_|(?:Go to|Click on|Scroll down to) '\.+'|See error$"
)
"""What the forms of GitHub say where nobody has said anything else."""
_WORD, _NUMBER = re.compile(r"[^\W\d_]+"), re.compile(r"\d")
_DOTTED = re.compile(r"\d\.\d")
_PLACE = frozenset(
    """arch architecture browser browsers checklist conduct cpu desktop device distro duplicates environment hardware kernel
    machine os phone platform prerequisites ram screenshot screenshots severity smartphone system validations version
    versions""".split()  # noqa: SIM905 - read as prose
)
"""With what is headed what says where something was seen, and not what."""
_KNOWN = frozenset(
    """aarch64 alpine amd android apple arch arm arm64 bit branch bsd build cent centos chrome chromium core cpu darwin debian
    dell desktop docker edge enterprise fedora firefox freebsd galaxy gb ghz gnu home intel ios ipad iphone kernel latest
    lenovo linux lts mac macbook macos main master mb mint msvc n/a nightly nixos none nvidia openbsd opera or os osx pixel pro ram
    release ryzen safari samsung server stable suse thinkpad ubuntu unix unknown win windows wsl xps""".split()  # noqa: SIM905 - read as prose
)
"""Words that say on what something was seen, and nothing else."""
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
_LONGEST_HEADING, _FEW = 120, 8
"""Characters of a heading; words of a line that begins with a platform's name or has a version."""


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
        if _is_comment(section):
            return [section.heading, *section.lines]
        if _lists_places(section):
            return []
    if match and match.lastgroup == "marked" and _has_only_versions(section) and not _is_comment(section):
        return []
    left = list(_left(section))
    said = any(line.strip() for line in left)
    if match and not _is_of_form(words) and (said or len(left) == len(section.lines)):
        left.insert(0, section.heading)
    return left


def _is_comment(section: _Section) -> bool:
    """Whether what looks like a heading is a line of a program that no fence is around."""
    outside = (line for at, line in enumerate(section.lines) if at not in section.code)
    return section.heading.lstrip().startswith("# ") and any(map(_CODE.match, outside))


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
    if (version := _VERSION.match(value)) and _names_place(value[version.end() :], alone=False):
        return True
    if labelled["sign"] != ":" or not _is_of_place(_words(labelled["label"])):
        return False
    return (not code or _NUMBER.search(value) is not None) and _names_place(value)


def _names_place(text: str, *, alone: bool = True) -> bool:
    """Whether most of the words are numbers, or known as a version's or a platform's; `alone`: a single word is
    always one."""
    tokens = _TOKEN.findall(_BRACKET.sub(" ", text))
    known = sum(_NUMBER.search(one) is not None or one.lower() in _KNOWN for one in tokens)
    return 2 * known > len(tokens) or len(tokens) <= alone


def _lists_places(section: _Section) -> bool:
    """Whether a section is a list of versions and platforms, and no prose. What a program has printed stands in a fence."""
    said = [line for at, line in enumerate(section.lines) if line.strip() and at not in section.code]
    return 2 * sum(map(_is_listed, said)) >= len(said)


def _has_only_versions(section: _Section) -> bool:
    """Whether all that stands below a heading, in whatever language that is, are versions and platforms."""
    said = [line for line in section.lines if line.strip()]
    return not section.code and 0 < len(said) <= _FEW and all(map(_is_version, said))


def _is_version(line: str) -> bool:
    """Whether a line is made of platforms' names and numbers, but for one word where a version stands: `Django 4.2`."""
    start = _ITEM.match(line)
    tokens = _TOKEN.findall(_BRACKET.sub(" ", line[start.end() if start else 0 :]))
    named = sum(one.lower() in _KNOWN for one in tokens)
    versions = sum(_DOTTED.search(one) is not None for one in tokens)
    numbers = sum(_NUMBER.match(one.lstrip("vV")) is not None for one in tokens)
    others = len(tokens) - sum(one.lower() in _KNOWN or _NUMBER.search(one) is not None for one in tokens)
    return len(tokens) <= _FEW and bool(named or (versions and numbers)) and others <= min(1, versions)


def _is_listed(line: str) -> bool:
    """Whether a line gives one thing a value, names a place, or is what a form or a box has said."""
    start = _ITEM.match(line)
    said = line[start.end() if start else 0 :].strip("* ")
    words = said.split()
    return (
        _AGREED.match(line) is not None
        or _FENCE.match(line) is not None
        or said[:1] in ("<", "!")
        or _FILLED.match(said) is not None
        or _LABELLED.match(said) is not None
        or _names_place(said)
        or (len(words) <= _FEW and (words[0].lower() in _KNOWN or _DOTTED.search(said) is not None))
    )
