"""L3: commands that another command may run without any part of the line showing them: rules against commands may mean
what stands in a text that is code, behind an unknown program's name, or nowhere in the line.

Invariant: pure; nothing here allows anything, and where no rule is against commands nothing is found.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from tui_agent.policy.programs.part import GIT, Part, started
from tui_agent.policy.rules.findings import Finding
from tui_agent.policy.rules.grammar import Rule, fits_words, fixed_part
from tui_agent.policy.rules.rule_set import RuleSet
from tui_agent.policy.shell.script import ARBITRARY, PRIVILEGE

_CODE = re.compile(r"-[A-Za-z]*[cerpES]|--(eval|print|command|exec|split-string|run)")
"""Options behind which code stands, or a command as one text."""
_WRITTEN = re.compile(r"""['"`(]""")
"""What stands in code, and in no path."""
_SETTING = re.compile(r"""(?:\w+\+?=(?:'[^']*'|"[^"]*"|[^\s'"])*\s*)+""")
"""Variables in front of a command."""
_ELSEWHERE = frozenset({"ssh"})
"""What runs its words on another machine."""
_LISTED = ":::"
"""Behind it stand the words that `parallel` puts at a command's end."""


def may_run(rules: RuleSet, part: Part) -> Iterator[Finding]:
    """What rules that ask or deny about commands say of those that cannot be seen."""
    against = rules.against_runs
    if not against or part.harmless:
        return
    if not part.words:
        hidden = part.sets and _told(rules.heads, _set(part))
    elif part.words[0] is None or part.opaque or _given_code(part):
        hidden = True
    elif not part.classes.isdisjoint((ARBITRARY, PRIVILEGE)) or part.program in _ELSEWHERE:
        hidden = (
            _told(rules.heads, (*part.words[1:], part.told, *_set(part)))
            or _behind(rules, part.words)
            or _renamed(rules.heads, part)
        )
    else:
        return
    if hidden:
        why = f"it is not certain which commands {part.program} runs, and rules are against some"
        yield Finding("ask", "rules.hidden", why)


def _set(part: Part) -> Sequence[str]:
    """What stands in front of the program's name."""
    found = _SETTING.match(part.text) if part.sets else None
    return (found.group(),) if found is not None else ()


def _given_code(part: Part) -> bool:
    """Whether it is given code that is not certain."""
    if ARBITRARY not in part.classes:
        return False
    words = part.words
    if words[0] in ("eval", "trap", "alias"):
        return None in words
    return any(
        word is None and behind is not None and _CODE.fullmatch(behind) is not None
        for behind, word in pairwise(words)
    )


def _told(heads: tuple[str, ...], texts: Sequence[str | None]) -> bool:
    """Whether a text, more than a name alone, holds the name of a program that a rule is about."""
    named = _names(heads)
    return named is not None and any(
        named.fullmatch(text) is None
        and (named.search(text) is not None or (text[0] == "-" and named.search(text[2:]) is not None))
        for text in texts
        if text
    )


@lru_cache(maxsize=16)
def _names(heads: tuple[str, ...]) -> re.Pattern[str] | None:
    """Finds a program's name as a word, with a whole path in front or none; None where there is none to find."""
    found = "|".join(re.escape(name.rpartition("/")[2]) for name in heads if name)
    return (
        re.compile(rf"(?<![\w./+@-])(?:/[\w./+-]*/)?(?:{found})(?![\w./+@:-])", re.IGNORECASE)
        if found
        else None
    )


def code_names(against: Sequence[Rule], part: Part) -> Rule | None:
    """The rule about files of which the beginning stands in code that is given as text."""
    if not against or ARBITRARY not in part.classes:
        return None
    texts = [text.casefold() for text in (*part.words[1:], part.told) if text and _WRITTEN.search(text)]
    return next((rule for rule in against if texts and _stands_in(rule, texts)), None)


def _stands_in(rule: Rule, texts: Sequence[str]) -> bool:
    named = _beginning(rule.rest)
    return named is not None and any(named.search(text) is not None for text in texts)


@lru_cache(maxsize=256)
def _beginning(path: str) -> re.Pattern[str] | None:
    """Finds the beginning of a rule's path in code; None where it has none."""
    name = fixed_part(path).strip("/").casefold()
    return re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-]|\s*[=(])") if name else None


def _behind(rules: RuleSet, words: Sequence[str | None]) -> bool:
    """Whether a command that a rule is about stands behind the program's name: `watch git push`, `ssh host 'git push'`."""
    plain = [
        piece
        for word in words[1:]
        for piece in (_parted(word) if word is not None and word != _LISTED else (word,))
    ]
    if _LISTED in plain:
        plain = [*plain[: plain.index(_LISTED)], None]
    heads = {name.rpartition("/")[2] for name in rules.heads}
    return any(
        fits_words(rule.rest, tuple(plain[at:]), certain=False)
        for at, word in enumerate(plain[:64])
        if word is not None and ("" in heads or word.rpartition("/")[2].lower() in heads)
        for rule in rules.against_runs
    )


def _parted(text: str) -> Sequence[str]:
    if " " not in text:
        return (text,)
    try:
        return shlex.split(text)
    except ValueError:
        return (text,)


def _renamed(heads: Sequence[str], part: Part) -> bool:
    """A name that git does not have is an alias of somebody's: it may be whatever a rule says of git."""
    if started(part) != GIT or part.name not in ("", GIT):
        return False
    return GIT in heads
