"""Controller of the start page: fills it, and keeps its list of models up to date."""

import asyncio
from pathlib import Path

from tui_agent.config.project.git_query import query_git
from tui_agent.config.project.repository import find_repository
from tui_agent.protocol.settings import PROGRAM_AGENTS
from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.panes.model_discovery import (
    Server,
    find_servers,
    first_choices,
    ready_choices,
    sessions_choice,
)
from tui_agent.tui.panes.start import UNOPENED, WATCH, StartContent
from tui_agent.tui.prompt.prompt import PLACEHOLDER
from tui_agent.tui.untrusted_text import clean_line, shorten_home


class StartPage:
    """Controls the start page: shows the page at once, and adds the results of slow checks later."""

    def __init__(self, host: SessionHost) -> None:
        self._host, self._page = host, host.chat.start
        self.local: list[Server] = []
        self._facts = ""
        self._facts_folder: Path | None = None
        """The folder whose git state the start page shows; None until the git state has been read."""
        self._has_sessions = False
        self._shown_for: tuple[bool, str] | None = None
        self._expected_model = ""
        """Name of the model with which the session is being reopened; empty at other times."""
        host.app.watch(host.app, "app_focus", self._read_facts_again, init=False)

    def show_early(self) -> None:
        """Show the start page before a session is open, if it is already certain that no model is set."""
        host, options = self._host, self._host.app.options
        config = host.config
        is_session = options.session or options.continue_latest
        is_agent = config is not None and config.agent in PROGRAM_AGENTS  # it brings its own model
        if config is None or config.model or config.base_url or is_agent or is_session:
            self._page.display = False
            host.app.reshape()
            return
        self._page.display = True
        self._show(needs=True, fault="", policy=config.policy)
        self.focus()

    def show(self) -> None:
        """Show the start page for a newly opened session."""
        self._expected_model = ""
        if self._facts_folder not in (None, Path(self._host.work_folder)):
            self._facts = ""
        self.refresh(force=True)
        self._host.chat.choose_page()
        self._read_facts_again()
        self._host.app.reshape()
        self.focus()

    def expect_model(self, name: str) -> None:
        """Update the start page while the session is being reopened with another model.

        `name`: the name of this model; empty to expect no model any more, because the session could not be opened.
        """
        before, self._expected_model = self._expected_model, name
        if name:
            self._host.editor.placeholder = PLACEHOLDER
        if name or before:
            self.refresh()

    def refresh(self, *, force: bool = False) -> None:
        """Update the start page if a model was set or became unusable.

        `force`: True to update the page in any case.
        """
        settings = self._host.state.settings
        fault = settings.model.fault if settings and not self._expected_model else ""
        now = (not self._host.has_model and not self._expected_model, fault)
        if now == self._shown_for and not force:
            return
        self._shown_for, needed = now, self._page.content.needs_model
        chosen = settings or self._host.config
        self._show(needs=now[0], fault=fault, policy=chosen.policy if chosen is not None else "")
        if needed and not now[0]:
            self._host.editor.focus()

    def show_fault(self, fault: str) -> bool:
        """Show why a session could not be opened.

        Return False if the transcript is visible or the error is already shown.
        """
        app, page, header = self._host.app, self._page, self._host.app.header
        header.model_hint = "no session"
        header.title_hint = clean_line(shorten_home(app.options.cwd))
        header.show()
        if self._host.chat.is_transcript_shown:
            return False  # The transcript stays visible; the status line shows the error.
        if app.notice.text == fault:
            app.hide_notice()  # The page shows it from now on.
        was_shown = page.display and page.content.fault == fault
        page.display = True
        self._shown_for = None
        page.set_content(
            StartContent(
                UNOPENED,
                needs_model=True,
                fault=fault,
                unopened=True,
                folder=str(app.options.cwd),
                facts=self._facts,
                policy=header.policy_hint,
            )
        )
        app.reshape()
        self.focus()
        app.show_keys()  # While the session was being opened, the footer had fewer keys.
        return not was_shown

    def offer_watching(self) -> None:
        """Add a row to watch the locked session, read-only."""
        if self._page.content.unopened:
            self._page.set_content(self._page.content._replace(choices=(*UNOPENED, WATCH)))

    @property
    def is_shown(self) -> bool:
        """True if the start page is shown in place of the transcript."""
        return bool(self._page.display)

    def choose(self, argument: str) -> None:
        """Choose the row of the start page with the number `argument`."""
        self._page.choose(argument)

    def focus(self) -> None:
        """Focus the start page, unless the user types or another screen covers the page."""
        app, start = self._host.app, self._page
        if self._host.editor.text:
            if start.has_focus:
                self._host.editor.focus()
        elif start.display and start.content.needs_model and len(app.screen_stack) == 1:
            start.focus()

    async def complete(self) -> None:
        """Find local model servers and facts about the folder, and add them to the start page."""
        _, self.local = await asyncio.gather(self._read_facts(), find_servers())
        if not self._page.content.unopened:
            self.refresh(force=True)

    def _read_facts_again(self, has_focus: bool = True) -> None:
        """Read the git state of the folder again while the start page is shown."""
        if has_focus and self.is_shown and self._facts_folder is not None:
            self._host.worker(self._read_facts(), "folder facts")

    async def _read_facts(self) -> None:
        """Read facts about the session's folder, and show them on the start page."""
        folder, config = Path(self._host.work_folder), self._host.config

        def look() -> tuple[str, bool]:
            return folder_facts(folder), config is not None and has_sessions(config.data_dir)

        self._facts, self._has_sessions = await asyncio.to_thread(look)
        self._facts_folder = folder
        if not self._page.content.unopened:
            self.refresh(force=True)

    def _show(self, *, needs: bool, fault: str, policy: str) -> None:
        host, settings = self._host, self._host.state.settings
        choices = ready_choices(host.app.key_of("help"))
        if needs:
            choices = first_choices(host.profiles, self.local, host.keys.names())
        if self._has_sessions:
            choices.append(sessions_choice(choices[-1].group))
        self._page.set_content(
            StartContent(
                choices,
                needs_model=needs,
                fault=fault,
                folder=shorten_home(Path(host.work_folder)),
                facts=self._facts,
                program=settings.program if settings is not None else "",
                unused_files=len(host.config.ignored_files) if host.config is not None else 0,
                policy=policy,
            )
        )
        host.app.reshape()
        host.app.show_keys()


def has_sessions(data_dir: Path) -> bool:
    """Return True if the data folder contains a session. This function blocks: call it in a thread."""
    try:
        return any((data_dir / "sessions").iterdir())
    except OSError:
        return False


def folder_facts(root: Path) -> str:
    """Return the git state of a folder, e.g. `git main, clean` or `no git repository`.

    This function blocks: call it in a thread.
    """
    repository = find_repository(root)
    if repository is None:
        return "no git repository"
    branch = f"git {repository.head_label}".rstrip()
    changed = query_git(
        root, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty"
    )
    if changed is None:
        return branch
    return f"{branch}, {len(changed.splitlines())} changed" if changed else f"{branch}, clean"
