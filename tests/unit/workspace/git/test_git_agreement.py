"""Git itself, executed: wherever it runs a repository's program or shows a file outside, the repository counts as steered."""

import random
from pathlib import Path

import pytest

from tests.stubs.rows import rows
from tests.stubs.steered_repositories import FSMONITOR, KEY, LOOKS, STEERED, build_plain, run_confined
from tui_agent.workspace.git.unsafe_git_folders import can_run_programs

CONFIGURATIONS = 300
SEED = 20_240_611


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("steered")
    for number, name in enumerate(STEERED):
        folder = base / str(number)
        build_plain(folder / "work")
        (folder / "outside").mkdir()
        (folder / "outside" / "key").write_text(f"{KEY}\n")
        STEERED[name](folder / "work")
    return base


@pytest.mark.slow
@rows("name", STEERED)
def test_a_repository_that_steers_git_is_found(base: Path, name: str) -> None:
    number = list(STEERED).index(name)
    assert can_run_programs(str(base / str(number) / "work"))


@pytest.mark.slow
def test_each_of_them_steers_git(base: Path) -> None:
    looks = f"export RAN=$PWD/ran; cd work; {{ {LOOKS}; }} > ../said 2>&1"
    run_confined(base, f"for folder in */; do (cd $folder; {looks}); done")
    folders = {name: base / str(number) for number, name in enumerate(STEERED)}
    spared = [
        name
        for name, folder in folders.items()
        if not (folder / "ran").exists()
        and KEY not in (folder / "said").read_text(errors="replace").replace(f"check-ignore -v {KEY}", "")
    ]
    assert not spared


USUAL = (
    "[core]\n\tfsmonitor = ./evil\n", "[core]\n\thooksPath = h\n", "[diff]\n\texternal = ./evil\n",
    '[diff "x"]\n\ttextconv = ./evil\n', '[diff "x"]\n\tcommand = ./evil\n', '[filter "x"]\n\tclean = ./evil\n',
    '[filter "x"]\n\tprocess = ./evil\n', "[include]\n\tpath = ../more\n", '[includeIf "gitdir:/"]\n\tpath = ../more\n',
    '[log]\n\tdiffMerges = remerge\n[merge "x"]\n\tdriver = ./evil\n', "[user]\n\tname = x\n", "[core]\n\tbare = false\n",
    '[alias]\n\tstatus = "!./evil"\n', '[a "]"]\n\tfsmonitor = ./evil\n',
)  # fmt: skip
CHANGES = (
    ("\n", ("\r\n", "\f", "\v\n", "\x1c\n", "\x85", "\u2028", "\\\n", " ", " \n", "\r", "\n\ufeff", "\n#\\\n", "\n; x\\\n", "#\\\n")),
    ("[", ("\ufeff[", " [", "\t[", "[a] [", "[a]\n[", "x = y\n[", "\f[", "[[", '[a "]"] [')),
    ("]", ("] ", "]#", "];\n", "] x = y\n", ".x]", ' "x"]', " ]", ' ""]', "]\t")),
    ("=", ("=\t", "=\\\n", "\\\n=", "\f=", "==", "= \\\n ", "=\n", "= x ; =", "= x\f=")),
    ("./evil", ('"./evil"', '"./ev"il', "./evil # x", "./evil;x", "true;./evil", '"true;./evil"', '"true#";./evil', "./e\\\nvil",
                '"./evil', "./evil\\", '\\"./evil', "true ./evil", '"" ./evil', "./evil\\\n x", "false # ./evil")),
    ("core", ("CORE", "Core", "core.", "c\\\nore")),
    ("fsmonitor", ("FSMonitor", "fs-monitor", "fsmonitor.x", "x = y\\\n fsmonitor")),
    ('"x"', ('"X"', '"\\x"', '"x\\"', "x", '"x" ')),
)  # fmt: skip
"""What stands in a usual text, and what may stand there instead."""


def write_configuration(source: random.Random) -> str:
    """Return lines in which git may find a program, with something that a careless reader reads otherwise."""
    text = "".join(source.sample(USUAL, source.randint(1, 3)))
    for _ in range(source.choice((0, 1, 1, 1, 2))):
        old, others = source.choice([change for change in CHANGES if change[0] in text])
        pieces = text.split(old)
        place = source.randrange(1, len(pieces))
        text = old.join(pieces[:place]) + source.choice(others) + old.join(pieces[place:])
    return text


def test_wherever_git_runs_a_program_of_a_configuration_it_is_found(tmp_path: Path) -> None:
    work = build_plain(tmp_path / "work")
    (work / "more").write_text(FSMONITOR)
    (tmp_path / "texts").mkdir()
    source = random.Random(SEED)
    plain = (work / ".git" / "config").read_bytes()
    texts = [plain + write_configuration(source).encode() for _ in range(CONFIGURATIONS)]
    for number, text in enumerate(texts):
        (tmp_path / "texts" / str(number)).write_bytes(text)
    run_confined(
        tmp_path,
        "mkdir ran; cd work; for text in ../texts/*; do cp $text .git/config; touch README.md; export RAN=$PWD/../ran/${text##*/};"
        " { git status; git diff; git log -p -m -1; } > /dev/null 2>&1; done",
    )
    ran = {int(path.name) for path in (tmp_path / "ran").iterdir()}
    assert len(ran) > CONFIGURATIONS // 3
    missed = [texts[number] for number in sorted(ran) if not _is_found(work, texts[number])]
    assert not missed


def _is_found(work: Path, text: bytes) -> bool:
    (work / ".git" / "config").write_bytes(text)
    return can_run_programs(str(work))
