"""Speed of the repository map: cold, with a built index, warm, in a new process, and after two kinds of edit.

usage: python -m benchmarks.repomap_speed DIR... [--aider PYTHON] [--query Q]

Each folder is measured in new processes, in CPU seconds (user and system, with children) and wall seconds. CPU seconds
depend less on other work of the machine. `--aider` is the Python of an environment with the package aider-chat: aider's
map of the same files is then measured in the same run.
"""

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.report import Row, print_table, save

QUERY = "where is the cache of related objects filled and invalidated"
OURS = """
import json, os, resource, sys, time
from pathlib import Path
from tui_agent.context.repomap.indexer import definitions
from tui_agent.context.repomap.repository_map import RepoMap
root, cache, query = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
def cpu():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
OTHERS = [
    "how is the configuration file read and its defaults merged",
    "an error is raised when the connection is closed while a request is sent",
    "parser of command line options and their help texts",
    "the session expires too early after login",
    "rename a field of a model without losing its data",
    "unicode names are written wrongly into the response headers",
    "`get_or_create` is slow for many objects",
    "thread pool is shut down before its tasks have ended",
    "where are templates compiled and kept",
]
def timed(act):
    c, w = time.process_time(), time.perf_counter()
    made = act()
    return made, round(time.process_time() - c, 3), round(time.perf_counter() - w, 3)
said = {}
m = RepoMap(root, cache, patience=0.0)
view, *said["first answer, cold"] = timed(lambda: m.map(query))
c, w = cpu(), time.perf_counter()
m.wait(600)
m.close()
said["index built (both processes)"] = [round(cpu() - c, 3), round(time.perf_counter() - w, 3)]
m = RepoMap(root, cache)
view = m.map(query)
m.map(query)
def middle(acts):
    found = sorted(timed(act)[1:] for act in acts)
    return found[len(found) // 2]
said["warm, with a new question"] = middle([lambda q=q: m.map(q) for q in OTHERS])
said["warm, with the same question"] = middle([lambda: m.map(query)] * 9)
said["warm, first without a question"] = timed(lambda: m.map())[1:]
some = next(one.path for one in view.files if one.symbols)
data = (root / some).read_bytes()
def touch(n):
    (root / some).write_bytes(data + b"\\n" * n)
    return m.map(query)
said["after one touched file"] = middle([lambda n=n: touch(n) for n in range(1, 8)])
name = next(
    symbol.name for one in view.files for symbol in one.symbols if definitions([symbol]) and symbol.name.encode() not in data
)
def link(n):
    (root / some).write_bytes(data + b"\\n%s\\n" % name.encode() * (n % 2))
    return m.map(query)
said["after an edit that links two files"] = middle([lambda n=n: link(n) for n in range(1, 8)])
(root / some).write_bytes(data)
said["files"] = view.total
said["partial"] = view.partial
said["index MB"] = round(m.index.stat().st_size / 1e6, 1)
m.close()
said["peak MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
said["worker's peak MB"] = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
print(json.dumps(said))
"""
AIDER = """
import json, os, resource, subprocess, sys, time
t, c = time.perf_counter(), time.process_time()
from aider.repomap import RepoMap
root, query = sys.argv[1], sys.argv[2]
os.chdir(root)
class Quiet:
    def tool_output(self, *a, **k): pass
    tool_error = tool_warning = tool_output
    def read_text(self, name, silent=False):
        try: return open(name, encoding="utf-8", errors="ignore").read()
        except OSError: return None
class Model:
    def token_count(self, text): return len(text) / 3.3
files = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True).stdout.split("\\0")
files = [os.path.join(root, f) for f in files if f] or [os.path.join(d, f) for d, _, fs in os.walk(root) for f in fs if ".aider" not in d]
said = {"import": [round(time.process_time() - c, 3), round(time.perf_counter() - t, 3)]}
words = set(query.split())
for name in ("first answer, cold", "warm, with a question"):
    c, w = time.process_time(), time.perf_counter()
    m = RepoMap(map_tokens=1024, root=root, main_model=Model(), io=Quiet())
    m.get_repo_map([], files, mentioned_fnames=set(), mentioned_idents=words, force_refresh=True)
    said[name] = [round(time.process_time() - c, 3), round(time.perf_counter() - w, 3)]
said["peak MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
said["files"] = len(files)
print(json.dumps(said))
"""
NEW = """
import json, resource, subprocess, sys, time
w = time.perf_counter()
subprocess.run([sys.executable, "-P", "-m", "tui_agent", "map", "-C", sys.argv[1], "--query", *sys.argv[2:]], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([round(used.ru_utime + used.ru_stime, 3), round(time.perf_counter() - w, 3)]))
"""
GOALS = {
    "first answer, cold": (1.0, 2.5),
    "warm, with a new question": (0.03, 0.08),
    "warm, with the same question": (0.03, 0.08),
    "after one touched file": (0.06, 0.15),
    "new process, again": (0.25, None),
    "peak MB": (150.0, 300.0),
    "worker's peak MB": (150.0, 300.0),
    "index MB": (15.0, 50.0),
}
"""For repositories of up to `LARGE` files, and for larger ones; seconds are of the processor."""
LARGE = 8_000
SAME = {
    "warm, with a new question": "warm, with a question",
    "warm, with the same question": "warm, with a question",
    "new process, again": "warm, with a question",
}
"""What of the neighbour's figures stands beside ours, where the name is another one."""
REPEATED = 3
Said = dict[str, Any]


def measured(python: str, program: str, *words: str, home: Path) -> str:
    done = subprocess.run(
        [python, "-W", "ignore", "-c", program, *words],
        capture_output=True,
        text=True,
        env=environment(home),
        check=False,
    )
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}"
    return done.stdout.strip().splitlines()[-1]


def environment(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


def of_folder(folder: Path, query: str, aider: str | None) -> tuple[Said, Said]:
    """Return our figures and aider's for one folder; aider's are empty without --aider."""
    home = Path(tempfile.mkdtemp(prefix="repomap-speed-"))
    try:
        root = str(folder.resolve())
        ours = told(measured(sys.executable, OURS, root, str(home / "cache"), query, home=home))
        ours["new process, cold"] = told(measured(sys.executable, NEW, root, query, home=home))
        measured(sys.executable, NEW, root, query, "--refresh", home=home)
        again = [told(measured(sys.executable, NEW, root, query, home=home)) for _ in range(REPEATED)]
        ours["new process, again"] = sorted(again)[REPEATED // 2]
        theirs = told(measured(aider, AIDER, root, query, home=home)) if aider else {}
    finally:
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(folder / ".aider.tags.cache.v4", ignore_errors=True)
    return ours, theirs


def told(said: str) -> Any:
    if said.startswith("failed"):
        raise SystemExit(said)
    return json.loads(said)


def rows_of(folder: str, ours: Said, theirs: Said) -> list[Row]:
    found = []
    for name, value in ours.items():
        if name == "partial":
            continue
        beside = theirs.get(SAME.get(name, name), math.nan)
        goals = GOALS.get(name, (None, None))
        unit = "s CPU" if isinstance(value, list) else "MB" if name.endswith("MB") else ""
        found.append(
            Row(
                f"{folder}: {name}",
                unit,
                value[0] if isinstance(value, list) else value,
                neighbour=beside[0] if isinstance(beside, list) else beside,
                at_most=goals[ours["files"] > LARGE],
            )
        )
    built = ours["index built (both processes)"]
    found.append(
        Row(f"{folder}: index ready after", "s", built[1], at_most=3.0 if ours["files"] <= LARGE else 7.0)
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--aider", metavar="PYTHON")
    parser.add_argument("--query", default=QUERY)
    arguments = parser.parse_args()
    rows: list[Row] = []
    for folder in arguments.folders:
        rows += rows_of(folder.name, *of_folder(folder, arguments.query, arguments.aider))
    print_table(rows, "aider's map of the same files" if arguments.aider else "")
    save(rows, Path(__file__).parent / "results")


if __name__ == "__main__":
    main()
