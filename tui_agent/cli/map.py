"""The map of a repository: its files ranked for a question, with the symbols that matter.

Invariant: loads no parser, no schema and no model where the index is fresh; the index is kept in the user's cache folder,
or beside the sessions that have a place of their own.
"""

import argparse
import gc
import hashlib
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import tui_agent
from tui_agent.cli.options import Parser, count
from tui_agent.cli.output import say, say_json_lines, warn
from tui_agent.config import paths
from tui_agent.config.files import read_small
from tui_agent.config.secrets import Keys
from tui_agent.context.repomap.rendering import clean, left_out
from tui_agent.context.repomap.repository_map import RepoMap, Showing
from tui_agent.context.repomap.views import MapView, RankedFile
from tui_agent.errors import UsageError
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.protocol.unicode_text import counted

EXAMPLES = """\
examples:
  tui-agent map
  tui-agent map --query "where is the login checked?"
  tui-agent map --query "parse_config drops comments" --max-tokens 4000 --json
"""
PATIENCE_S = 2.0
MOST_SYMBOLS = 20


def configure(parser: Parser) -> None:
    """The options of `map`."""
    parser.add_argument("-q", "--query", metavar="Q", help="what the map is for: a question, a task, names")
    parser.add_argument(
        "--max-tokens", metavar="N", type=count, default=1200, help="how long it may be (default 1200)"
    )
    parser.add_argument("--max-files", metavar="N", type=count, help="how many files it may name")
    parser.add_argument(
        "--pin", metavar="PATH", action="append", default=[], help="a file that comes first; may be repeated"
    )
    parser.add_argument(
        "--hide", metavar="PATH", action="append", default=[], help="a file that is left out; may be repeated"
    )
    parser.add_argument("--refresh", action="store_true", help="wait until every file is in the index")
    parser.add_argument(
        "--symbol", metavar="NAME", help="only where names that hold NAME are defined, as the index has them"
    )
    parser.add_argument(
        "--state",
        action="store_true",
        help="only how many files the index has, and whether it is being built",
    )
    parser.add_argument("--json", action="store_true", help="one object a file, in rank order")
    parser.add_argument(
        "-C", "--cwd", metavar="DIR", type=Path, help="the map of DIR (default: the current directory)"
    )
    parser.add_argument(
        "--data-dir", metavar="DIR", type=Path, help="use the index that lies beside the sessions in DIR"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the map."""
    gc.disable()  # one answer of thousands of small things that stay: to look for circles among them finds none
    root = arguments.cwd or Path.cwd()
    if not root.is_dir():
        raise UsageError(f"There is no folder {root}.", hint="Give another one with --cwd.")
    own: Path | None = arguments.data_dir
    found = paths.find(root, os.environ)
    secrets = Secrets()
    repo_map = RepoMap(
        root,
        found.repo_maps if own is None else paths.beside_sessions(own.expanduser().resolve()),
        showing=Showing(secrets.may_show, secrets.digest, redaction(root, found)),
        patience=PATIENCE_S,
        lasting=True,
    )
    try:
        if arguments.state or arguments.symbol:
            return look_up(repo_map, arguments)
        shown = repo_map.map(
            arguments.query,
            arguments.max_tokens,
            max_files=arguments.max_files,
            refresh=arguments.refresh,
            pinned=arguments.pin,
            hidden=arguments.hide,
        )
    finally:
        repo_map.close()
    if arguments.json:
        say_json_lines(map(as_json, shown.files))
        warn(summary(shown))
    else:
        say(shown.text.removesuffix("\n"))
    for path in shown.unpinned:
        warn(f"Not pinned: {clean(path)} {why_unpinned(root / path, path, arguments.hide)}.")
    return 0


def look_up(repo_map: RepoMap, arguments: argparse.Namespace) -> int:
    """What the index says as it is: nothing is listed or read for it."""
    files, building = repo_map.state()
    if arguments.state:
        said = f"{counted(files, 'file')} in the index{', which is being built' if building else ''}"
        say_json_lines([{"files": files, "building": building}]) if arguments.json else say(said)
        return 0
    found = repo_map.defined(arguments.symbol, MOST_SYMBOLS)
    if arguments.json:
        say_json_lines(one._asdict() for one in found)
    else:
        for one in found:
            say(f"{clean(one.path)}:{one.line}  {one.name}")
    return 0


def why_unpinned(file: Path, path: str, hidden: Sequence[str]) -> str:
    """Why a file that was to come first is not in the map."""
    if path in map(os.path.normpath, hidden):
        return "is hidden"
    return "is left out of every map (docs/repomap.md)" if file.is_file() else "is not there"


def summary(shown: MapView) -> str:
    """What the objects alone do not tell."""
    words = f"{len(shown.files):,} of {counted(shown.total, 'file')}, about {counted(shown.tokens, 'token')}"
    others = ", ".join(left_out(reason, count) for reason, count in sorted(shown.skipped.items()))
    words += f"; left out: {others}" if others else ""
    return words + ("; the index is still being built" if shown.partial else "")


def as_json(one: RankedFile) -> dict[str, object]:
    """A file of the map as one object."""
    return {
        "path": clean(one.path),
        "score": one.score,
        "reasons": one.reasons,
        "symbols": [symbol._asdict() for symbol in one.symbols],
    }


def redaction(root: Path, found: paths.Paths) -> RedactionOptions:
    """Return what is neither shown nor kept. Settings are loaded only where the user's have a table `[redaction]`."""
    if "redaction" not in (read_small(found.user_config) or ""):
        return RedactionOptions(Keys(os.environ, found.secrets).secrets())
    known: RedactionOptions = import_module("tui_agent.session.fault_redaction").known_redaction(
        os.environ, root
    )
    return known


class Secrets:
    """Which files hold secrets, by the policy's table; it is read when the first unknown file is met."""

    def __init__(self) -> None:
        self._table = Path(tui_agent.__file__).parent / "policy" / "places" / "places.toml"

    @property
    def digest(self) -> str:
        """Another table has another one."""
        return hashlib.sha256(self._table.read_bytes()).hexdigest()[:16]

    def may_show(self, path: str) -> bool:
        """Whether the file may be read and shown."""
        judged: bool = not import_module("tui_agent.policy.places.visibility").may_hold_secrets(path)
        return judged
