"""Reports errors in parts of the screen. Each error is reported once.

Invariant: errors go to a private file (with secrets redacted) and not to the log, because only the engine writes the log.
"""

import os
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Final

from tui_agent.config.paths import screen_error_log
from tui_agent.folds.screen_folds import describe_error
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.untrusted_text import clean_line

MAX_BYTES: Final = 1 << 20
"""Maximum size of a fault file in bytes. A larger file is emptied before the next error."""
REPORT: Final = "/bug writes a report"
PARTS: Final = {
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
"""Maps a view to its name in messages to the user."""


class FaultReporter:
    """Reports errors that occur while the app draws its screen."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._app = context.app
        self._reported: set[tuple[str, str]] = set()
        self.first = ""
        """The name of the view that failed first in this session, or empty."""

    def begin(self) -> None:
        """Forget the reported errors, because another session is open."""
        self._reported.clear()
        self.first = ""

    def run_guarded(self, part: str, work: Callable[[], object]) -> None:
        """Run `work`; report an error under the name `part` instead of raising it."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a supervisor: an error must not stop the other parts
            self.report(part, error)

    def report(self, part: str, error: Exception) -> None:
        """Report that a part of the screen, such as a pane, could not be drawn."""
        notice = f"could not be drawn ({{}}). Everything else works, and the log is complete. {REPORT}."
        self._report(part, describe_error(error), notice, "".join(traceback.format_exception(error)))

    def report_folds(self) -> None:
        """Report each event that a view could not apply."""
        for fault in self._context.views.faults.values():
            part, event = PARTS.get(fault.view, fault.view), f"event {fault.seq}, {fault.kind}"
            notice = f"could not use {event} ({{}}) and skipped it; the log still contains it. {REPORT}."
            self._report(part, fault.error, notice, f"{event}\n{fault.detail}", key=fault.kind)

    def _report(self, part: str, error: str, notice: str, detail: str, key: str = "") -> None:
        kind = (part, key or error)
        if kind in self._reported:
            return
        self._reported.add(kind)
        self.first = self.first or part
        subject = part[:1].upper() + part[1:]
        self._app.say(f"{subject} {notice.format(clean_line(self._clean(error)))}", "error")
        self._write(part, detail)

    def write(self, part: str, error: BaseException) -> None:
        """Write an error to the fault file without showing a notice."""
        self._write(part, "".join(traceback.format_exception(error)))

    def _clean(self, text: str) -> str:
        # Imported here, since only an error needs this module.
        clean: Callable[..., str] = import_module("tui_agent.session.fault_redaction").redact_text
        return clean(text, self._app.environ, self._app.options.cwd)

    def _write(self, part: str, detail: str) -> None:
        config = self._context.config
        if config is None:
            return
        now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        path, head = screen_error_log(config.data_dir), f"{now} {self._app.session_id or '-'} {part}"
        self._app.run_worker(
            lambda: _append(path, f"{head}\n{_drop_empty_lines(self._clean(detail))}\n\n"),
            thread=True,
            exit_on_error=False,
            name="fault file",
        )


def _drop_empty_lines(text: str) -> str:
    """Remove empty lines from an error's text, because an empty line ends an error in the fault file."""
    return "\n".join(line for line in text.splitlines() if line.strip())


def _append(path: Path, text: str) -> None:
    """Append text to a file; ignore errors."""
    # The screen already shows a notice about the fault.
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path, flags, 0o600)
        with os.fdopen(handle, "ab") as file:
            if file.tell() > MAX_BYTES:
                file.truncate(0)
            file.write(text.encode("utf-8", "replace"))
