"""Detection of sandbox support: each process tries once to run a program in a sandbox.

Invariant: the detection never raises and never changes anything.
"""

import os
import platform
import subprocess
import tempfile
from concurrent.futures import Future
from functools import cache, partial
from pathlib import Path
from threading import Thread

from tui_agent.config.system_programs import find_program
from tui_agent.fast_dataclass import dataclass
from tui_agent.units import format_time_limit
from tui_agent.workspace.sandbox import bubblewrap, seatbelt
from tui_agent.workspace.sandbox.landlock import Kernel
from tui_agent.workspace.sandbox.mounts import (
    PRIVATE_FOLDERS,
    Mounts,
    list_system_secrets,
    list_system_settings,
)
from tui_agent.workspace.sandbox.seccomp import build_filter

TRY_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class SandboxSupport:
    """The kind of sandbox on this machine, or the reason why there is none.

    - `machine`: set if bubblewrap works
    - `filter`: set if the processor's system call numbers are known
    """

    kind: str = ""
    why_not: str = ""
    machine: bubblewrap.Machine | None = None
    filter: bytes | None = None
    landlock_abi: int = 0
    """Version (ABI) of Landlock in the kernel; 0 without Landlock."""


@cache
def _detection() -> "Future[SandboxSupport]":
    future: Future[SandboxSupport] = Future()
    Thread(target=partial(_run_detection, future), name="sandbox-detection", daemon=True).start()
    return future


def _run_detection(future: "Future[SandboxSupport]") -> None:
    try:
        future.set_result(_detect())
    except OSError as fault:  # no disk space, for example
        future.set_result(
            SandboxSupport(why_not=f"The sandbox could not be tested: {fault.strerror or fault}.")
        )
    except BaseException as fault:
        future.set_exception(fault)  # otherwise callers of `detect_sandbox` would wait forever
        raise


def start_detection() -> None:
    """Start the detection of sandbox support in a thread, so that `detect_sandbox` waits less."""
    _detection()


def detect_sandbox() -> SandboxSupport:
    """Return this machine's sandbox support, detected once per process. Blocks: call it in a thread."""
    return _detection().result()


def _detect() -> SandboxSupport:
    system = platform.system()
    if system == "Linux":
        return _detect_bubblewrap()
    if system == "Darwin":
        return _detect_seatbelt()
    return SandboxSupport(why_not="This system is not supported.")


def _detect_bubblewrap() -> SandboxSupport:
    name = _find_system_program("bwrap")
    if name is None:
        return SandboxSupport(why_not="bubblewrap is not installed (program: bwrap).")
    calls = build_filter(platform.machine())
    problem = ""
    with tempfile.TemporaryDirectory(prefix="tui-agent-try-") as folder:
        private = bubblewrap.PrivateFolders(folder, folder, folder, folder, folder)
        for nested in (True, False):  # older versions of bubblewrap cannot forbid nested user namespaces
            machine = bubblewrap.Machine(
                program=name,
                can_forbid_nesting=nested,
                settings=tuple(list_system_settings()),
                secrets=tuple(list_system_secrets()),
                folders=tuple(
                    path for path in PRIVATE_FOLDERS if Path(path).is_dir() and not Path(path).is_symlink()
                ),
            )
            problem = _try_sandbox(machine, private, calls)
            if not problem:
                return SandboxSupport("bubblewrap", "", machine, calls, Kernel().abi())
    return SandboxSupport(why_not=f"bubblewrap cannot create a sandbox here: {problem}")


def _find_system_program(name: str) -> str | None:
    try:
        return find_program(name, Path.cwd(), os.environ)
    except OSError:  # the current folder is gone
        return None


def _try_sandbox(machine: bubblewrap.Machine, private: bubblewrap.PrivateFolders, calls: bytes | None) -> str:
    no_mounts = Mounts((), (), (), (), ())
    true = _find_system_program("true") or "/bin/true"
    try:
        with bubblewrap.open_descriptors(calls) as (descriptors, _):
            filter_number, status_number = bubblewrap.DESCRIPTORS
            options = bubblewrap.bubblewrap_arguments(
                machine,
                no_mounts,
                private,
                "/",
                network=False,
                has_filter=calls is not None,
                descriptors=(descriptors.get(filter_number, -1), descriptors[status_number]),
            )
            completed = subprocess.run(
                [*options, true],
                env={"PATH": os.defpath},
                pass_fds=tuple(descriptors.values()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=TRY_TIMEOUT_S,
            )
    except subprocess.TimeoutExpired:
        return f"it did not answer within {format_time_limit(TRY_TIMEOUT_S)}."
    except OSError as error:
        return f"{error.strerror}."
    if completed.returncode == 0:
        return ""
    line = completed.stderr.decode("utf-8", "replace").strip().split("\n")[-1].removeprefix("bwrap: ")
    return f"{line or f'exit {completed.returncode}'}."


def _detect_seatbelt() -> SandboxSupport:
    if not os.access(seatbelt.PROGRAM, os.X_OK):
        return SandboxSupport(why_not=f"{seatbelt.PROGRAM} is missing.")
    try:
        completed = subprocess.run(
            [seatbelt.PROGRAM, "-p", "(version 1)(allow default)", "/usr/bin/true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRY_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return SandboxSupport(why_not=f"{seatbelt.PROGRAM} cannot be started: {error}.")
    if completed.returncode:
        return SandboxSupport(why_not=f"{seatbelt.PROGRAM} does not work here (exit {completed.returncode}).")
    return SandboxSupport("seatbelt")
