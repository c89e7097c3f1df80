"""How often the first ten files of the repository map contain the files that a commit changed: cases and table.

usage: python -m benchmarks.map_cases REPOSITORY... [--work DIR] [--count N] [--json FILE]

REPOSITORY is a clone with its history (it may be bare, and is only read). A case is a commit: the question is its
message, the wanted files are the source files that it changed. Drawn are, of the newest 3 N suitable commits, every
third, oldest first. A commit is suitable if it

- is no merge, and was not written by a bot;
- is not mechanical by its title: no revert, release, version bump, update of dependencies, formatting, polish, or
  correction of documents, tests and settings of the build;
- changed 1 to 5 source files that existed before: no tests, documents, examples, settings, generated or foreign files;
- has a message of at least three words that are no numbers or stop words, and a title that no newer case has.

The message is taken as written; removed are only trailers (`Signed-off-by: …`), separators and numbers of issues, which
nobody would ask with. Each case is checked out as `benchmarks.localization` does it: the files of the parent commit, on
a history that ends two days before the commit, so that neither the commit nor a copy of it is in the history.

Printed for each repository are the mean share of the wanted files among the first ten (recall@10) and the share of cases
with at least one of them (hit), in the first answer, without an index, and in the settled one; and the share of wanted
files that no word of the question leads to: none is in the file's path or text, or in the message of a past commit that
changed it.
"""

import argparse
import json
import re
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.localization import check_out, git
from tui_agent.context.repomap.indexer import pieces_of
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.repository_map import RepoMap
from tui_agent.context.repomap.search_without_index import search_commits
from tui_agent.context.repomap.source_reader import read
from tui_agent.folds.text.word_forms import split_text

SEARCHED_COMMITS, EVERY, MAX_CHANGED, MIN_WORDS = 8_000, 3, 5, 3
MECHANICAL = re.compile(
    r"\W*(?:(?:docs?|style|ci|build|tests?|release)\b[^: ]*:|(?:\w+(?:\([^)]*\))?!?: *)?(?:revert|release|prepare|version|bump"
    r"|upgrade|updat\w+ (?:\S+ )?(?:dep|version)|v?\d|merge|format|fmt|lint|typos?\b|polish|clean ?up|re-?generate|sync"
    r"|apply \w+ suggestion|(?:fix|add|updat|remov)\w* (?:\w+ )?(?:typos?|javadocs?|docs|comments?|links|`?@since)\b))",
    re.IGNORECASE,
)
SOURCE = re.compile(
    r"\.(?:c|cc|cpp|cs|go|h|hpp|java|[cm]?jsx?|kt|php|py|rb|rs|scala|svelte|swift|[cm]?tsx?|vue)$"
)
OTHER = re.compile(
    r"(?:^|/)(?:tests?|testing|testdata|__tests__|specs?|e2e|fixtures?|mocks?|bench\w*|docs?|www|website|examples?|samples?"
    r"|demos?|playgrounds?|templates?|vendor|third_party|node_modules|dist|generated|integration-tests?)/"
    r"|(?:^|/)(?:test_|conftest)|[._-](?:tests?|spec|bench|config|d|pb|generated)\.|(?:Tests?|IT)\.(?:java|kt)$|(?:package|module)-info\.java$",
)
TRAILER = re.compile(
    r"^(?:[A-Z][\w-]*-(?:by|[Ii]d)|(?:Close|Fixe?|Resolve|See|Issue|Refs?|PR|Pull)\w*)\b:? *(?:\S*[#/]\S*|gh-\d+|.*<.*>|I[0-9a-f]+).*$"
    r"|\((?:#|gh-)\d+\)|#\d+|^[-*_]{3,}$",
    re.MULTILINE,
)
Case = dict[str, Any]


def draw_cases(repository: Path, count: int) -> list[Case]:
    """Return up to `count` cases of a repository, oldest first."""
    suitable: dict[str, Case] = {}
    for case in _commits(repository):
        title = case["query"].partition("\n")[0]
        if _is_suitable(case, title) and title not in suitable:
            suitable[title] = case
            if len(suitable) == count * EVERY:
                break
    return list(suitable.values())[::EVERY][::-1]


def _commits(repository: Path) -> Iterator[Case]:
    form = "--format=%x02%H%x03%P%x03%ct%x03%an%x03%B%x03"
    options = ("--no-merges", f"--max-count={SEARCHED_COMMITS}", "--name-status", "--no-renames")
    for record in git(repository, "log", *options, form).split("\x02")[1:]:
        sha, parents, date, author, message, names = record.split("\x03")
        changes = [line.split("\t") for line in names.strip().splitlines()]
        yield {
            "id": f"{repository.name}-{sha[:8]}",
            "commit": sha,
            "parent": parents.partition(" ")[0],
            "date": int(date),
            "author": author,
            "query": TRAILER.sub("", message).strip(),
            "gold_files": [path for kind, path in changes if kind == "M" and _is_source(path)],
        }


def _is_source(path: str) -> bool:
    return SOURCE.search(path) is not None and OTHER.search(path) is None


def _is_suitable(case: Case, title: str) -> bool:
    words = {piece for piece in split_text(case["query"]) if not piece.isdigit()}
    return (
        bool(case["parent"])
        and "bot" not in case["author"].lower()
        and MECHANICAL.match(title) is None
        and 1 <= len(case["gold_files"]) <= MAX_CHANGED
        and len(words) >= MIN_WORDS
    )


def measure(repository: Path, work: Path, case: Case) -> Case:
    """Return the case with its first ten files in the first and in the settled answer, and its unreachable files."""
    check_out(repository, case)
    for name, cache in (("first", work / "no-index"), ("settled", work / "index")):
        repo_map = RepoMap(repository, cache)
        view = repo_map.map(case["query"], max_files=10, max_tokens=40_000, refresh=name == "settled")
        case[name] = [file.path for file in view.files]
        repo_map.close()
    return case | {"unreachable": _unreachable(repository, case)}


def _unreachable(repository: Path, case: Case) -> list[str]:
    query = Query(case["query"])
    past = {path for _, paths in search_commits(repository, query) for path in paths}
    return [
        path
        for path in case["gold_files"]
        if path not in past
        and query.weights.keys().isdisjoint(pieces_of(path).split())
        and not any(word.encode() in read(f"{repository}/{path}").data.lower() for word in query.weights)
    ]


def print_row(name: str, cases: list[Case]) -> None:
    """Print the means of some measured cases."""
    figures = []
    for answer in ("first", "settled"):
        shares = [
            len(set(case[answer]) & set(case["gold_files"])) / len(case["gold_files"]) for case in cases
        ]
        figures += [statistics.fmean(shares), statistics.fmean(share > 0 for share in shares)]
    lost = statistics.fmean(len(case["unreachable"]) / len(case["gold_files"]) for case in cases)
    print(f"{name:34}{len(cases):>6}" + "".join(f"{figure:>9.3f}" for figure in (*figures, lost)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--work", type=Path, help="folder for clones and indexes, kept for the next run")
    parser.add_argument("--count", type=int, default=70)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    work = arguments.work or Path(tempfile.mkdtemp(prefix="map-cases-"))
    work.mkdir(parents=True, exist_ok=True)
    (work / "no-index").touch()  # a file: no index can be opened below it
    print(f"{'':34}{'cases':>6}{'first':>9}{'hit':>9}{'settled':>9}{'hit':>9}{'no word':>9}")
    measured: list[Case] = []
    for repository in arguments.repositories:
        clone = work / repository.resolve().as_posix().strip("/").replace("/", "+")
        if not clone.exists():
            options = ("--quiet", "--shared", "--no-checkout")
            subprocess.run(["git", "clone", *options, repository.resolve(), clone], check=True)
        cases = [measure(clone, work, case) for case in draw_cases(repository, arguments.count)]
        print_row(clone.name, cases)
        measured += cases
    print_row("ALL", measured)
    if arguments.json:
        arguments.json.write_text("".join(json.dumps(case) + "\n" for case in measured))


if __name__ == "__main__":
    main()
