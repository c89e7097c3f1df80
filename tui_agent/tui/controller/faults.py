"""Faults of the screen itself: said once, written down, and kept from stopping what works.

Invariant: the log is the engine's alone, so a fault of a view stands in a file beside the sessions, 0600, without
secrets; `tui-agent bug` puts its end into the report. What is not told twice: the same view failing in the same way.
"""

import os
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Final

from tui_agent.config.paths import screen_faults
from tui_agent.folds.views import FoldFault, fault_words
from tui_agent.tui.context import AppContext
from tui_agent.tui.main_screen import Frame
from tui_agent.tui.text import clean_line

MOST_BYTES: Final = 1 << 20
"""A file of faults that has grown to this is begun anew."""
REPORT: Final = "/bug writes a report"
SHOWN: Final = {
    "state": "the session's state",
    "transcript": "the chat",
    "trace": "the trace",
    "todo": "the task list",
    "meter": "the context meter",
    "files": "the changed files",
    "agents": "the agents",
    "metrics": "the figures",
    "approvals": "the approvals",
    "jobs": "the jobs",
    "ledger": "the context's ledger",
    "branches": "the branches",
}
"""What a fold is to who looks at the screen."""


class FaultReporter:
    """Of one app, of all the sessions that it opens."""

    def __init__(self, context: AppContext, frame: Frame) -> None:
        self._context = context
        self._frame = frame
        self._told: set[tuple[str, str]] = set()
        self.first = ""
        """What stays in the status line: the view that failed first in this session; empty while all is well."""

    def begin(self) -> None:
        """Another session: its views are new."""
        self._told.clear()
        self.first = ""

    def guarded(self, what: str, work: Callable[[], object]) -> None:
        """Do this for one part of the screen; a fault in it is told and stops nothing else."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a supervisor: a part that breaks takes no other with it
            self.tell(what, error)

    def tell(self, what: str, error: Exception) -> None:
        """A part of the screen could not be drawn."""
        said = f"{_upper(what)} could not be drawn ({{}}). The rest goes on, and the log has everything. {REPORT}."
        self._tell(what, fault_words(error), said, "".join(traceback.format_exception(error)))

    def look(self) -> None:
        """Tell what the folds could not take in."""
        for fault in self._context.views.faults.values():
            self._folded(fault)

    def _folded(self, fault: FoldFault) -> None:
        what, at = SHOWN.get(fault.view, fault.view), f"event {fault.seq}, {fault.kind}"
        said = (
            f"{_upper(what)} could not take in {at} ({{}}). It goes on without it; the log has it. {REPORT}."
        )
        self._tell(what, fault.error, said, f"{at}\n{fault.detail}", key=fault.kind)

    def _tell(self, what: str, words: str, said: str, detail: str, key: str = "") -> None:
        told = (what, key or words)
        if told in self._told:
            return
        self._told.add(told)
        self.first = self.first or what
        self._context.app.say(said.format(clean_line(self._clean(words))), "error")
        self._write(what, detail)

    def write(self, what: str, error: BaseException) -> None:
        """Write down what broke beside the screen, and was said already."""
        self._write(what, "".join(traceback.format_exception(error)))

    def _clean(self, text: str) -> str:
        app = self._context.app
        # By name: only a fault needs it.
        clean: Callable[..., str] = import_module("tui_agent.session.fault_redaction").without_secrets
        return clean(text, app.environ, app.options.cwd)

    def _write(self, what: str, detail: str) -> None:
        app, config = self._context.app, self._context.config
        if config is None:
            return
        path, head = screen_faults(config.data_dir), f"{_now()} {app.session_id or '-'} {what}"
        self._frame.run_worker(
            lambda: _write(path, f"{head}\n{_unbroken(self._clean(detail))}\n\n"),
            thread=True,
            exit_on_error=False,
            name="fault file",
        )


def _upper(what: str) -> str:
    return what[:1].upper() + what[1:]


def _unbroken(text: str) -> str:
    """Without empty lines: one parts a fault from the next."""
    return "\n".join(line for line in text.splitlines() if line.strip())


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def _write(path: Path, text: str) -> None:
    """Add to the file. Where that cannot be, the line on the screen stands alone: there is nowhere else to say it."""
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path, how, 0o600)
        with os.fdopen(handle, "ab") as file:
            if file.tell() > MOST_BYTES:
                file.truncate(0)
            file.write(text.encode("utf-8", "replace"))
