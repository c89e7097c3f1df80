"""Print the map of a repository: its files ranked for a question, with the relevant symbols.

Invariant: if the index is up to date, no parser, schema or model client is imported.
"""

import argparse
import gc
import hashlib
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import tui_agent
from tui_agent.cli.console.output import say, say_json_lines, warn
from tui_agent.cli.console.shared_options import GROUPS, Parser, add_flag, add_list_option, add_option, count
from tui_agent.config import paths
from tui_agent.config.settings.api_keys import Keys
from tui_agent.config.small_files import read_small
from tui_agent.context.repomap.map_results import MapView, RankedFile
from tui_agent.context.repomap.rendering import clean, describe_skipped
from tui_agent.context.repomap.repository_map import RepoMap, Visibility
from tui_agent.context.repomap.search_without_index import MatchedWords
from tui_agent.errors import UsageError
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_number, format_tokens

EXAMPLES = """\
examples:
  tui-agent map
  tui-agent map --query "where is the login checked?"
  tui-agent map --query "parse_config drops comments" --max-tokens 4000 --json
"""
PATIENCE_S = 2.0
MAX_SYMBOLS = 20
MAX_USERS = 6


def configure(parser: Parser) -> None:
    """Add the options of `map` to the parser."""
    add_option(parser, "-q --query Q", "rank the files for this question, task or list of names")
    add_option(parser, "--max-tokens N", "maximum length in tokens (default 1200)", type=count, default=1200)
    add_option(parser, "--max-files N", "maximum number of files", type=count)
    add_list_option(parser, "--pin PATH", "list this file first; can be repeated")
    add_list_option(parser, "--hide PATH", "leave this file out; can be repeated")
    add_flag(parser, "--refresh", "wait until every file is in the index")
    add_option(parser, "--symbol NAME", "only list definitions whose name contains NAME")
    add_flag(parser, "--state", "only show how many files are in the index, and whether it is being built")
    add_flag(parser, "--json", "print a JSON object per file, best first")
    GROUPS["folders"](parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the map of the repository."""
    gc.disable()  # The process answers once and ends, so garbage collection would only cost time.
    root = arguments.cwd or Path.cwd()
    if not root.is_dir():
        raise UsageError(f"Folder not found: {root}.", hint="Give another folder with --cwd.")
    data_dir: Path | None = arguments.data_dir
    locations = paths.find_paths(root, os.environ)
    repo_map = RepoMap(
        root,
        locations.repo_maps if data_dir is None else paths.local_repo_maps(data_dir.expanduser().resolve()),
        showing=Visibility(may_show, secret_table_digest(), redaction(root, locations)),
        patience=PATIENCE_S,
        detached=True,
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
        listed = shown.files if arguments.json else ()
        users = {file.path: repo_map.find_users(file.path, MAX_USERS) for file in listed}
    finally:
        repo_map.close()
    if arguments.json:
        matched = MatchedWords(str(root), arguments.query or "")
        say_json_lines(as_json(file, matched.find(file.path), users[file.path]) for file in shown.files)
        warn(summary(shown))
    else:
        say(shown.text.removesuffix("\n"))
    for path in shown.unpinned:
        warn(f"Not pinned: {clean(path)} {why_unpinned(root / path, path, arguments.hide)}.")
    return 0


def look_up(repo_map: RepoMap, arguments: argparse.Namespace) -> int:
    """Print the state of the index or the definitions of a symbol, without reading the repository's files."""
    files, building = repo_map.state()
    if arguments.state:
        message = f"{format_count(files, 'file')} in the index{', which is being built' if building else ''}"
        say_json_lines([{"files": files, "building": building}]) if arguments.json else say(message)
        return 0
    definitions = repo_map.find_definitions(arguments.symbol, MAX_SYMBOLS)
    if arguments.json:
        say_json_lines(definition._asdict() for definition in definitions)
    else:
        for definition in definitions:
            say(f"{clean(definition.path)}:{definition.line}  {definition.name}")
    return 0


def why_unpinned(file: Path, path: str, hidden: Sequence[str]) -> str:
    """Return the reason why a pinned file is not in the map, such as `is hidden`."""
    if path in map(os.path.normpath, hidden):
        return "is hidden"
    return "is left out of every map (docs/repomap.md)" if file.is_file() else "was not found"


def summary(shown: MapView) -> str:
    """Return a line with the numbers of files, tokens and left-out files of a repository map."""
    words = f"{format_number(len(shown.files))} of {format_count(shown.total, 'file')}, about {format_tokens(shown.tokens)} tokens"
    skipped = ", ".join(describe_skipped(reason, count) for reason, count in sorted(shown.skipped.items()))
    words += f"; left out: {skipped}" if skipped else ""
    return words + ("; the index is still being built" if shown.partial else "")


def as_json(file: RankedFile, words: list[tuple[str, int]], users: list[str]) -> dict[str, object]:
    """Return a file of the repository map as a JSON object.

    `words`: words of the question that occur in the file.
    `users`: other files that use names defined in the file.
    """
    return {
        "path": clean(file.path),
        "score": file.score,
        "reasons": file.reasons,
        "words": words,
        "used_by": list(map(clean, users)),
        "symbols": [symbol._asdict() for symbol in file.symbols],
    }


def redaction(root: Path, locations: paths.Paths) -> RedactionOptions:
    """Return the options for redacting secrets."""
    # To load the settings would take longer than to make the map, and they rarely have this table.
    if "redaction" not in (read_small(locations.user_config) or ""):
        return RedactionOptions(Keys(os.environ, locations.secrets).collect_redacted())
    known: RedactionOptions = import_module("tui_agent.session.fault_redaction").load_redaction_options(
        os.environ, root
    )
    return known


def secret_table_digest() -> str:
    """Return a hash of the policy's table of secret files."""
    table = Path(tui_agent.__file__).parent / "policy" / "places" / "places.toml"
    return hashlib.sha256(table.read_bytes()).hexdigest()[:16]


def may_show(path: str) -> bool:
    """Return True if the policy allows reading and showing the file."""
    allowed: bool = not import_module("tui_agent.policy.places.path_places").may_hold_secrets(path)
    return allowed
