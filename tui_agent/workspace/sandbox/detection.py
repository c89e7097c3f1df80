"""Whether commands can be confined here: tried once in a process, on the real thing.

Invariant: never raises; what is missing is told in one sentence. Nothing is installed or changed.
"""

import os
import platform
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from threading import Thread

from tui_agent.config.programs import find_program
from tui_agent.workspace.sandbox import bubblewrap, seatbelt
from tui_agent.workspace.sandbox.landlock import Kernel
from tui_agent.workspace.sandbox.mounts import PRIVATE, Places, system_secrets, system_settings
from tui_agent.workspace.sandbox.seccomp import program

TRY_S = 5.0


@dataclass(frozen=True, slots=True)
class Found:
    """What there is. `machine` is set where bubblewrap works, `filter` where this processor's calls are known."""

    kind: str = ""
    why_not: str = ""
    machine: bubblewrap.Machine | None = None
    filter: bytes | None = None
    landlock: int = 0
    """The kernel's ABI; 0 where it has none."""


@cache
def _begun() -> "Future[Found]":
    future: Future[Found] = Future()
    Thread(target=partial(_fill, future), name="sandbox-detection", daemon=True).start()
    return future


def _fill(future: "Future[Found]") -> None:
    try:
        future.set_result(_look())
    except OSError as fault:  # no room for a try, for one
        future.set_result(Found(why_not=f"Whether there is one cannot be tried: {fault.strerror or fault}."))
    except BaseException as fault:
        future.set_exception(fault)  # else whoever waits waits for ever
        raise


def begin() -> None:
    """Start to look, in a thread; `found` then waits less."""
    _begun()


def found() -> Found:
    """What there is, from the first look of this process. Blocks until that is over."""
    return _begun().result()


def _look() -> Found:
    system = platform.system()
    if system == "Linux":
        return _bubblewrap()
    if system == "Darwin":
        return _seatbelt()
    return Found(why_not="There is no sandbox for this system.")


def _bubblewrap() -> Found:
    name = _outside("bwrap")
    if name is None:
        return Found(why_not="bubblewrap is not installed (its program is called bwrap).")
    calls = program(platform.machine())
    said = ""
    with tempfile.TemporaryDirectory(prefix="tui-agent-try-") as folder:
        private = bubblewrap.Private(folder, folder, folder, folder, folder)
        for nested in (True, False):
            machine = bubblewrap.Machine(
                program=name,
                nested=nested,
                settings=tuple(system_settings()),
                secrets=tuple(system_secrets()),
                folders=tuple(
                    each for each in PRIVATE if Path(each).is_dir() and not Path(each).is_symlink()
                ),
            )
            said = _tried(partial(_words, machine, private, calls), calls)
            if not said:
                return Found("bubblewrap", "", machine, calls, Kernel().abi())
    return Found(why_not=f"bubblewrap cannot make a sandbox here: {said}")


def _outside(name: str) -> str | None:
    """A program of the system: what confines commands never comes from the folder that is worked in."""
    try:
        return find_program(name, Path.cwd(), os.environ)
    except OSError:  # the folder is gone
        return None


def _words(
    machine: bubblewrap.Machine, private: bubblewrap.Private, calls: bytes | None, at: tuple[int, int]
) -> list[str]:
    bare = Places((), (), (), (), ())
    return bubblewrap.arguments(machine, bare, private, "/", network=False, filtered=calls is not None, at=at)


def _tried(make: Callable[[tuple[int, int]], list[str]], calls: bytes | None) -> str:
    """What went wrong; empty where it works."""
    filter_end, filter_in = os.pipe()
    status_end, status_in = os.pipe()
    true = _outside("true") or "/bin/true"
    try:
        os.write(filter_in, calls or b"")
        os.close(filter_in)
        filter_in = -1
        tried = subprocess.run(
            [*make((filter_end, status_in)), true],
            env={"PATH": os.defpath},
            pass_fds=(filter_end, status_in),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=TRY_S,
        )
    except subprocess.TimeoutExpired:
        return f"it did not answer within {TRY_S:g} s."
    except OSError as error:
        return f"{error.strerror}."
    finally:
        for each in (filter_end, status_end, status_in, *((filter_in,) if filter_in >= 0 else ())):
            os.close(each)
    if tried.returncode == 0:
        return ""
    line = tried.stderr.decode("utf-8", "replace").strip().split("\n")[-1].removeprefix("bwrap: ")
    return f"{line or f'exit {tried.returncode}'}."


def _seatbelt() -> Found:
    if not os.access(seatbelt.PROGRAM, os.X_OK):
        return Found(why_not=f"{seatbelt.PROGRAM} is missing.")
    try:
        tried = subprocess.run(
            [seatbelt.PROGRAM, "-p", "(version 1)(allow default)", "/usr/bin/true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRY_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Found(why_not=f"{seatbelt.PROGRAM} cannot be started: {error}.")
    if tried.returncode:
        return Found(why_not=f"{seatbelt.PROGRAM} does not work here (exit {tried.returncode}).")
    return Found("seatbelt")
