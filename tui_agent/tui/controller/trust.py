"""Trust in a folder's configuration files. The user is asked before any file is used.

Invariant: an engine process started before the answer does not use these files.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tui_agent.config.paths import Paths, find_paths
from tui_agent.config.project import trust
from tui_agent.config.project.trust import Project, load_projects
from tui_agent.errors import TuiAgentError
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.controller.startup import configure
from tui_agent.tui.modals.trust import Answer, TrustSheet

ENGINE_EXIT_S = 5.0
"""Time for the engine to exit by itself, in seconds."""


class TrustDialog:
    """The dialog that asks whether to trust the configuration files of the session's project."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    async def ask(self) -> bool:
        """Ask whether to trust the configuration files that are still undecided. Return False if the user quits."""
        folders, paths = await asyncio.to_thread(self._load)
        if not any(folder.trust_state == "open" for folder in folders):
            return True
        answer = await self._host.app.push_screen_wait(self._sheet(folders, paths, asking=True))
        if answer == "quit":
            self._host.app.leave()
            return False
        if answer is not None and self._save(folders, answer, paths) and answer == "trust":
            self._discard_engine()
        return True

    async def show(self) -> None:
        """Show the files and the decisions about them, and apply a new decision."""
        folders, paths = await asyncio.to_thread(self._load)
        before = [folder.trust_state for folder in folders]
        answer = await self._host.app.push_screen_wait(self._sheet(folders, paths, asking=False))
        if answer is None or answer == "quit" or not self._save(folders, answer, paths):
            return
        if (answer == "trust" or "trusted" in before) and self._host.session is not None:
            configure(self._host)
            self._host.sessions.go_to(self._host.sessions.reopen(), "reopen")

    def _load(self) -> tuple[list[Project], Paths]:
        app, folder = self._host.app, Path(self._host.work_folder)
        try:
            projects = load_projects(replace(app.options, cwd=folder), app.environ)
            return list(projects), find_paths(folder, app.environ)
        except TuiAgentError:  # An unreadable folder has no files to use; opening it reports why.
            return [], find_paths(folder.parent, app.environ)

    def _sheet(self, folders: Sequence[Project], paths: Paths, *, asking: bool) -> TrustSheet:
        listed = [folder for folder in folders if folder.trust_state == "open"] if asking else folders
        marks = {str(folder.files.folder): trust.compare_files(folder.files, paths) for folder in listed}
        sheet = TrustSheet(listed, marks, asking=asking)
        sheet.covered_prompt = self._host.questions.cover_prompt()
        return sheet

    def _save(self, folders: Sequence[Project], answer: Answer, paths: Paths) -> bool:
        """Save the answer for all files in `folders`. On failure, report the error and return False."""
        app = self._host.app
        try:
            for folder in folders:
                if answer == "forget":
                    trust.remove_decision(folder.folder, paths)
                elif folder.files.files and folder.trust_state != "trusted":
                    trust.save_decision(folder.files, "trusted" if answer == "trust" else "without", paths)
        except TuiAgentError as fault:
            app.say(str(fault), "error")
            return False
        count = format_count(sum(len(folder.files.files) for folder in folders), "file")
        notices = {
            "trust": f"Trusted {count} of this folder until one of them changes. /trust revokes this.",
            "without": f"Ignoring {count} of this folder. /trust shows them.",
            "forget": "Decision removed. You will be asked again at the next start.",
        }
        app.say(notices.get(answer, ""), "done")
        return True

    def _discard_engine(self) -> None:
        """Close the engine, which was started without the trusted files, and read the configuration again."""
        app = self._host.app
        handle, app.handle = app.handle, None
        if handle is not None:
            self._host.worker(asyncio.to_thread(handle.close, ENGINE_EXIT_S), "engine's end")
        configure(self._host)
        self._host.start_page.show_early()
