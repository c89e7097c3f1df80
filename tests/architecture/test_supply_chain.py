"""What is installed is what was locked, and nothing of it runs by itself when an interpreter starts.

No lock has a framework for agents, and no source has a key.
"""

import hashlib
import os
import re
import site
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tui_agent.store.redaction.redactor import Redactor

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("lock.txt", "dev.txt")
KNOWN: Mapping[str, frozenset[str]] = {
    # setuptools' own, and coverage's for child processes: both of the development lock, read line by line.
    "distutils-precedence.pth": frozenset(
        {"2638ce9e2500e572a5e0de7faed6661eb569d1b696fcba07b0dd223da5f5d224"}
    ),
    "a1_coverage.pth": frozenset({"ef2ed06d19867ec669c09a804060666a9cd5e383af0a9d11aa2de79b77d448e8"}),
}
"""Files of dependencies that run code at every start of an interpreter, by what is in them."""
OURS = re.compile(r"_*(editable_impl_)?tui_agent\.pth")
AT_START = ("sitecustomize", "usercustomize")
AGENT_FRAMEWORKS = re.compile(
    r"(claude-(agent|code)-sdk|openai-agents|google-adk|langchain|langgraph|llama-index|crewai|autogen|ag2|agno|"
    r"pydantic-ai|smolagents|strands-agents|deepagents|semantic-kernel|openhands|haystack-ai|dspy)(-[a-z0-9-]+)?"
)
SOURCES = ("tui_agent", "plugins", "demos", "themes")
EXAMPLES = "tui_agent/store/redaction/"
"""What finds secrets holds examples of them."""


def entries(text: str) -> list[str]:
    """The requirements of a lock, each with its lines joined."""
    return [
        line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")
    ]


def unlocked(text: str) -> list[str]:
    """What of a lock is not bound to one version and the hashes of its files."""
    exact = re.compile(
        r"[A-Za-z0-9._-]+(\[[\w,-]+\])?==[^\s;]+(\s*;[^#]*?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*(#.*)?"
    )
    return [entry for entry in entries(text) if not exact.fullmatch(entry.strip())]


def starting_by_themselves(folder: Path, known: Mapping[str, frozenset[str]] = KNOWN) -> list[str]:
    """What in a folder of installed packages runs code when an interpreter starts, and was not looked at."""
    found = [path.name for name in AT_START for path in folder.glob(f"{name}*")]
    for path in sorted(folder.glob("*.pth")):
        content = path.read_bytes()
        runs = re.search(rb"^import[ \t]", content, re.M)
        if OURS.fullmatch(path.name) and not runs:
            continue
        if hashlib.sha256(content).hexdigest() not in known.get(path.name, frozenset()):
            found.append(path.name)
    return found


def frameworks(text: str) -> list[str]:
    """The frameworks for agents among the requirements of a lock."""
    names = [re.split(r"[^A-Za-z0-9._-]", entry)[0].lower() for entry in entries(text)]
    return [name for name in names if AGENT_FRAMEWORKS.fullmatch(name)]


def secrets_below(root: Path, *folders: str) -> list[str]:
    """The files below these folders in which the program itself would cover a secret."""
    redactor = Redactor()
    files = [path for folder in folders for path in sorted((root / folder).rglob("*")) if path.is_file()]
    texts = [path for path in files if path.suffix != ".pyc" and EXAMPLES not in path.as_posix()]
    return [path.relative_to(root).as_posix() for path in texts if redactor.hits(path.read_bytes())]


@pytest.mark.parametrize("name", LOCKS)
def test_no_lock_has_a_framework_for_agents(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    assert frameworks(text) == []
    planted = "langchain-core==1.0 --hash=sha256:0\nclaude-agent-sdk[x]==0.1\n"
    assert frameworks(text + planted) == ["langchain-core", "claude-agent-sdk"]


@pytest.mark.slow
def test_no_source_has_a_key(tmp_path: Path) -> None:
    assert secrets_below(ROOT, *SOURCES) == []
    (tmp_path / "planted.py").write_text(f'KEY = "ghp_{"a1B2c3D4e5" * 3}f6G7h8"\n')
    assert secrets_below(tmp_path, ".") == ["planted.py"]


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_of_a_lock_is_bound_to_its_hashes(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    assert len(entries(text)) > 20
    assert unlocked(text) == []


@pytest.mark.parametrize(
    "planted",
    [
        "litellm==1.82.7",
        "litellm>=1.80 --hash=sha256:" + "0" * 64,
        "litellm @ https://example.org/litellm.whl --hash=sha256:" + "0" * 64,
        "--extra-index-url https://example.org/simple",
        "-e ./litellm",
        "litellm==1.0 --hash=md5:" + "0" * 32,
    ],
)
def test_a_planted_line_is_noticed(planted: str) -> None:
    assert unlocked(f"# a comment\n{planted}\n") == [planted]


def test_nothing_foreign_is_installed_without_its_hash() -> None:
    text = (ROOT / "requirements" / "install.sh").read_text(encoding="utf-8")
    calls = [
        line
        for line in text.splitlines()
        if "pip install" in line and not line.lstrip().startswith(("#", "say"))
    ]
    assert len(calls) == 4
    for call in calls:
        assert "--require-hashes" in call or ("--no-deps --no-build-isolation -e ." in call), call


def test_no_dependency_runs_code_when_an_interpreter_starts() -> None:
    for folder in site.getsitepackages():
        assert starting_by_themselves(Path(folder)) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("litellm_init.pth", "import os; exec(os.environ['X'])\n"),
        ("distutils-precedence.pth", "import evil\n"),
        ("paths.pth", "/somewhere/else\n"),
        ("_editable_impl_tui_agent.pth", "/work\nimport evil\n"),
        ("sitecustomize.py", ""),
        ("usercustomize.py", ""),
    ],
)
def test_a_planted_file_is_noticed(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert starting_by_themselves(tmp_path) == [name]


def test_our_own_entry_is_a_path_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "_editable_impl_tui_agent.pth").write_text("/work/checkout\n")
    assert starting_by_themselves(tmp_path) == []


def imported(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-P", "-c", code]
    return subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)


BARE = """
import os, dotenv
load = dotenv.load_dotenv
def load_and_end(*args, **options):
    load(*args, **options)
    print(os.environ.get("PLANTED", ""), flush=True)
    os._exit(0)
dotenv.load_dotenv = load_and_end
import litellm
"""
"""Import litellm by itself, as far as the place where it reads a `.env`: the rest takes seconds."""


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_planted_env_file_changes_litellms_environment_but_not_ours(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "OPENAI_BASE_URL=http://127.0.0.1:1\nLITELLM_LOCAL_MODEL_COST_MAP=True\nPLANTED=1\n"
    )
    bare = imported(BARE, tmp_path)
    assert bare.stdout.split()[:1] == ["1"], "the trap is not live: litellm loads no .env by itself any more"
    ours = imported(
        "import os\n"
        "before = dict(os.environ)\n"
        "from tui_agent.models.litellm_client import BEFORE_IMPORT, load\n"
        "load()\n"
        "changed = {name for name, value in os.environ.items() if before.get(name) != value}\n"
        "assert not changed - {*BEFORE_IMPORT, 'TIKTOKEN_CACHE_DIR'}, changed\n",
        tmp_path,
    )
    assert (ours.returncode, ours.stdout, ours.stderr) == (0, "", "")
