"""L3: how far a call reads below the folders that it names.

Invariant: what is not certain never narrows what is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.policy.catalog.model import Option, Program
from tui_agent.policy.interpreter.git_words import left_out_path
from tui_agent.policy.interpreter.operands import Operands
from tui_agent.policy.interpreter.options import ParsedOption
from tui_agent.policy.interpreter.report import Certainty

_PATH_FILTERS = frozenset({"path filter", "revision or path"})


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a call reads below what it names: see `FileUse`. `names_only`: it prints no contents."""

    below: bool = False
    skips: frozenset[str] = frozenset()
    only: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    follows_links: bool = False
    names_only: bool = False


def measure_reach(program: Program, options: Sequence[ParsedOption], operands: Operands) -> Reach:
    """Measure how far a call reaches, by its options and by the operands that leave files out."""
    listed = [option.option for option in options if option.option is not None]
    read = {
        "hidden": any(option.reads_hidden for option in listed),
        "ignored": any(option.reads_ignored for option in listed),
        "untracked": any(option.reads_untracked for option in listed),
    }
    includes, excludes = _name_patterns(options)
    left_out = [left_out_path(value) for meaning, value in operands.used if meaning in _PATH_FILTERS]
    return Reach(
        below=program.reads_below or any(option.below for option in listed),
        skips=frozenset(kind for kind in program.skips if not read[kind]),
        only=program.only_names if includes is None else includes or program.only_names,
        excludes=(*excludes, *(path for path in left_out if path)),
        follows_links=any(option.follows_links for option in listed),
        names_only=any(option.names_only for option in listed),
    )


def _name_patterns(options: Sequence[ParsedOption]) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Patterns of names that are read alone (None: one of them is not certain), and of those left out."""
    includes: list[str] = []
    excludes: list[str] = []
    certain = True
    for parsed in options:
        if parsed.option is None or parsed.word is None or not _chooses(parsed.option):
            continue
        text = parsed.word.known
        if parsed.option.means == "exclude":
            excludes += [] if text is None else [text]
        elif parsed.word.certainty is Certainty.BOUNDED and not parsed.word.text.startswith("!"):
            # Whatever words a pattern becomes, each of them lets no more through than the pattern itself.
            includes.append(parsed.word.text)
        elif text is None:
            certain = False
        elif text.startswith("!"):
            excludes.append(text[1:])
        else:
            includes.append(text)
    return (tuple(includes) if certain else None), tuple(excludes)


def _chooses(option: Option) -> bool:
    return option.means in ("include", "exclude")
