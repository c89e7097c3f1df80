"""Removal of the parts of a question that do not describe its topic.

Examples: the fixed text of an issue form, versions, and stack frames of installed packages.

Invariant: if nothing would remain, the whole question is kept.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r"\s*(?:```|~~~)")
_HEADING = re.compile(
    r" {0,3}(?:#{1,6}\s+(?P<marked>.+?)[\s#]*|\*\*(?P<bold>[^*]+)\*\*:?|(?P<plain>[A-Z][\w /()-]{1,40}):)\s*$"
)
_TICKED_BOX = re.compile(r"\s*[-*+] \[(?:[xX]\]|\s?\]\s+I\b)")
"""Matches two kinds of list items: a ticked box, and an empty box before a sentence that begins with "I"."""
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_LABELLED = re.compile(r"(?P<label>[A-Za-z][\w ./()+-]{0,40}?)[* ]*(?P<sign>[:=])[=* ]*(?P<value>.*)")
_VERSION = re.compile(r"\W*(?:[A-Za-z][\w.+-]*\s+){0,3}(?:[vV]\d+\.\d|\d+\.\d+\.\d)[\w.+-]*")
_BRACKET = re.compile(r"\([^()]*\)")
_TOKEN = re.compile(r"[nN]/[aA]\b|\w[\w.+-]*")
_CODE = re.compile(
    r"\s*+(?:(?:async |pub(?:lic)? |static |private )*+(?:class|const|def|export|fn|from|func|function|import|let|return|var"
    r"|package|using|if|for|while|#include)\b.*[\w)\]}'\":;{>]|[\w.]+\(.*\)|[\w.]+ ?= ?[A-Za-z_'\"\[{(].*|.*[;{}])$"
)
"""Matches a line of code."""
# If such a line directly follows a heading such as `# Setup`, the heading is a comment.
_FORM_DEFAULT = re.compile(
    r"A clear and concise description of |Steps to reproduce the behavio|Add any other context |If applicable, add "
    r"|_No response_|(?:Go to|Click on|Scroll down to) '\.+'|See error$"
)
"""Matches the default texts of GitHub's issue forms."""
_WORD, _NUMBER = re.compile(r"[^\W\d_]+"), re.compile(r"\d")
_DOTTED = re.compile(r"\d\.\d")
_LOCATION_WORDS = frozenset(
    """arch architecture browser browsers checklist conduct cpu desktop device distro duplicates environment hardware kernel
    machine os phone platform prerequisites ram screenshot screenshots severity smartphone system validations version
    versions""".split()  # noqa: SIM905 - read as prose
)
"""Words in an issue form's headings that ask where a problem occurs, such as `browser` or `version`."""
_PLATFORM_WORDS = frozenset(
    """aarch64 alpine amd android apple arch arm arm64 bit branch bsd build cent centos chrome chromium core cpu darwin debian
    dell desktop docker edge enterprise fedora firefox freebsd galaxy gb ghz gnu home intel ios ipad iphone kernel latest
    lenovo linux lts mac macbook macos main master mb mint msvc n/a nightly nixos none nvidia openbsd opera or os osx pixel pro ram
    release ryzen safari samsung server stable suse thinkpad ubuntu unix unknown win windows wsl xps""".split()  # noqa: SIM905 - read as prose
)
"""Words that only name platforms and versions."""
_FORM_WORDS = _LOCATION_WORDS | frozenset(
    """a actual additional an and any are behavior behaviour bug can case code complete contact context current debugging
    describe description desired details did do does example existing expect expected feature following for further happen
    happened happens have how i in info information is issue issues it list log logs mandatory minimal modification
    modifications more motivation notes of on operating optional or other output please possible problem related relevant
    reproduce reproducer reproducible reproduction request required result results sample summary the there this to
    used using was we what where which you your""".split()  # noqa: SIM905 - read as prose
)
"""Words in the headings of issue forms."""
_MAX_PRODUCT_WORDS = 2
"""Maximum number of words in the name of a product, in a heading such as `Django version`."""
_PYTHON = re.compile(r"\s*File \"")
_FOREIGN = re.compile(
    r"\s*(?:File \"[^\"]*(?:(?:site|dist)-packages|/lib(?:64)?/python\d|<frozen )"
    r"|at (?:\S.*)?(?:node_modules/|\bnode:|\(<anonymous>\)|<anonymous>:\d)|at (?:System|Microsoft)\."
    r"|at [\w$.@/]+\.[\w$<>]+\((?:[\w$]+\.\w+:\d+|Native Method|Unknown Source)\)|\.\.\. \d+ more$)"
)
"""Matches a stack frame in an installed package or in the runtime."""
# Every Java frame matches, because the names of classes in a question are enough to find their files.
_CODE_INDENT = "    "
"""Indentation of the code line that Python prints below a frame."""
_MAX_HEADING_CHARS, _MAX_PLATFORM_LINE_WORDS = 120, 8
"""Maximum characters of a heading, and maximum words of a line about a platform or version."""


class _Section(NamedTuple):
    """A heading of a question, and the lines below it. The heading can be empty.

    `code`: indexes of lines inside a code fence.
    """

    heading: str
    lines: list[str]
    code: set[int]


def strip_boilerplate(text: str) -> str:
    """Remove comments, form texts, ticked boxes, versions and platforms from a question."""
    bare = _strip_comments(text)
    if "\n" in bare:
        bare = "\n".join(line for section in _sections(bare) for line in _relevant_lines(section))
    return bare if bare.strip() else text


def strip_stack_frames(text: str) -> str:
    """Remove the stack frames matched by `_FOREIGN` from a question."""
    lines: list[str] = []
    foreign = False
    for line in text.splitlines():
        is_frame_code = foreign and line.startswith(_CODE_INDENT) and not _PYTHON.match(line)
        is_frame = _FOREIGN.match(line) is not None
        foreign = is_frame_code or (is_frame and _PYTHON.match(line) is not None)
        if not is_frame_code and not is_frame:
            lines.append(line)
    remaining = "\n".join(lines)
    return remaining if remaining.strip() else text


def _strip_comments(text: str) -> str:
    """Remove HTML comments, except those in backquotes."""
    result, position = "", 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start)) >= 0:
        result += text[position : start if text[start - 1 : start] != "`" else end]
        position = end if text[start - 1 : start] == "`" else end + len("-->")
    return result + text[position:]


def _sections(text: str) -> Iterator[_Section]:
    section, fenced = _Section("", [], set()), False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            section.code.add(len(section.lines))
        elif len(line) <= _MAX_HEADING_CHARS and _HEADING.match(line):
            yield section
            section = _Section(line, [], set())
            continue
        section.lines.append(line)
    yield section


def _relevant_lines(section: _Section) -> list[str]:
    """Return a section's lines that describe the topic."""
    match = _HEADING.match(section.heading)
    words = _words(match[match.lastgroup or 0]) if match else []
    if match and match.lastgroup != "plain" and _asks_for_platform(words):
        if _is_comment(section):
            return [section.heading, *section.lines]
        if _lists_platforms(section):
            return []
    if match and match.lastgroup == "marked" and _has_only_versions(section) and not _is_comment(section):
        return []
    lines = list(_lines_without_asides(section))
    has_text = any(line.strip() for line in lines)
    if match and not _is_form_heading(words) and (has_text or len(lines) == len(section.lines)):
        lines.insert(0, section.heading)
    return lines


def _is_comment(section: _Section) -> bool:
    """Return True if the heading is a code comment: it starts with `# `, and code follows outside a code fence."""
    outside = (line for index, line in enumerate(section.lines) if index not in section.code)
    return section.heading.lstrip().startswith("# ") and any(_CODE.match(line.rstrip()) for line in outside)


def _lines_without_asides(section: _Section) -> Iterator[str]:
    in_checklist = False
    for index, line in enumerate(section.lines):
        code = index in section.code
        if not code:
            in_checklist = _TICKED_BOX.match(line) is not None or (
                in_checklist and line[:1] == " " and not _ITEM.match(line)
            )
        if not in_checklist and not _is_aside(line, code=code):
            yield line


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _is_form_heading(words: list[str]) -> bool:
    return words[-1:] == ["reproduce"] or (bool(words) and _FORM_WORDS.issuperset(words))


def _asks_for_platform(words: list[str]) -> bool:
    """Return True if the words of a heading ask for a version or a platform."""
    others = [word for word in words if word not in _FORM_WORDS]
    if words[-1:] in (["version"], ["versions"]):
        return len(others) <= _MAX_PRODUCT_WORDS
    return not others and not _LOCATION_WORDS.isdisjoint(words)


def _is_aside(line: str, *, code: bool) -> bool:
    """Return True if a line states a version or platform, or is a default text of an issue form."""
    content = _item_text(line)
    if _FORM_DEFAULT.match(content):
        return True
    labelled = _LABELLED.match(content)
    if labelled is None:
        return False
    value = labelled["value"]
    if (version := _VERSION.match(value)) and _names_platform(value[version.end() :], alone=False):
        return True
    if labelled["sign"] != ":" or not _asks_for_platform(_words(labelled["label"])):
        return False
    return (not code or _NUMBER.search(value) is not None) and _names_platform(value)


def _names_platform(text: str, *, alone: bool = True) -> bool:
    """Return True if most words are numbers or names of platforms. With `alone`, a single word always counts."""
    tokens = _TOKEN.findall(_BRACKET.sub(" ", text))
    known = sum(_NUMBER.search(token) is not None or token.lower() in _PLATFORM_WORDS for token in tokens)
    return 2 * known > len(tokens) or len(tokens) <= alone


def _lists_platforms(section: _Section) -> bool:
    """Return True if at least half of a section's lines, outside code fences, state versions or platforms."""
    lines = [line for index, line in enumerate(section.lines) if line.strip() and index not in section.code]
    return 2 * sum(map(_is_platform_line, lines)) >= len(lines)


def _has_only_versions(section: _Section) -> bool:
    """Return True if all lines of a section are versions or platforms."""
    lines = [line for line in section.lines if line.strip()]
    return not section.code and 0 < len(lines) <= _MAX_PLATFORM_LINE_WORDS and all(map(_is_version, lines))


def _is_version(line: str) -> bool:
    """Return True if a line only names versions and platforms, such as `Django 4.2`."""
    tokens = _TOKEN.findall(_BRACKET.sub(" ", _item_text(line)))
    others = [token for token in tokens if token.lower() not in _PLATFORM_WORDS]
    has_version = any(map(_DOTTED.search, tokens))
    has_number = any(_NUMBER.match(token.lstrip("vV")) for token in tokens)
    return (
        len(tokens) <= _MAX_PLATFORM_LINE_WORDS
        and (len(others) < len(tokens) or (has_version and has_number))
        and sum(not _NUMBER.search(token) for token in others) <= has_version
    )


def _item_text(line: str) -> str:
    marker = _ITEM.match(line)
    return line[marker.end() if marker else 0 :].strip("* ")


def _is_platform_line(line: str) -> bool:
    """Return True if a line is a label with a value, names a platform, or belongs to a form or checklist."""
    content = _item_text(line)
    words = content.split()
    return (
        _TICKED_BOX.match(line) is not None
        or _FENCE.match(line) is not None
        or content[:1] in ("<", "!")
        or _FORM_DEFAULT.match(content) is not None
        or _LABELLED.match(content) is not None
        or _names_platform(content)
        or (
            len(words) <= _MAX_PLATFORM_LINE_WORDS
            and (words[0].lower() in _PLATFORM_WORDS or _DOTTED.search(content) is not None)
        )
    )
