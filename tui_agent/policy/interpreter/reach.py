"""The reach of a call: the files below the named folders that the call reads.

Invariant: an uncertain option never narrows the reach.
"""

from collections.abc import Sequence

from tui_agent.policy.catalog.catalog_schema import Option, Program
from tui_agent.policy.interpreter.call_options import ParsedOption
from tui_agent.policy.interpreter.command_report import Certainty, FileUse
from tui_agent.policy.interpreter.git_words import left_out_path
from tui_agent.policy.interpreter.operands import Operands

_PATH_FILTERS = frozenset({"path filter", "revision or path"})


def measure_reach(program: Program, options: Sequence[ParsedOption], operands: Operands) -> FileUse:
    """Return a `FileUse` without a path: a template for the files that the call names."""
    includes, excludes, others = _choose_names(options)
    left_out = [left_out_path(value) for meaning, value in operands.used if meaning in _PATH_FILTERS]
    return FileUse(
        "",
        "list" if any(option.names_only for option in others) else "read",
        below=program.reads_below or any(option.below for option in others),
        skips=frozenset(
            kind for kind in program.skips if not any(getattr(option, f"reads_{kind}") for option in others)
        ),
        only=tuple(includes) if includes and all(includes) else program.only_names,
        excludes=(*excludes, *(path for path in left_out if path)),
        follows_links=any(option.follows_links for option in others),
    )


def _choose_names(options: Sequence[ParsedOption]) -> tuple[list[str], list[str], list[Option]]:
    """Return (included patterns, excluded patterns, all other options) of a call.

    If the name in an include option is not certain, its pattern is empty. A pattern that ends with `/` excludes only
    folders.
    """
    includes: list[str] = []
    excludes: list[str] = []
    others: list[Option] = []
    for parsed in options:
        option, word = parsed.option, parsed.word
        text = "" if word is None or word.certainty is Certainty.UNKNOWN else word.text
        negated = option.means == "include" and text.startswith("!")
        if negated or option.means in ("exclude", "exclude folder"):
            pattern = f"{text.rstrip('/')}/" if option.means == "exclude folder" else text[negated:]
            excludes += [pattern] if word is not None and word.known else []
            continue
        others.append(option)
        if option.means == "include":
            # If the shell expands the pattern, each resulting word selects no more than the pattern itself. The last
            # matching pattern decides, so earlier exclusions are no longer certain.
            includes.append(text)
            excludes.clear()
    return includes, excludes, others
