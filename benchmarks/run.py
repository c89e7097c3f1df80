"""`make bench`: measures the product beside an empty Textual app, and prints a table of figures and ratios.

    python -m benchmarks.run [--only start,session] [--rounds 5] [--nice -20]
                             [--neighbour "CMD" [--neighbour-home DIR]]

A neighbour is another agent's full-screen program, measured in turns with the product. {url} in its command and in
the settings that it is given (a folder that becomes its home) is the stand-in model's address. Everything goes to 127.0.0.1; settings and sessions lie in a temporary folder. Trust the ratios
and the CPU seconds first: wall times carry what else the machine does. Linux only (/proc).
"""

import argparse
import contextlib
import itertools
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import micro
from benchmarks.neighbour import Neighbour
from benchmarks.report import Row, print_table, save
from benchmarks.timing import command_times

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
NAN = float("nan")
PARTS = ("version", "start", "session", "shapes", "streaming", "history", "headless", "folds")


@dataclass
class Bench:
    """The home, workspace, mock server and options that all measurements share."""

    home: Path
    workspace: Path
    url: str
    log: Path
    neighbour: Neighbour
    args: argparse.Namespace

    def ours(self, *more: str) -> list[str]:
        """Return the command line that opens the app."""
        options = [
            "--model",
            "mock",
            "--base-url",
            self.url,
            "--policy",
            "bypass",
            "--data-dir",
            str(self.home / "data"),
        ]
        return [str(BIN / "tui-agent"), *options, *more]

    def environment(self) -> dict[str, str]:
        """Return an environment without the user's settings and keys."""
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL")}
        return {**kept, "HOME": str(self.home), "OPENAI_API_KEY": "none", "PYTHONPATH": str(ROOT)}

    def pty(self, command: list[str], *options: str, timeout: float = 60) -> dict:
        """Measure one run of a program in a pseudo terminal, from outside."""
        nice = ["--nice", str(self.args.nice)] if self.args.nice else []
        line = [
            sys.executable,
            "-m",
            "benchmarks.ptybench",
            "--cwd",
            str(self.workspace),
            "--timeout",
            str(timeout),
        ]
        done = subprocess.run(
            [*line, *nice, *options, "--", *command],
            capture_output=True,
            text=True,
            env=self.environment(),
            cwd=ROOT,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{shlex.join(command)} could not be measured:\n{done.stderr}")
        return json.loads(done.stdout)

    def beside(self, *options: str, timeout: float = 90) -> dict:
        """Measure one run of the neighbour; return nothing if there is none."""
        if not self.neighbour:
            return {}
        clean = ["env", "-i", *(f"{name}={value}" for name, value in self.neighbour.environment().items())]
        terminal = ["TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"]
        return self.pty([*clean, *terminal, *self.neighbour.command], *options, timeout=timeout)

    def requests(self) -> list[dict]:
        """Return the requests that the mock server has received."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@contextlib.contextmanager
def bench(args: argparse.Namespace) -> Iterator[Bench]:
    """Provide a temporary home and workspace, and a mock server that runs until the end."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        home, workspace, log = Path(folder) / "home", Path(folder) / "work", Path(folder) / "requests.jsonl"
        home.mkdir()
        workspace.mkdir()
        for name in ("note", *(f"note{n}" for n in range(30))):
            (workspace / f"{name}.txt").write_text(f"This is {name}.\n" * 20)
        log.touch()
        command = [sys.executable, "-m", "benchmarks.mock_llm", "--port", "0", "--log", str(log)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as served:
            try:
                assert served.stdout is not None
                url = served.stdout.readline().split()[-1]
                other = Neighbour(args.neighbour, args.neighbour_home, Path(folder) / "neighbour", url)
                yield Bench(home, workspace, url, log, other, args)
            finally:
                served.terminate()


def median(runs: list[dict], key: str) -> float:
    """Return the median of one figure over the runs that have it."""
    found = [run[key] for run in runs if run.get(key) is not None]
    return statistics.median(found) if found else NAN


def version(b: Bench) -> list[Row]:
    """Measure `--version` and `--help`, compared with a bare interpreter."""
    ours = str(BIN / "tui-agent")
    bare, said, helped = command_times(
        [[sys.executable, "-c", "pass"], [ours, "--version"], [ours, "--help"]],
        rounds=15,
        env=b.environment(),
    )
    return [
        Row("--version", "ms", said.wall_ms, floor=bare.wall_ms, at_most_ratio=5),
        Row("--help", "ms", helped.wall_ms, floor=bare.wall_ms),
    ]


@contextlib.contextmanager
def busy_processor() -> Iterator[None]:
    """Keep one processor busy."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            yield
        finally:
            busy.kill()


def start(b: Bench) -> list[Row]:
    """Measure first paint and input ready, in turns with the empty app and the neighbour."""
    empty = [sys.executable, "-m", "benchmarks.empty_app"]
    names = ("ours", "empty", "neighbour", "ours, busy", "empty, busy")
    runs: dict[str, list[dict]] = {name: [] for name in names}
    for _ in range(b.args.rounds):
        runs["ours"].append(b.pty(b.ours(), timeout=30))
        runs["empty"].append(b.pty(empty, timeout=30))
        runs["neighbour"].append(b.beside())
        with busy_processor():
            runs["ours, busy"].append(b.pty(b.ours(), timeout=30))
            runs["empty, busy"].append(b.pty(empty, timeout=30))
    beside_busy, floor_busy = (median(runs[f"{each}, busy"], "first_paint_ms") for each in ("ours", "empty"))
    rows = [Row("first paint, one processor busy", "ms", beside_busy, floor=floor_busy, at_most_ratio=1.45)]
    for name, key, unit, ratio in (
        ("first paint", "first_paint_ms", "ms", 1.45),
        ("input ready", "ready_ms", "ms", 1.45),
        ("app CPU to ready", "app_cpu_at_ready_s", "s", None),
        ("CPU to ready, all", "cpu_at_ready_s", "s", None),
        ("CPU until settled", "cpu_startup_s", "s", None),
    ):
        ours, floor, other = (median(runs[each], key) for each in ("ours", "empty", "neighbour"))
        rows.append(Row(name, unit, ours, floor=floor, neighbour=other, at_most_ratio=ratio))
    rows.append(
        Row(
            "memory, app",
            "MiB",
            median(runs["ours"], "app_pss_mb"),
            floor=median(runs["empty"], "pss_mb"),
            at_most=60,
        )
    )
    whole = median(runs["ours"], "pss_mb")
    rows.append(Row("memory, all", "MiB", whole, neighbour=median(runs["neighbour"], "pss_mb"), at_most=210))
    return rows


def session(b: Bench) -> list[Row]:
    """Measure keys, idling, a long reply sent as fast as possible, and tool calls."""
    options = ("--keys", "40", "--idle", "5")
    floor = b.pty([sys.executable, "-m", "benchmarks.empty_app"], *options)
    ours = b.pty(b.ours(), *options, "--do", "stream", "--do", "tools", timeout=90)
    fresh_from = len(b.requests())
    fresh = b.pty(b.ours(), "--do", "tools", timeout=90)
    asked = b.requests()
    other = b.beside(*options, "--do", "stream")
    others_from = len(b.requests())
    tools_beside = done(b.beside("--do", "tools"), "tools")
    others = b.requests()[others_from:]

    def idle(key: str) -> dict[str, float]:
        """Return one figure of the keys while idle, for the floor and the neighbour."""
        return {"floor": floor["key_ms"][key], "neighbour": (other.get("key_ms") or {}).get(key, NAN)}

    rows = [
        Row("key, idle: median", "ms", ours["key_ms"]["median"], **idle("median"), at_most=4),
        Row("key, idle: p95", "ms", ours["key_ms"]["p95"], **idle("p95"), at_most=10),
        Row(
            "idle CPU",
            "%",
            ours["idle_cpu_pct"],
            floor=floor["idle_cpu_pct"],
            neighbour=other.get("idle_cpu_pct", NAN),
            at_most=0.5,
        ),
    ]
    rows += long_reply(ours, done(other, "stream"))
    gap = tool_gap(asked[fresh_from:])
    late = tool_gap([each for each in asked[:fresh_from] if each.get("scenario") == "tools"])
    call = done(fresh, "tools").get("cpu_s", NAN) * 1000 / 31
    call_beside = tools_beside.get("cpu_s", NAN) * 1000 / 31
    first = others[0]["size"] / 1000 if others else NAN
    rows += [
        Row("gap between tool calls", "ms", gap, neighbour=tool_gap(others), at_most=10),
        Row("the same after 20,000 deltas", "ms", late, floor=gap, at_most_ratio=1.5),
        Row("CPU for a tool call", "ms", call, neighbour=call_beside, at_most=12),
        Row("first request", "KB", asked[0]["size"] / 1000 if asked else NAN, neighbour=first, at_most=9),
    ]
    return rows


def long_reply(ours: dict, other: dict) -> list[Row]:
    """Return the rows on a reply of 20,000 deltas. `ours`: our whole run; `other`: the neighbour's reply."""
    stream = done(ours, "stream")
    if not stream.get("wall_s"):
        return []
    key = stream["key_ms"]["median"]
    return [
        Row("20,000 deltas: app CPU", "s", stream["app_cpu_s"], at_most=1.0),
        Row("20,000 deltas: CPU, all", "s", stream["cpu_s"], neighbour=other.get("cpu_s", NAN)),
        Row("20,000 deltas: wall", "s", stream["wall_s"], neighbour=other.get("wall_s") or NAN, at_most=1.5),
        Row(
            "20,000 deltas: to terminal",
            "KB",
            stream["bytes"] / 1000,
            neighbour=other.get("bytes", NAN) / 1000,
            at_most=150,
        ),
        Row("20,000 deltas: full clears", "", stream["clears"], at_most=0),
        Row("key after them: median", "ms", key, floor=ours["key_ms"]["median"], at_most_ratio=1.2),
    ]


def done(run: dict, name: str) -> dict:
    """Return the figures of one scenario of a run; empty if the scenario was not run."""
    return next((one for one in run.get("do", []) if one["name"] == name), {})


def tool_gap(asked: list[dict]) -> float:
    """Return the median milliseconds from the end of a reply to the arrival of the next request."""
    told = [each for each in asked if each.get("scenario") == "tools"]
    gaps = [(after["t"] - before["done"]) * 1000 for before, after in itertools.pairwise(told)]
    return statistics.median(gaps) if gaps else NAN


def shapes(b: Bench) -> list[Row]:
    """Measure replies of 20,000 deltas that are all prose, one fence, one list, or one table."""
    rows = []
    for shape in ("prose", "fence", "list", "table"):
        one = b.pty(b.ours(), "--do", shape, timeout=90).get("do", [{}])[0]
        figure = one["app_cpu_s"] if one.get("wall_s") else NAN
        rows.append(Row(f"20,000 deltas, one {shape}: app CPU", "s", figure, at_most=1.0))
    return rows


def streaming(b: Bench) -> list[Row]:
    """Measure keys while a reply streams at 100 deltas a second."""
    ours = b.pty(b.ours(), "--keys", "30", "--slow", "slow")
    other = b.beside("--keys", "30", "--slow", "slow")
    keys, beside = (run.get("key_streaming_ms") or {"median": NAN, "p95": NAN} for run in (ours, other))
    return [
        Row("key, streaming: median", "ms", keys["median"], neighbour=beside["median"], at_most=8),
        Row("key, streaming: p95", "ms", keys["p95"], neighbour=beside["p95"], at_most=25),
        Row(
            "CPU at 100 deltas/s, all",
            "%",
            ours.get("slow_cpu_pct", NAN),
            neighbour=other.get("slow_cpu_pct", NAN),
            at_most=18,
        ),
    ]


def history(b: Bench) -> list[Row]:
    """Measure opening a session of 10,000 messages, compared with an empty one."""
    session_id = micro.long_session(b.home / "data" / "sessions", b.workspace, messages=10_000)
    empty = [b.pty(b.ours(), timeout=30) for _ in range(3)]
    long = [b.pty(b.ours("--session", session_id), "--show", micro.LAST_WORDS, timeout=60) for _ in range(3)]
    shown = median(long, "shown_ms") - median(empty, "ready_ms")
    return [
        Row("10,000 messages: shown later by", "ms", shown, at_most=500),
        Row(
            "10,000 messages: ready later by",
            "ms",
            median(long, "ready_ms") - median(empty, "ready_ms"),
            at_most=500,
        ),
        Row(
            "10,000 messages: app memory more",
            "MiB",
            median(long, "app_pss_mb") - median(empty, "app_pss_mb"),
            at_most=50,
        ),
    ]


def headless(b: Bench) -> list[Row]:
    """Measure one `tui-agent run` with a direct client."""
    command = [str(BIN / "tui-agent"), "run", "hello", *b.ours()[1:]]
    timed, bare = command_times(
        [command, [sys.executable, "-c", "pass"]], rounds=7, env=b.environment(), cwd=b.workspace
    )
    return [
        Row("headless hello: wall", "s", timed.wall_ms / 1000, at_most=0.7),
        Row("headless hello: CPU", "s", timed.cpu_ms / 1000, floor=bare.cpu_ms / 1000),
    ]


def folds(b: Bench) -> list[Row]:
    """Measure all of the app's folds over 50,000 events, and one append to the log."""
    return [
        Row("50,000 events folded", "s", micro.fold_seconds(50_000), at_most=1.0),
        Row("append at 100 events", "µs", (early := micro.append_us(100))),
        Row("append at 20,000 events", "µs", micro.append_us(20_000), floor=early, at_most_ratio=1.5),
    ]


def main() -> int:
    """Run the requested measurements and print the table. Return 0, or 1 with --strict if a goal is missed."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", default=",".join(PARTS), help=f"some of: {','.join(PARTS)}")
    ap.add_argument("--rounds", type=int, default=5, help="starts of each program")
    ap.add_argument(
        "--neighbour", default=os.environ.get("BENCH_NEIGHBOUR", ""), help="another program's command line"
    )
    ap.add_argument(
        "--neighbour-home",
        metavar="DIR",
        default=os.environ.get("BENCH_NEIGHBOUR_HOME", ""),
        help="a folder with its settings; a copy of it becomes its home",
    )
    ap.add_argument(
        "--nice", type=int, default=0, help="scheduling priority, -20 on a busy machine (as root)"
    )
    ap.add_argument("--strict", action="store_true", help="exit status 1 where a goal is missed")
    args = ap.parse_args()
    if not Path("/proc/self/smaps_rollup").exists():
        raise SystemExit("The benchmarks read /proc: they need Linux.")
    wanted = [part for part in args.only.split(",") if part]
    if unknown := set(wanted) - set(PARTS):
        raise SystemExit(f"There is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}.")
    rows: list[Row] = []
    with bench(args) as b:
        for part in wanted:
            print(f"measuring {part}…", file=sys.stderr, flush=True)
            rows += globals()[part](b)
    print_table(rows, neighbour=args.neighbour)
    save(rows, ROOT / "benchmarks" / "results")
    return 1 if args.strict and any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
