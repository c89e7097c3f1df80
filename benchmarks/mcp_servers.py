"""A start with twenty MCP servers, five of them dead, in turns with one without the dead ones and one without servers.

    python -m benchmarks.mcp_servers [--rounds 5] [--nice -20]

The dead servers: one never answers, one ends at once, one ends when it is asked for its tools, one is a program that is
not there, and one an address where nothing listens. The message is sent as soon as the app takes keys, while the
servers still start. The floor is a start without servers or, for what the dead ones add, with the fifteen others.
Trust the ratios.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.report import Row, print_table, save
from benchmarks.run import BIN, ROOT, Bench, bench, median
from benchmarks.timing import command_times

STUB = str(ROOT / "tests" / "stubs" / "mcp_server.py")
LIVE = 15
ANSWER = "Hello from the mock"


def configure(home: Path, *, with_dead: bool) -> None:
    """Write a configuration with the servers into a home."""
    live: dict[str, dict[str, object]] = {
        f"live{number}": {"command": sys.executable, "args": [STUB, "good"]} for number in range(LIVE)
    }
    dead: dict[str, dict[str, object]] = {
        **{
            mode: {"command": sys.executable, "args": [STUB, mode], "timeout": 60}
            for mode in ("silent", "exits", "dies")
        },
        "missing": {"command": "no-such-program"},
        "refusing": {"url": "http://127.0.0.1:9/mcp"},
    }
    folder = home / ".config" / "tui-agent"
    folder.mkdir(parents=True)
    tables = [
        f"[mcp.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())
        for name, fields in {**live, **(dead if with_dead else {})}.items()
    ]
    (folder / "config.toml").write_text("\n".join(tables))


def start(b: Bench) -> dict:
    """Measure one start of the app and its first message; `request_ms` is the time from Enter to the first request."""
    before = len(b.requests())
    run = b.pty(b.ours(), "--eager", "--do", "default", "--mark", ANSWER, timeout=30)
    arrived = b.requests()[before]["t"]
    return {**run, "request_ms": (arrived - run["do"][0]["sent_at"]) * 1000}


def main() -> int:
    """Measure both homes in turns, and print the table."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rounds", type=int, default=5, help="starts of each kind")
    ap.add_argument(
        "--nice", type=int, default=0, help="scheduling priority, -20 on a busy machine (as root)"
    )
    args = ap.parse_args()
    args.neighbour = args.neighbour_home = ""
    with bench(args) as without:
        live, all_servers = (replace(without, home=without.home.with_name(name)) for name in ("live", "all"))
        configure(live.home, with_dead=False)
        configure(all_servers.home, with_dead=True)
        runs: dict[str, list[dict]] = {"none": [], "live": [], "all": []}
        for _ in range(args.rounds):
            for found, b in zip(runs.values(), (without, live, all_servers), strict=True):
                found.append(start(b))
        medians = {
            key: [median(found, key) for found in runs.values()]
            for key in ("first_paint_ms", "ready_ms", "request_ms")
        }
        rows = [
            Row(
                "first paint",
                "ms",
                medians["first_paint_ms"][2],
                floor=medians["first_paint_ms"][0],
                at_most_ratio=1.15,
            ),
            Row(
                "input ready", "ms", medians["ready_ms"][2], floor=medians["ready_ms"][0], at_most_ratio=1.15
            ),
            Row("first request after Enter", "ms", medians["request_ms"][2], floor=medians["request_ms"][0]),
            Row(
                "the same, by the dead ones",
                "ms",
                medians["request_ms"][2],
                floor=medians["request_ms"][1],
                at_most_ratio=1.25,
            ),
        ]
        commands = [
            [str(BIN / "tui-agent"), "run", "hello", *b.ours()[1:]] for b in (without, live, all_servers)
        ]
        headless = [
            command_times([command], rounds=3, env=b.environment(), cwd=b.workspace)[0].wall_ms / 1000
            for command, b in zip(commands, (without, live, all_servers), strict=True)
        ]
        rows += [
            Row("headless hello, after the first", "s", headless[2], floor=headless[0]),
            Row("the same, by the dead ones", "s", headless[2], floor=headless[1], at_most_ratio=1.25),
        ]
    print_table(rows, neighbour="")
    save(rows, ROOT / "benchmarks" / "results")
    return 0


if __name__ == "__main__":
    sys.exit(main())
