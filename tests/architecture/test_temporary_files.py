"""Nothing of the product has a name that others can guess in a folder that others can write to.

Python's own `mkstemp`, `mkdtemp`, `TemporaryFile` and `TemporaryDirectory` make such names with modes 0600 and 0700;
everything else that makes a file refuses a link in its place and says who may read it.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import Source, dotted_name, product
from tui_agent.store.file_ops import FILE_MODE

UNSAFE = {
    "mktemp",
    "gettempdir",
    "gettempdirb",
    "gettempprefix",
    "NamedTemporaryFile",
    "SpooledTemporaryFile",
}
"""A name without its file, a folder to put a name into, a file that others may open by name while it is written."""
SHARED = re.compile(r"/(?:tmp|dev/shm)(?!\w)")
NAMES_THEM = {
    "plugins/lsp/running_server.py": "a hint about a language server that the user installed there",
    "tui_agent/evals/checks/tests_and_verifier.py": "where a task's tests have their own private folder",
    "tui_agent/cli/checkout_part.py": "an example in a help text",
    "tui_agent/workspace/containers/command_lines.py": "the home folder inside a container",
    "tui_agent/workspace/remote/mirror.py": "a file inside a remote sandbox",
    "tui_agent/workspace/sandbox/output_notes.py": "a note for the model about a write to a private folder",
    "tui_agent/workspace/sandbox/mounts.py": "tells a command that failed in a sandbox from one that did not",
    "tui_agent/workspace/sandbox/bubblewrap.py": "where a command's own private folders are mounted",
    "tui_agent/workspace/sandbox/command_setup.py": "where a command's own private folders are mounted",
}
"""Files that speak of shared folders, each with its reason; none of them makes a file there."""
FOLLOWED = {
    "tui_agent/tui/prompt/history.py": "a user may keep it elsewhere by a link; its folder is the user's own"
}
MODES = {"FILE_MODE", "TEMPORARY_MODE", "USUAL_MODE", "mode"}
"""Names of modes, each checked where it is given: 0600, or what a new file of the user's has."""


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    return product()


def texts(source: Source) -> list[str]:
    """Its strings, but for docstrings and lone texts behind a name."""
    if not names_shared(source.text):
        return []
    lone = {id(node.value) for node in source.nodes if isinstance(node, ast.Expr)}
    every = [node for node in source.nodes if isinstance(node, ast.Constant) and id(node) not in lone]
    return [node.value for node in every if isinstance(node.value, str)]


def names_shared(text: str) -> bool:
    return SHARED.search(text) is not None


def words(node: ast.AST) -> set[str]:
    found = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    return found | {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def opened(source: Source) -> Iterator[tuple[ast.Call, set[str]]]:
    """Every `os.open` that may make a file, with the words of its flags."""
    if "O_CREAT" not in source.text:
        return
    given = {
        target.id: words(node.value)
        for node in source.nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in source.nodes:
        if isinstance(node, ast.Call) and dotted_name(node.func) == "os.open" and len(node.args) > 1:
            flags = words(node.args[1])
            flags |= {word for name in flags for word in given.get(name, ())}
            if "O_CREAT" in flags:
                yield node, flags


def test_no_temporary_name_is_made_without_its_file(sources: list[Source]) -> None:
    suspects = [source for source in sources if any(name in source.text for name in UNSAFE)]
    found = [(source.name, sorted(words(source.tree) & UNSAFE)) for source in suspects]
    assert not [(name, used) for name, used in found if used]


def test_no_path_in_a_shared_folder_is_written_down(sources: list[Source]) -> None:
    found = {source.name for source in sources if any(map(names_shared, texts(source)))}
    assert found == set(NAMES_THEM)


def test_what_makes_a_file_refuses_a_link_in_its_place_and_says_who_may_read_it(
    sources: list[Source],
) -> None:
    links, modes = [], []
    for source in sources:
        for node, flags in opened(source):
            if not flags & {"O_EXCL", "O_NOFOLLOW"} and source.name not in FOLLOWED:
                links.append(f"{source.name}:{node.lineno}")
            mode = node.args[2] if len(node.args) > 2 else None
            private = (
                isinstance(mode, ast.Constant) and isinstance(mode.value, int) and mode.value & 0o077 == 0
            )
            if not private and not (isinstance(mode, ast.Name) and mode.id in MODES):
                modes.append(f"{source.name}:{node.lineno}")
    assert (links, modes) == ([], [])
    assert FILE_MODE == 0o600


def test_the_rule_sees_what_it_forbids() -> None:
    class Written(Source):
        text = "import os\nflags = os.O_WRONLY | os.O_CREAT\nos.open(tempfile.mktemp(dir='/tmp'), flags, 0o644)\n"
        name = "bad.py"

    source = Written(Path("bad.py"))
    assert words(source.tree) & UNSAFE == {"mktemp"}
    assert any(map(names_shared, texts(source)))
    assert [flags & {"O_CREAT", "O_EXCL", "O_NOFOLLOW"} for _, flags in opened(source)] == [{"O_CREAT"}]
