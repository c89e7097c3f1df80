"""The app's side of trust in a folder's own files: asked before anything of them is used, shown again by `/trust`.

Invariant: the engine that was started ahead uses none of them; where they are trusted now, another one is started in its
place before a session is open.
"""

import asyncio
from collections.abc import Sequence

from tui_agent.config import trust
from tui_agent.config.paths import Paths, find
from tui_agent.config.trust import Project, projects
from tui_agent.errors import TuiAgentError
from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.controller.host import SessionHost
from tui_agent.tui.modals.trust import Answer, TrustSheet

ENGINE_ENDS_S = 5.0


class TrustDialog:
    """What becomes of the files of the folder that the app works in."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    async def ask(self) -> bool:
        """Before the first session: ask where nothing was decided. False where the user leaves."""
        looked, paths = await asyncio.to_thread(self._look)
        if not any(one.standing == "open" for one in looked):
            return True
        answer = await self._host.app.push_screen_wait(self._sheet(looked, paths, asking=True))
        if answer == "quit":
            self._host.app.leave()
            return False
        if answer is not None and self._keep(looked, answer, paths) and answer == "trust":
            self._start_again()
        return True

    def show(self) -> None:
        """What there is, and what was decided: `/trust`."""
        self._host.worker(self._show(), "trust")

    async def _show(self) -> None:
        looked, paths = await asyncio.to_thread(self._look)
        before = [one.standing for one in looked]
        answer = await self._host.app.push_screen_wait(self._sheet(looked, paths, asking=False))
        if answer is None or answer == "quit" or not self._keep(looked, answer, paths):
            return
        used = answer == "trust" or "trusted" in before
        if used and self._host.session is not None:
            self._host.configure()
            self._host.sessions.go_to(self._host.sessions.reopen(), "trust")

    def _look(self) -> tuple[list[Project], Paths]:
        app = self._host.app
        try:
            return list(projects(app.options, app.environ)), find(app.options.cwd, app.environ)
        except TuiAgentError:  # a folder that cannot be read holds nothing to use; opening it says why
            return [], find(app.options.cwd.parent, app.environ)

    def _sheet(self, looked: Sequence[Project], paths: Paths, *, asking: bool) -> TrustSheet:
        wanted = [one for one in looked if one.standing == "open"] if asking else looked
        marks = {str(one.files.folder): trust.marks(one.files, paths) for one in wanted}
        sheet = TrustSheet(lambda: self._host.app.looks, wanted, marks, asking=asking)
        sheet.ahead = self._host.questions.ahead()
        return sheet

    def _keep(self, looked: Sequence[Project], answer: Answer, paths: Paths) -> bool:
        """Write down the answer, about what was shown; False where that failed, which is said."""
        app = self._host.app
        try:
            for one in looked:
                if answer == "forget":
                    trust.forget(one.folder, paths)
                elif one.files.files and one.standing != "trusted":
                    trust.decide(one.files, "trusted" if answer == "trust" else "without", paths)
        except TuiAgentError as fault:
            app.say(str(fault), "error")
            return False
        count = counted(sum(len(one.files.files) for one in looked), "file")
        said = {
            "trust": f"{count} of this folder in use until one changes. /trust takes it back.",
            "without": f"{count} of this folder left aside. /trust shows them.",
            "forget": "Taken back. The next start asks again.",
        }
        app.say(said.get(answer, ""), "done")
        return True

    def _start_again(self) -> None:
        """Let the engine go that was started without these files, and read the configuration with them."""
        app = self._host.app
        handle, app.handle = app.handle, None
        if handle is not None:
            self._host.worker(asyncio.to_thread(handle.close, ENGINE_ENDS_S), "engine's end")
        self._host.configure()
        self._host.start_page.early()
