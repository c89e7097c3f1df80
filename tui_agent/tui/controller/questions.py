"""Opens the question that waits longest, and closes it when it no longer waits.

Invariant: at most one question is open; one that was put aside stays in the status line and comes back with Esc's
counterpart, Enter on an empty prompt, or a click.
"""

import time

from tui_agent.folds.session.approvals import ApprovalsView
from tui_agent.folds.session.fold import SessionStateView
from tui_agent.protocol.commands import AnswerQuestion, DecidePermission, GoOn
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.turn import QuestionAsked
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.actions import Scope
from tui_agent.tui.controller.host import SessionHost
from tui_agent.tui.modals.approval import Approval
from tui_agent.tui.modals.question import Question
from tui_agent.tui.widgets.type_ahead import RECENT_S, TypedAhead


def asked_by(state: SessionStateView, request: PermissionRequested) -> str:
    """Which delegate asks; empty where it is the main agent."""
    agents = [one.agent for one in state.open_calls if one.call_id == request.call_id]
    return next((one.agent for one in state.delegates if one.agent in agents), "")


def following(state: SessionStateView, request: PermissionRequested) -> int:
    """How many calls of the same tool stand behind this one in the same answer: they are asked about after it."""
    calls = state.open_calls
    at = next((at for at, one in enumerate(calls) if one.call_id == request.call_id), len(calls))
    return sum(one.name == request.tool and one.agent == calls[at].agent for one in calls[at + 1 :])


class OpenQuestions:
    """The modal that is open, by its request."""

    def __init__(self, host: SessionHost) -> None:
        self._app = host.app
        self._host = host
        self._open: Approval | Question | None = None
        self._aside: set[RequestId] = set()
        self._view = ApprovalsView()

    @property
    def scope(self) -> Scope | None:
        """Whose keys apply while something is asked."""
        if isinstance(self._open, Approval):
            if self._open.typing:
                return "rule" if self._open.chosen == "a" else "reason"
            return "approval"
        return "question" if self._open is not None else None

    @property
    def without(self) -> frozenset[str]:
        """Names of keys of that scope that do nothing now."""
        return self._open.without if isinstance(self._open, Approval) else frozenset()

    def look(self, view: ApprovalsView) -> None:
        """The session's open questions are these now."""
        if view is self._view:
            return
        self._view = view
        waiting = {one.request_id for one in view.permissions} | {one.question_id for one in view.questions}
        self._aside &= waiting
        if self._open is not None and self._open.request_id not in waiting:
            modal, self._open = self._open, None
            if modal in self._app.screen_stack:
                modal.dismiss(None)
        if isinstance(self._open, Approval):
            self._open.set_waiting(len(view.permissions))
        self._open_next()

    def again(self) -> bool:
        """Show what was put aside; False where nothing waits."""
        self._aside.clear()
        return self._open_next()

    def ask_again(self) -> bool:
        """Let the turn go on in which something was asked when the program ended; False where there is none."""
        host = self._host
        if not host.connected or not host.state.open_calls or host.running or host.submitter.under_way:
            return False
        if host.has_model:
            host.submit(GoOn())
        else:
            sends = self._app.key_map.key_of("send")
            self._app.say(
                f"Choose a model; then {sends} on the empty line asks again what was open.", "warning"
            )
        return True

    def _open_next(self) -> bool:
        if self._open is not None:
            return False
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
            lambda: self._app.looks,
            request,
            policy=policy,
            workspace=state.workspace,
            waiting=len(self._view.permissions),
            blob=self._host.reader.blob_text,
            granted=state.granted,
        )
        modal.who = asked_by(state, request)
        modal.follow = following(state, request)
        modal.keys_changed = self._app.show_keys
        modal.spare = self._host.frame.prompt.editor.post_message
        modal.ahead = self.ahead()
        self._open = modal

        def decided(decision: DecidePermission | None) -> None:
            self._close(modal, request.request_id, answered=decision is not None)
            if decision is None:
                return
            if self._host.session is not None and self._host.session.closed:
                self._host.sessions.go_to(self._host.sessions.reopen(), "reopen")
                self._app.say("The engine's process had ended: you are asked again.", "warning")
            else:
                self._host.submit(decision)

        self._app.push_screen(modal, decided)
        self._app.show_keys()

    def _ask(self, question: QuestionAsked) -> None:
        modal = Question(lambda: self._app.looks, question, blob=self._host.reader.blob_text)
        modal.ahead = self.ahead()
        self._open = modal

        def answered(answer: AnswerQuestion | None) -> None:
            self._close(modal, question.question_id, answered=answer is not None)
            if answer is not None:
                self._host.submit(answer)

        self._app.push_screen(modal, answered)
        self._app.show_keys()

    def ahead(self) -> TypedAhead | None:
        """Where the keys go of someone who is writing at this moment."""
        if time.monotonic() - self._host.frame.typed_at > RECENT_S:
            return None
        editor = self._host.frame.prompt.editor
        return TypedAhead(editor.post_message, midway=bool(editor.text.strip()) and not editor.untouched)

    def _close(self, modal: Approval | Question, request_id: RequestId, *, answered: bool) -> None:
        if self._open is modal:
            self._open = None
        # Asked once: an answer is on its way, and what was put aside waits for its user.
        self._aside.add(request_id)
        if not self._open_next():
            self._app.show_keys()
