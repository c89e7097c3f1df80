"""Quality of the repository map: how well it finds the files that a commit touched.

usage: python -m benchmarks.localization CASES.jsonl --repos DIR [--cache DIR] [--only PREFIX] [--every N] [--raw]

DIR contains a full clone of each repository of the cases, named owner+name; its work tree is overwritten. For each case,
the parent of the commit is checked out as one snapshot on a history that ends two days earlier, the index is updated,
and a map of each length is requested. Printed are means over the cases: R@k (share of the touched files among the first
k), MRR, recall within the printed 1,000 to 8,000 tokens, and the share of the touched symbols that 2,000 tokens show.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from tui_agent.context.repomap.map_results import MapView
from tui_agent.context.repomap.repository_map import RepoMap

BUDGETS = (1_000, 2_000, 4_000, 8_000)
RANKS = (1, 5, 10, 20, 40)
TWO_DAYS = 2 * 86_400
Case = dict[str, Any]


def git(repo: Path, *words: str, **env: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repo), *words],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        errors="replace",
    )
    return done.stdout.strip()


def check_out(repo: Path, case: Case) -> None:
    """Check out the parent's files as one commit on a history that ends two days earlier."""
    who = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", "bench"), ("EMAIL", "bench"), ("DATE", f"{case['date']} +0000"))
    }
    old = git(repo, "rev-list", "-1", f"--before={case['date'] - TWO_DAYS}", case["parent"])
    snapshot = git(repo, "commit-tree", f"{case['parent']}^{{tree}}", "-p", old, "-m", "snapshot", **who)
    git(repo, "checkout", "-fq", "--detach", snapshot)
    if not snapshot or git(repo, "rev-parse", "HEAD") != snapshot:
        raise SystemExit(f"cannot check out {case['parent']} in {repo}")
    git(repo, "clean", "-fdq")


def shown(view: MapView, gold: list[str], symbols: list[str]) -> tuple[float, float | None]:
    """Return the share of the files that the text names, and of the symbols that it shows below their file."""
    lines = view.text.splitlines()
    below: dict[str, str] = {}
    path = ""
    for line in lines:
        if line.startswith("  "):
            below[path] = below.get(path, "") + line + "\n"
        else:
            path = line
            below.setdefault(path, "")
    found = [path for path in gold if path in below]
    named = [
        symbol
        for symbol in symbols
        if re.search(rf"\b{re.escape(symbol.partition('::')[2])}\b", below.get(symbol.partition("::")[0], ""))
    ]
    return len(found) / len(gold), len(named) / len(symbols) if symbols else None


def score(repo_map: RepoMap, case: Case, key: str) -> dict[str, float | None]:
    """Return all figures of one case."""
    gold, symbols, row = case["gold_files"], case.get("gold_symbols") or [], dict[str, float | None]()
    order = [one.path for one in repo_map.map(case[key], max_tokens=400_000, refresh=True).files]
    places = [order.index(path) + 1 for path in gold if path in order]
    for k in RANKS:
        row[f"R@{k}"] = sum(place <= k for place in places) / len(gold)
    row["MRR"] = max((1 / place for place in places), default=0.0)
    started = time.process_time()
    for budget in BUDGETS:
        view = repo_map.map(case[key], max_tokens=budget)
        row[f"{budget // 1000}k"], found = shown(view, gold, symbols)
        row[f"sym{budget // 1000}k"] = found
    row["ms"] = (time.process_time() - started) / len(BUDGETS) * 1000
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--repos", required=True, type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument(
        "--raw", action="store_true", help="questions with the names of the changed files left in"
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cache = arguments.cache or Path(tempfile.mkdtemp(prefix="localization-"))
    cases = [json.loads(line) for line in arguments.cases.read_text().splitlines()]
    cases = sorted(
        (c for c in cases if c["id"].startswith(arguments.only)), key=lambda c: (c["repo"], c["date"])
    )
    rows: dict[str, list[dict[str, float | None]]] = defaultdict(list)
    told = []
    for case in cases[:: arguments.every]:
        repo = arguments.repos / case["repo"].replace("/", "+")
        check_out(repo, case)
        repo_map = RepoMap(repo, cache)
        row = score(repo_map, case, "query" if arguments.raw else "query_stripped")
        repo_map.close()
        rows[case["repo"]].append(row)
        rows["ALL"].append(row)
        told.append({"id": case["id"], **row})
    names = list(rows["ALL"][0])
    print(f"{'':28}{'n':>4}" + "".join(f"{name:>7}" for name in names))
    for repo_name, found in sorted(rows.items(), key=lambda each: (each[0] == "ALL", each[0])):
        means = [
            statistics.fmean([v for row in found if (v := row[name]) is not None] or [0.0]) for name in names
        ]
        print(
            f"{repo_name:28}{len(found):>4}"
            + "".join(
                f"{mean:7.0f}" if name == "ms" else f"{mean:7.3f}"
                for name, mean in zip(names, means, strict=True)
            )
        )
    if arguments.json:
        arguments.json.write_text("".join(json.dumps(row) + "\n" for row in told))


if __name__ == "__main__":
    main()
