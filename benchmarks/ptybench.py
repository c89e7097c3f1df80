"""Measures a full-screen terminal program from outside, in a pty with a small text-only emulator (Linux, stdlib only).

    python -m benchmarks.ptybench [options] -- COMMAND [ARG ...]

One run starts the program and measures, as asked:
  first_paint, ready   ms from start until something shows / until a typed probe is echoed (the probe is retried)
  key / key_streaming  ms from one keystroke to the arrival of the output that shows it: median and 95th percentile
  stream, tools        a prompt "go scenario-NAME" is sent to mock_llm.py; ends when its end mark shows
  cpu                  user+sys seconds of the whole process tree (children that died and were waited for included)
  app_cpu              the same of the started process alone
  pss / peak_rss       MiB: proportional set size at the end of a phase; sum of the processes' peaks; app_pss as app_cpu
  bytes, clears, frames   written to the terminal; full-screen erases; synchronized updates (mode 2026)
Options: see -h. Results: one JSON object on stdout. --on 'TEXT=>KEYS' answers start-up questions: each time TEXT is
newly on screen, KEYS (\\r, \\x1b... are unescaped) are sent. Output is read by a thread that stamps arrival times,
so the emulator's own speed does not enter the latencies.
"""

import argparse
import collections
import contextlib
import ctypes
import fcntl
import json
import os
import pty
import random
import re
import signal
import statistics
import struct
import sys
import termios
import threading
import time
from pathlib import Path

from benchmarks.screen import Screen


def tree():
    """Return (pid, stat fields) of all processes below this one, including orphans (this process is a subreaper)."""
    kids, todo, found = collections.defaultdict(list), [os.getpid()], []
    for d in os.listdir("/proc"):
        if d.isdigit():
            try:
                stat = Path(f"/proc/{d}/stat").read_text()
            except OSError:
                continue
            f = stat[stat.rindex(")") + 2 :].split()
            kids[int(f[1])].append((int(d), f))
    while todo:
        for pid, f in kids[todo.pop()]:
            found.append((pid, f))
            todo.append(pid)
    return found


def cpu():
    return sum(sum(map(int, f[11:15])) for _, f in tree()) / os.sysconf("SC_CLK_TCK")


def cpu_of(pid):
    """Return the CPU seconds of one process alone."""
    return sum(sum(map(int, f[11:13])) for each, f in tree() if each == pid) / os.sysconf("SC_CLK_TCK")


def pss_of(pid):
    """Return the proportional set size of one process in MiB; 0 if the process has ended."""
    try:
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    except OSError:
        return 0.0
    return round(int(found[1]) / 1024, 1) if found else 0.0


def memory():
    pss = peak = 0
    for pid, _ in tree():
        try:
            pss += int(re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])
            peak += int(re.search(r"^VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1])
        except (OSError, TypeError):
            pass
    return round(pss / 1024, 1), round(peak / 1024, 1)


def prioritise(nice):
    """Raise the priority of this process and, if the kernel supports that, of its session. Needs privileges."""
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(nice))


class Tui:
    def __init__(self, command, cols=120, rows=40, on=(), cwd=None, nice=0):
        self.screen, self.queue, self.bytes, self.on, self.closed = (
            Screen(cols, rows),
            collections.deque(),
            0,
            list(on),
            False,
        )
        self.seen, self.painted, self.event = set(), None, threading.Event()
        self.t0 = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            if cwd:
                os.chdir(cwd)
            if nice:
                prioritise(nice)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, cols * 10, rows * 20))
            try:
                os.execvp(command[0], command)
            finally:
                os._exit(127)
        threading.Thread(target=self.reader, daemon=True).start()

    def reader(self):
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except OSError:
                data = b""
            if not data:
                self.closed = True
                self.event.set()
                return
            self.queue.append((time.monotonic(), data))
            self.event.set()

    def send(self, keys):
        os.write(self.fd, keys.encode() if isinstance(keys, str) else keys)

    def wait(self, seen, timeout):
        """Feed the emulator until seen() is true; return the arrival time of the output that made it true, or None."""
        end = time.monotonic() + timeout
        if seen():
            return time.monotonic()
        while True:
            while self.queue:
                t, data = self.queue.popleft()
                self.bytes += len(data)
                answers = self.screen.feed(data)
                if answers:
                    self.send(answers)
                if not self.painted and any(c != " " for r in self.screen.rows for c in r):
                    self.painted = t
                if self.on:
                    self.answer()
                if seen():
                    return t
                if time.monotonic() > end:
                    return None
            left = end - time.monotonic()
            if left <= 0 or (self.closed and not self.queue):
                return None
            self.event.wait(min(left, 0.05))
            self.event.clear()

    def answer(self):
        now = "\n".join(self.screen.text())
        for text, keys in self.on:
            if text in now:
                if text not in self.seen:
                    self.seen.add(text)
                    threading.Timer(0.4, self.send, [keys]).start()
            else:
                self.seen.discard(text)

    def shows(self, text):
        return lambda: any(text in r for r in self.screen.text())

    def settle(self, quiet=1.0, timeout=30):
        """Wait until all processes use under 10 % of a core for `quiet` seconds, or until the timeout."""
        end = time.monotonic() + timeout
        while time.monotonic() < end and not self.closed:
            before = cpu()
            self.wait(lambda: False, quiet)
            if cpu() - before < 0.1 * quiet:
                return

    def raw(self):
        try:
            return not termios.tcgetattr(self.fd)[3] & termios.ECHO
        except termios.error:
            return False

    def ready(self, timeout):
        """Type characters until one is echoed; return (arrival time, number of characters typed)."""
        end, typed, probes = time.monotonic() + timeout, 0, []
        while not (self.raw() and self.painted) and time.monotonic() < end:
            self.wait(lambda: False, 0.005)
        for i in range(10000):
            if time.monotonic() > end or self.closed:
                return None, typed
            if self.seen and not getattr(self, "stilled", False):
                self.wait(lambda: False, 1.0)
                self.stilled = True
            probes.append("zx" + "jkvwqg"[i % 6] + "hbf"[i // 6 % 3])
            self.send(probes[-1])
            typed += 4
            t = self.wait(lambda: any(p in r for r in self.screen.text() for p in probes), 0.25)
            if t:
                return t, typed
        return None

    def keys(self, count, erase="\x7f"):
        """Types COUNT characters, each after the one before shows -> latencies in ms."""
        rnd, out, lost, line = random.Random(3), [], 0, ""
        for _ in range(count):
            if len(line) >= 20:
                for _ in line:
                    self.send(erase)
                    self.wait(lambda: False, 0.03)
                self.wait(lambda: False, 0.4)
                line = ""
            line += rnd.choice([c for c in "qzxjkvwbph" if not line.endswith(c)])
            t = time.monotonic()
            self.send(line[-1])
            seen = self.wait(self.shows(line), 3)
            if seen:
                out.append((seen - t) * 1000)
            else:
                lost += 1
                self.send(erase * len(line))
                line = ""
                self.wait(lambda: False, 0.5)
            self.wait(lambda: False, 0.03 + rnd.random() * 0.05)
            if lost > 5:
                break
        for _ in line:
            self.send(erase)
            self.wait(lambda: False, 0.03)
        return out, lost

    def prompt(self, text, enter="\r"):
        for c in text:
            self.send(c)
            self.wait(lambda: False, 0.03)
        self.wait(lambda: False, 0.6)
        self.send(enter)
        return time.monotonic()

    def close(self, keys=()):
        for pid, _ in tree():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + 2
        while tree() and time.monotonic() < end:
            self.queue.clear()
            time.sleep(0.05)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                break
        for pid, _ in tree():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def spread(ms):
    if not ms:
        return None
    ms = sorted(ms)
    return {
        "median": round(statistics.median(ms), 1),
        "p95": round(ms[int(len(ms) * 0.95 - 0.01)], 1),
        "n": len(ms),
    }


def unescape(s):
    return s.encode().decode("unicode_escape")


class Run:
    """One start of a program. Each phase writes its figures to `out`."""

    def __init__(self, tui, args):
        self.tui, self.args, self.out = tui, args, {}
        self.enter, self.erase = unescape(args.enter), unescape(args.erase)

    def dump(self, phase):
        if self.args.dump:
            with Path(self.args.dump).open("a") as file:
                print(f"--- {phase}", *(r.rstrip() for r in self.tui.screen.text()), sep="\n", file=file)

    def pause(self, seconds=0.6):
        self.tui.wait(lambda: False, seconds)

    def start(self):
        """Measure first paint, input ready, start-up work and memory; return True if input is ready."""
        tui, out = self.tui, self.out
        at, typed = tui.ready(self.args.timeout)
        out["first_paint_ms"] = tui.painted and round((tui.painted - tui.t0) * 1000)
        out["ready_ms"] = at and round((at - tui.t0) * 1000)
        out["cpu_at_ready_s"] = round(cpu(), 2)
        out["app_cpu_at_ready_s"] = round(cpu_of(tui.pid), 2)
        self.dump("ready")
        if not at:
            return False
        if self.args.show:
            shown = tui.wait(tui.shows(self.args.show), self.args.timeout)
            out["shown_ms"] = shown and round((max(shown, at) - tui.t0) * 1000)
        if not self.args.eager:
            tui.settle()
        out["cpu_startup_s"] = round(cpu(), 2)
        for _ in range(typed):
            tui.send(self.erase)
            self.pause(0.03)
        self.pause()
        out["pss_mb"], out["peak_rss_mb"] = memory()
        out["app_pss_mb"], out["processes"] = pss_of(tui.pid), len(tree())
        return True

    def keys(self):
        ms, self.out["key_lost"] = self.tui.keys(self.args.keys, self.erase)
        self.out["key_ms"] = spread(ms)

    def idle(self, seconds):
        self.tui.settle()
        before, size = cpu(), self.tui.bytes
        self.pause(seconds)
        self.out["idle_cpu_pct"] = round((cpu() - before) / seconds * 100, 2)
        self.out["idle_bytes"] = self.tui.bytes - size

    def do(self, name):
        """Run one scenario from its prompt to its end mark."""
        tui, screen = self.tui, self.tui.screen
        self.pause()
        start = tui.prompt("go scenario-" + name, self.enter)
        before, app_before, size = cpu(), cpu_of(tui.pid), tui.bytes
        clears, frames = screen.clears, screen.frames
        at = tui.wait(tui.shows(self.args.mark.replace("%s", name.upper())), self.args.timeout)
        one = {"name": name, "sent_at": start, "wall_s": at and round(at - start, 2)}
        self.out.setdefault("do", []).append(one)
        tui.settle()
        self.dump(name)
        one["cpu_s"] = round(cpu() - before, 2)
        one["app_cpu_s"] = round(cpu_of(tui.pid) - app_before, 2)
        one["bytes"] = tui.bytes - size
        one["clears"], one["frames"] = screen.clears - clears, screen.frames - frames
        one["pss_mb"], one["peak_rss_mb"] = memory()
        one["app_pss_mb"] = pss_of(tui.pid)
        if self.args.keys and at:
            one["key_ms"] = spread(tui.keys(self.args.keys, self.erase)[0])

    def slow(self, name):
        """Measure keys while a reply streams."""
        tui, out = self.tui, self.out
        self.pause()
        tui.prompt("go scenario-" + name, self.enter)
        self.pause(3)
        before, size, start = cpu(), tui.bytes, time.monotonic()
        self.pause(5)
        took = time.monotonic() - start
        out["slow_cpu_pct"] = round((cpu() - before) / took * 100, 1)
        out["slow_bytes_per_s"] = round((tui.bytes - size) / took)
        ms, out["key_streaming_lost"] = tui.keys(self.args.keys, self.erase)
        out["key_streaming_ms"] = spread(ms)
        self.dump("slow")

    def measure(self):
        if self.start():
            if self.args.keys:
                self.keys()
            if self.args.idle:
                self.idle(self.args.idle)
            for name in self.args.do:
                self.do(name)
            if self.args.slow:
                self.slow(self.args.slow)
        self.out["bytes"] = self.tui.bytes


def arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = ap.add_argument
    add("--nice", type=int, default=0, help="scheduling priority, -20 on a busy machine (as root)")
    add("--size", default="120x40")
    add("--cwd")
    add("--env", action="append", default=[], metavar="K=V")
    add("--on", action="append", default=[], metavar="TEXT=>KEYS")
    add("--timeout", type=float, default=60, help="seconds for start-up, and for one reply")
    add("--keys", type=int, default=0, metavar="N", help="key latency, N keystrokes")
    add("--eager", action="store_true", help="type at once, do not wait for start-up work to settle")
    add("--idle", type=float, default=0, metavar="S", help="CPU over S idle seconds")
    add(
        "--do",
        action="append",
        default=[],
        metavar="NAME",
        help="send scenario NAME, wait for its end; then --keys again",
    )
    add("--slow", metavar="NAME", help="send scenario NAME and type --keys meanwhile")
    add("--mark", default="QXZ%sQXZ", help="end mark; %%s is the scenario name")
    add(
        "--show",
        metavar="TEXT",
        help="ms from start until TEXT stands on the screen, no sooner than input is ready",
    )
    add("--enter", default="\\r")
    add("--erase", default="\\x7f")
    add("--dump", metavar="FILE", help="append the screen at the end of each phase")
    add("command", nargs="+")
    return ap.parse_args()


def main():
    args = arguments()
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    sys.setswitchinterval(0.0002)
    os.environ.update(
        {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    )
    for name in ("NO_COLOR", "CI"):
        os.environ.pop(name, None)
    os.environ.update(each.split("=", 1) for each in args.env)
    if args.nice:
        prioritise(args.nice)
    cols, rows = map(int, args.size.split("x"))
    answers = [(seen, unescape(keys)) for seen, keys in (each.split("=>", 1) for each in args.on)]
    run = Run(Tui(args.command, cols, rows, answers, args.cwd, args.nice), args)
    try:
        run.measure()
    finally:
        run.dump("end")
        run.tui.close()
    print(json.dumps(run.out))


if __name__ == "__main__":
    main()
