"""The grammar of rules, one per line: `allow edit src/**`, `deny run git push *`.

    RULE  = VERDICT KIND REST
    allow | ask | deny
    read PATH      reading files; PATH is relative to the workspace, or absolute
    edit PATH      creating and changing files; an `ask` or `deny` rule also covers deleting them
    remove PATH    deleting files
    run WORDS      one simple command, alone or inside a longer line; a final `*` matches any further words
    exact LINE     exactly this command line, run in the workspace
    connect HOST   a host by its full name; `*.example.org` for its subdomains, `10.0.0.0/8` for a network, `HOST:443`
    tool NAME      every call of a tool; `mcp_*` for several tools

In PATH, `*` and `?` match within one name, and `**` matches any number of folders. In WORDS, `*` and `?` match within
one word.

An `allow` rule applies only to words and file names that are exactly known. An `ask` or `deny` rule applies if it might
match, in any letter case.

Invariant: parsing a rule's `text` returns an equal rule, and matching never raises.
"""

import posixpath
import shlex
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from itertools import takewhile
from typing import Literal, TypeAlias, get_args

from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.places.pattern_overlap import fold_case, sequences_overlap
from tui_agent.policy.rules.hosts import parse_pattern, read_host
from tui_agent.protocol.effects import McpCallEffect

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
RuleKind: TypeAlias = Literal["read", "edit", "remove", "run", "exact", "connect", "tool"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
RULE_KINDS: tuple[RuleKind, ...] = get_args(RuleKind)
BINDING = "#"
"""Separator in a rule between a tool's name and the digest of the tool's description and schema."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the user or a project, such as `allow edit src/**`.

    - `rest`: the path, host, words or command line.
    - `source`: where the rule was written.
    - `bounded`: True for a project's rule. It can only allow commands that read or change files of the workspace, or
      that run the workspace's code.
    - `workspace`: the only folder that the rule applies to; empty for every workspace.
    """

    verdict: Verdict
    kind: RuleKind
    rest: str
    source: str = ""
    bounded: bool = False
    workspace: str = ""

    @property
    def scope(self) -> str:
        """A phrase that says to which projects the rule applies."""
        return "in this project" if self.workspace or self.bounded else "in every project"

    @property
    def text(self) -> str:
        """The rule as it is written."""
        return f"{self.verdict} {self.kind} {self.rest}"


def parse_rule(text: str, source: str = "") -> Rule:
    """Parse a rule such as `allow edit src/**`. Raise `ConfigError` with the fault."""
    verdict, _, tail = text.strip().partition(" ")
    kind, _, rest = tail.strip().partition(" ")
    rest = rest.strip()
    where = f" in {source}" if source else ""
    if verdict not in VERDICTS or kind not in RULE_KINDS:
        raise ConfigError(
            f"{text!r}{where} is not a rule.",
            hint=f"Write {'|'.join(VERDICTS)}, then {'|'.join(RULE_KINDS)}, then a path, host, program or tool. Example: allow edit src/**",
        )
    fault, hint = _find_fault(verdict, kind, rest)
    if fault:
        raise ConfigError(f"The rule {text!r}{where} {fault}.", hint=hint)
    return Rule(verdict, kind, rest, source)


def _find_fault(verdict: Verdict, kind: RuleKind, rest: str) -> tuple[str, str]:
    """Return the fault in the last part of a rule, and a hint on how to correct it."""
    if not rest:
        return "is incomplete", "Add a path, host, program or tool."
    try:
        words = shlex.split(rest) if kind == "run" else []
        if kind == "connect":
            parse_pattern(rest)
    except (ValueError, ConfigError) as error:
        return f"cannot be read: {str(error).rstrip('.')}", ""
    if verdict == "allow" and kind == "run" and (not words or not _SIGNS.isdisjoint(words[0])):
        return "would allow any program", "Name the program."
    if verdict == "allow" and kind in ("connect", "tool") and not rest.strip("*?. "):
        thing = "host" if kind == "connect" else "tool"
        return f"would allow any {thing}", f"Name the {thing}."
    if kind in ("read", "edit", "remove") and posixpath.normpath(rest).startswith(("~", "../")):
        return "leaves the workspace with ~ or ..", "Write an absolute path, beginning with /."
    return "", ""


def fits_path(pattern: str, relative: str | None, absolute: str, *, certain: bool = True) -> bool:
    """Return True if the path of a rule matches a file. A relative pattern matches only inside the workspace.

    `certain`: if False, ignore letter case and the encoding of accents.
    """
    target = absolute if pattern.startswith("/") else relative
    if target is None:
        return False
    names = (target if certain else fold_case(target)).split("/")
    return sequences_overlap(
        [name for name in names if name not in ("", ".")], _pattern_names(pattern, certain), fnmatchcase
    )


def may_be_below(pattern: str, relative: str | None, absolute: str) -> bool:
    """Return True if a rule's path can match files below this folder."""
    target = absolute if pattern.startswith("/") else relative
    if target is None:
        return False
    fixed = [part for part in fold_case(fixed_part(pattern)).split("/") if part not in ("", ".")]
    folder = [part for part in fold_case(target).split("/") if part]
    # The rule's fixed folder must lie below `target`, or the other way round.
    shorter = min(len(fixed), len(folder))
    return fixed[:shorter] == folder[:shorter]


@lru_cache(maxsize=1024)
def fixed_part(pattern: str) -> str:
    """Return the leading names of a rule's path without wildcards (`src` for `src/**`). Return "" if there are none."""
    return "/".join(takewhile(_SIGNS.isdisjoint, pattern.split("/")))


@lru_cache(maxsize=1024)
def _pattern_names(pattern: str, certain: bool) -> tuple[str | None, ...]:
    """Split a rule's path into names, with None for `**`."""
    shape = pattern if pattern.startswith("/") else posixpath.normpath(pattern)
    names = (shape if certain else fold_case(shape)).split("/")
    return tuple(None if name == "**" else name for name in names if name)


def first_word(pattern: str) -> str:
    """Return the lower-case program name of a rule for commands; empty if the name is a pattern."""
    shapes = _words(pattern)
    return "" if not shapes or not _SIGNS.isdisjoint(shapes[0]) else shapes[0].lower()


def fits_words(pattern: str, words: tuple[str | None, ...], *, certain: bool) -> bool:
    """Return True if a rule for commands matches the words of a command. None is an unknown word.

    `certain`: if True, an unknown word matches nothing. If False, an unknown word can be any number of words; in the
    place of the program, it is one word. The program's name then matches in any letter case.
    """
    shapes: list[str | None] = [*_words(pattern)]
    if not shapes or (certain and None in words):
        return False
    if shapes[-1] == "*":
        shapes[-1] = None
    if certain or not words:
        return sequences_overlap(words, shapes, fnmatchcase)
    first, *others = words
    name = shapes[0]
    if name is None:
        return True
    if first is not None and not fnmatchcase(first.lower(), name.lower()):
        return False
    return sequences_overlap(others, shapes[1:], fnmatchcase)


def begins_with(pattern: str, words: tuple[str | None, ...]) -> bool:
    """Return True if a rule for commands begins with exactly these words, without a pattern."""
    return (
        bool(words) and _words(pattern)[: len(words)] == words and _SIGNS.isdisjoint("".join(map(str, words)))
    )


_SIGNS = frozenset("*?[")


@cache
def _words(pattern: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(pattern))
    except ValueError:
        return ()


def fits_host(pattern: str, host: str, *, certain: bool = True) -> bool:
    """Return True if a host pattern matches a host.

    A text that names no host (`user@host`, a NUL) matches nothing. `certain`: see `HostPattern.fits`.
    """
    address = read_host(host)
    return address is not None and parse_pattern(pattern).fits(address, certain=certain)


def fits_tool(pattern: str, tool: str) -> bool:
    """Return True if a rule matches a tool's name."""
    return fnmatchcase(tool, pattern)


def bound_name(tool: str, effect: McpCallEffect) -> str:
    """Return the tool's name with its digest, such as `mcp_time_convert_time#1a2b3c4d5e6f`."""
    return f"{tool}{BINDING}{effect.digest}"


def server_pattern(tool: str) -> str:
    """Return the pattern for all tools of a tool's server, such as `mcp_time_*`."""
    return "_".join([*tool.split("_", 2)[:2], "*"])
