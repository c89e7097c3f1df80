"""Names and docstrings are plain: no bare participles, gerunds, prepositions or pronouns as names.

The rule finds places by their words; a reader is the judge.
"""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.architecture.source import Source, product

PREPOSITIONS_AND_PRONOUNS = frozenset(
    [
        "about",
        "across",
        "after",
        "again",
        "ahead",
        "all",
        "among",
        "anew",
        "apart",
        "at",
        "before",
        "behind",
        "below",
        "beside",
        "by",
        "each",
        "elders",
        "elsewhere",
        "few",
        "into",
        "like",
        "least",
        "less",
        "most",
        "of",
        "once",
        "one",
        "others",
        "out",
        "outside",
        "over",
        "some",
        "such",
        "there",
        "those",
        "towards",
        "under",
        "what",
        "whatever",
        "where",
        "who",
        "whole",
        "whose",
        "why",
        "within",
        "without",
        "yet",
    ]
)
PARTICIPLES = frozenset(
    [
        "asked",
        "begun",
        "brought",
        "cut",
        "decided",
        "done",
        "drawn",
        "driven",
        "fed",
        "felt",
        "forgotten",
        "found",
        "given",
        "gone",
        "grown",
        "heard",
        "held",
        "indexed",
        "instructed",
        "kept",
        "laid",
        "learnt",
        "left",
        "lost",
        "made",
        "meant",
        "mentioned",
        "named",
        "noted",
        "observed",
        "offered",
        "opened",
        "owed",
        "printed",
        "put",
        "ran",
        "recorded",
        "said",
        "searched",
        "seen",
        "sent",
        "shown",
        "sifted",
        "spoken",
        "spun",
        "stood",
        "taken",
        "thought",
        "told",
        "unanswered",
        "unasked",
        "unkept",
        "unseen",
        "untold",
        "veiled",
        "wanted",
        "weighed",
        "went",
        "won",
        "worn",
        "written",
    ]
)
VERBS_AND_NOUNS_IN_ED = frozenset(["embed", "exceed", "feed", "need", "proceed", "seed", "speed"])
ADJECTIVES = frozenset(
    [
        "absolute",
        "available",
        "between",
        "blank",
        "bound",
        "broken",
        "canonical",
        "comparable",
        "due",
        "exclusive",
        "final",
        "findable",
        "foreign",
        "headless",
        "hidden",
        "inline",
        "inner",
        "inside",
        "invalid",
        "known",
        "last",
        "later",
        "latest",
        "linear",
        "missing",
        "nearest",
        "own",
        "plain",
        "present",
        "pretty",
        "printable",
        "provisional",
        "ready",
        "reducible",
        "relative",
        "rich",
        "safe",
        "small",
        "steady",
        "strongest",
        "unknown",
        "unproven",
        "until",
        "visible",
        "writable",
    ]
)
NAMED_BY_OTHERS = frozenset(["writable"])
"""Names of methods that a protocol of the standard library requires. This set may only shrink."""
NOUNS_IN_ING = frozenset(
    [
        "logging",
        "packaging",
        "pricing",
        "ranking",
        "rendering",
        "ring",
        "scheduling",
        "setting",
        "streaming",
        "string",
        "testing",
        "typing",
        "wiring",
    ]
)
VAGUE_VALUES = frozenset(["at", "by", "found", "kept", "made", "said", "told"])
"""Names that do not say what the value is. A value has the name of the thing: `match`, `path`, `position`."""
# Names of several files. Each names the same thing in several layers (`ports/model.py`, `wiring/models.py`), or the same
# part of several folders (`screens/*/screen.py`, `folds/*/fold.py`, `cli/*/command.py`). The list only becomes shorter:
# another file gets a name of its own.
SHARED_FILE_NAMES = frozenset(
    [
        "agent",
        "agents",
        "app",
        "blocks",
        "branches",
        "checkpoints",
        "clock",
        "command",
        "completion",
        "context",
        "diff",
        "environment",
        "fold",
        "fork",
        "glob",
        "hook",
        "instructions",
        "job",
        "jobs",
        "markdown",
        "mcp",
        "memory",
        "mentions",
        "messages",
        "model",
        "models",
        "notices",
        "policy",
        "questions",
        "repomap",
        "report",
        "resume",
        "rewind",
        "screen",
        "session",
        "settings",
        "slash_command",
        "todo",
        "tool",
        "trust",
    ]
)
VAGUE_VALUES_LEFT = {"tui_agent/store/redaction/": 12}
"""How many such values each folder still has, to be renamed with its next rework. They may only become fewer."""
VAGUE_VALUES_TO_RENAME = {"given": 1, "wanted": 1, "what": 2, "whole": 4}
"""More such names, and how many values still have them. They may only become fewer, and then join `VAGUE_VALUES`."""
NOUN_CLAUSE = re.compile(r"(What|Whether|Where|Whose|Whoever|Whatever|Those|By how|So many|With these|Of )\b")


def is_bare(name: str) -> bool:
    """Return True if the name is only a participle, a gerund, a preposition or a pronoun."""
    word = name.strip("_").lower()
    gerund = (
        word.endswith("ing")
        and "_" not in word
        and len(word) > 4
        and not word.endswith("keyring")
        and word not in NOUNS_IN_ING
    )
    return word in PREPOSITIONS_AND_PRONOUNS or word in PARTICIPLES or gerund


def is_adjective(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return True if a function or class is named by one adjective or one participle in -ed.

    A property may have such a name, and so may a message of Textual, e.g. `Submitted`.
    """
    word = node.name.strip("_").lower()
    participle = word.endswith("ed") and word not in VERBS_AND_NOUNS_IN_ED and "_" not in word
    if not (participle or word in ADJECTIVES) or word in NAMED_BY_OTHERS:
        return False
    if isinstance(node, ast.ClassDef):
        is_phrase = any(letter.isupper() for letter in node.name.strip("_")[1:])
        return not is_phrase and "Message" not in map(ast.unparse, node.bases)
    return not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def findings(source: Source) -> Iterator[str]:
    """Yield one line for each place that breaks the rule."""
    if is_bare(source.path.stem):
        yield f"{source.name} module"
    for node in source.nodes:
        named = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if named and not node.name.startswith("__") and (is_bare(node.name) or is_adjective(node)):
            yield f"{source.name} name {node.name}"
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            docstring = ast.get_docstring(node) or ""
            if NOUN_CLAUSE.match(docstring):
                yield f"{source.name} docstring {getattr(node, 'name', 'of the module')}"
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            targets = [part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)]
            if "one" in targets:
                yield f"{source.name} loop variable one"
        if isinstance(node, ast.alias) and node.asname and is_bare(node.asname):
            yield f"{source.name} alias {node.asname}"


def vague_values(source: Source, vague: Collection[str] = VAGUE_VALUES) -> Iterator[str]:
    """Yield one line for each variable, parameter, field or attribute whose name does not say what it is."""
    for node in source.nodes:
        match node:
            case ast.arg(arg=name) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                pass
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                pass
            case _:
                continue
        if name.strip("_") in vague:
            yield f"{source.name}:{node.lineno} value {name}"


def test_names_and_docstrings_are_plain() -> None:
    assert not sorted(place for source in product() for place in findings(source))


def test_values_have_the_name_of_the_thing() -> None:
    places = [place for source in product() for place in vague_values(source)]
    left = {folder: sum(place.startswith(folder) for place in places) for folder in VAGUE_VALUES_LEFT}
    assert left == VAGUE_VALUES_LEFT
    assert not [place for place in places if not place.startswith(tuple(VAGUE_VALUES_LEFT))]


def test_more_vague_names_of_values_only_become_fewer() -> None:
    places = [place for source in product() for place in vague_values(source, VAGUE_VALUES_TO_RENAME)]
    left = {
        name: sum(place.rsplit(" ", 1)[1].strip("_") == name for place in places)
        for name in VAGUE_VALUES_TO_RENAME
    }
    assert left == VAGUE_VALUES_TO_RENAME


def test_a_file_name_has_one_meaning() -> None:
    places = Counter(source.path.stem for source in product() if not source.path.stem.startswith("__"))
    shared = {name for name, count in places.items() if count > 1}
    assert shared == SHARED_FILE_NAMES


def test_the_rule_about_values_would_notice() -> None:
    text = """
class Row:
    at: float
    def move(self, by: int, *, told: str) -> None:
        self._found = [said for said in by]
        match told:
            case [*made]: ...
            case str() as found: ...
"""
    source = Source(Path(__file__).resolve())
    source.__dict__["text"] = text
    names = sorted(place.rsplit(" ", 1)[1] for place in vague_values(source))
    assert names == ["_found", "at", "by", "found", "made", "said", "told"]


def test_the_rule_would_notice() -> None:
    text = '''"""What it is."""

import a as reading


def told(ones: list[int]) -> None:
    """Whether."""
    for one in ones:
        print(one)
'''
    source = Source(Path(__file__).resolve().with_name("whose.py"))
    source.__dict__["text"] = text
    assert [place.split(" ", 1)[1] for place in findings(source)] == [
        "module",
        "docstring of the module",
        "name told",
        "docstring told",
        "alias reading",
        "loop variable one",
    ]


@pytest.mark.parametrize(
    ("code", "noticed"),
    [
        ("def typed(): ...", True),
        ("def pretty(): ...", True),
        ("class Ranked: ...", True),
        ("class Submitted(Message): ...", False),
        ("class PluginFailed: ...", False),
        ("@property\ndef failed(): ...", False),
        ("def feed(): ...", False),
        ("def merge_hits(): ...", False),
    ],
)
def test_the_rule_notices_adjectives(code: str, noticed: bool) -> None:
    node = ast.parse(code).body[0]
    assert isinstance(node, ast.ClassDef | ast.FunctionDef)
    assert is_adjective(node) is noticed
