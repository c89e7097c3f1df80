"""Shows the agent's oldest unanswered question, and closes a question that was answered elsewhere.

Invariant: at most one question is open.
"""

import time

from tui_agent.folds.session.approvals import ApprovalsView
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.protocol.commands import AnswerQuestion, ContinueTurn, DecidePermission
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.turn import QuestionAsked
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.stored_text import text_preview
from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.controller.early_answers import EarlyAnswers
from tui_agent.tui.keys_and_commands import command_word, is_shell_line
from tui_agent.tui.modals.approval import Approval
from tui_agent.tui.modals.question import Question
from tui_agent.tui.widgets.covered_prompt import RECENT_S, CoveredPrompt


def _asking_delegate(state: SessionStateView, request: PermissionRequested) -> str:
    """Return the name of the delegate that asks for permission; empty for the main agent."""
    agents = [call.agent for call in state.open_calls if call.call_id == request.call_id]
    return next((delegate.agent for delegate in state.delegates if delegate.agent in agents), "")


def _count_following(state: SessionStateView, request: PermissionRequested) -> int:
    """Return the number of permission requests that will probably follow this one.

    A request is expected for each later call of the same agent and the same tool.
    """
    calls = state.open_calls
    index = next((i for i, call in enumerate(calls) if call.call_id == request.call_id), len(calls))
    return sum(call.name == request.tool and call.agent == calls[index].agent for call in calls[index + 1 :])


class OpenQuestions:
    """The agent's open questions, and the sheet for the oldest of them."""

    def __init__(self, host: SessionHost) -> None:
        self._app = host.app
        self._host = host
        self._open: Approval | Question | None = None
        self._newest: Approval | Question | None = None
        """The sheet that was opened last. It may be closed."""
        self._aside: set[RequestId] = set()
        """The requests that the user closed without an answer, and those whose answer is on its way to the engine."""
        self._waiting: set[RequestId] = set()
        """The unanswered requests."""
        self._view = ApprovalsView()
        self._early_answers = EarlyAnswers(host)
        host.app.drops_key = self._early_answers.take_key
        self._queued_before: frozenset[RequestId] = frozenset()
        """Ids of the messages that were queued when the sheet opened."""

    def update(self, view: ApprovalsView) -> None:
        """Open a sheet for the oldest open question in `view`; close the sheet of a question that is answered."""
        if self._open is not None:
            self._open.set_queued_message(self._queued_meanwhile())
        if view is self._view:
            return
        self._view = view
        self._waiting = waiting = {request.request_id for request in view.permissions} | {
            question.question_id for question in view.questions
        }
        if not self._aside <= waiting:
            self._aside &= waiting
            self._show_keys()
        if self._open is not None and self._open.request_id not in waiting:
            modal, self._open = self._open, None
            if modal in self._app.screen_stack:
                modal.dismiss(None)
        if isinstance(self._open, Approval):
            self._open.set_waiting(len(view.permissions))
        self._open_next()

    def _queued_meanwhile(self) -> str:
        """Return the newest message that was queued since the sheet opened; empty if there is none."""
        queue = self._host.state.queue
        is_new = bool(queue) and queue[-1].queue_id not in self._queued_before
        return " ".join(text_preview(queue[-1].text).split()) if is_new else ""

    @property
    def is_waiting(self) -> bool:
        """True if the user closed a question without an answer; Enter in an empty prompt reopens it."""
        return bool(self._aside)

    @property
    def _question_for_message(self) -> QuestionAsked | None:
        """The question that the user's next message will answer, or None."""
        if len(self._waiting) != 1 or not self._aside:
            return None
        return next(iter(self._view.questions), None)

    def enter_answers(self, text: str) -> bool:
        """Return True if Enter with this text opens or answers a waiting question."""
        if not text:
            return self.is_waiting
        is_message = not is_shell_line(text) and not command_word(text)
        return is_message and self._question_for_message is not None

    def answer(self, text: str) -> bool:
        """Answer the waiting question with a message; return False if no question takes a message."""
        question = self._question_for_message
        if question is None:
            return False
        self._host.submit(AnswerQuestion(question_id=question.question_id, answer=text))
        return True

    def reopen(self) -> bool:
        """Reopen the questions that were closed unanswered; return False if no question waits."""
        self._aside.clear()
        return self._open_next()

    def ask_again(self) -> bool:
        """Continue a turn that was waiting for an answer when the app quit. Return False if there is no such turn."""
        host = self._host
        if not host.is_connected or not host.state.open_calls or host.is_running or host.submitter.under_way:
            return False
        if host.has_model:
            host.submit(ContinueTurn())
        else:
            key = self._app.key_of("send")
            self._app.say(f"Choose a model, then press {key} to see the open question again.", "warning")
        return True

    def _open_next(self) -> bool:
        if self._open is not None:
            return False
        self._queued_before = frozenset(message.queue_id for message in self._host.state.queue)
        for permission in self._view.permissions:
            if permission.request_id not in self._aside:
                self._ask_permission(permission)
                return True
        for question in self._view.questions:
            if question.question_id not in self._aside:
                self._ask(question)
                return True
        return False

    def _ask_permission(self, request: PermissionRequested) -> None:
        state = self._host.state
        policy = state.settings.policy if state.settings else "ask"
        modal = Approval(
            request,
            policy=policy,
            workspace=state.workspace,
            waiting=len(self._view.permissions),
            read=self._host.reader.blob_text,
            granted_rules=state.granted_rules,
        )
        modal.asking_agent = _asking_delegate(state, request)
        modal.following_calls = _count_following(state, request)
        modal.covered_prompt = self.cover_prompt()
        self._open = self._newest = modal

        def submit(decision: DecidePermission | None) -> None:
            if decision is not None:
                self._early_answers.expect(request.call_id)
            self._close(modal, request.request_id)
            if decision is None:
                return
            if self._host.session is not None and self._host.session.is_closed:
                self._host.sessions.go_to(self._host.sessions.reopen(), "reopen")
                self._app.say("The engine had stopped. It is restarting and will ask again.", "warning")
            else:
                self._host.submit(decision)

        self._app.push_screen(modal, submit)

    def _ask(self, question: QuestionAsked) -> None:
        modal = Question(question, read=self._host.reader.blob_text)
        modal.covered_prompt = self.cover_prompt()
        self._open = self._newest = modal

        def submit(answer: AnswerQuestion | None) -> None:
            self._close(modal, question.question_id)
            if answer is not None:
                self._host.submit(answer)

        self._app.push_screen(modal, submit)

    def cover_prompt(self) -> CoveredPrompt:
        """Return an object that gives a new question access to the unsent message in the prompt below the question."""
        was_writing = self._newest is not None and self._newest.is_writing
        is_typing = was_writing or time.monotonic() - self._app.typed_at <= RECENT_S
        return CoveredPrompt(self._host.editor, self._stop, is_typing=is_typing)

    def _stop(self) -> None:
        """Do what Esc does in the prompt: close the menu, else leave vim's insert mode, else interrupt the turn."""
        if not self._app.prompt.close_menu() and not self._host.editor.leave_insert_mode():
            self._host.interruption.interrupt()

    def _close(self, modal: Approval | Question, request_id: RequestId) -> None:
        if self._open is modal:
            self._open = None
        # Do not open it again: its answer is on its way, or the user closed it to answer later.
        self._aside |= {request_id} & self._waiting
        if not self._open_next():
            self._show_keys()

    def _show_keys(self) -> None:
        self._app.prompt.answers_question = self._question_for_message is not None
        self._app.show_keys()
