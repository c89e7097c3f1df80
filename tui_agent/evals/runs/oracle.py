"""The oracle of a case: known-good answers of a script or a frozen session, or a plugin's function.

Invariant: an oracle's answers go through the real tools and the real policy.
"""

import json
from pathlib import Path

from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import Case
from tui_agent.evals.checks.case_functions import run_plugin_oracle
from tui_agent.evals.frozen.frozen_session import ANSWERS_FILE, FrozenReplay, write_answers
from tui_agent.evals.runs.arms_and_cells import ORACLE
from tui_agent.evals.runs.failure_attribution import Conduct
from tui_agent.ports.eval_functions import Oracle
from tui_agent.ports.session import Session
from tui_agent.protocol.envelope import Envelope


class CaseOracle:
    """The oracle of a case, for one run of the case in the folder `folder`.

    The constructor raises `ConfigError` if the case has no oracle, or if the oracle cannot be read.
    """

    def __init__(self, case: Case, folder: Path) -> None:
        if not case.has_oracle:
            raise ConfigError(f"{case.id} has no oracle.", hint="Add [[oracle]], or choose a model.")
        self._case, self._folder = case, folder
        self._workspace = folder / "repo"
        self._replay = FrozenReplay(case, self._workspace) if case.recording else None
        self._fault = ""

    @property
    def is_attended(self) -> bool:
        """True if the oracle answers permission requests and questions, as the user of a frozen session did."""
        return self._replay is not None and self._replay.events.attended

    def write_model(self) -> str:
        """Write the oracle's answers to a file, and return the name of a model that gives these answers."""
        case = self._case
        if self._replay is not None:
            path = self._folder / ANSWERS_FILE
            write_answers(case, self._workspace, path)
            return f"replay:{path}"
        answers = [answer.model_dump(mode="json", exclude_defaults=True) for answer in case.oracle]
        answers = answers or [{"text": f"The oracle {case.oracle_plugin} solved the case."}]
        path = self._folder / "oracle.yaml"  # JSON is valid YAML
        script = {"name": ORACLE, "answers": answers}
        path.write_text(json.dumps(script, ensure_ascii=False), encoding="utf-8")
        return f"scripted:{path}"

    async def solve(self, function: Oracle | None) -> None:
        """Let `function`, the oracle of a plugin, solve the case; do nothing if it is None."""
        if function is not None:
            self._fault = await run_plugin_oracle(self._case, function, self._workspace)

    def apply(self, event: Envelope, session: Session) -> None:
        """Pass an event to the replay of a frozen session. The replay answers questions to the user.

        Without a replay, do nothing.
        """
        if self._replay is not None:
            self._replay.apply(event, session)

    def begin_turn(self, turn: int) -> None:
        """Change the workspace as the user of a frozen session did before this turn. Raise `OSError` if that fails."""
        if self._replay is not None:
            self._replay.begin_turn(turn)

    def find_fault(self, conduct: Conduct) -> str:
        """Return a description of what the oracle did wrong; empty if it did nothing wrong."""
        divergence = self._replay.find_divergence() if self._replay is not None else ""
        return self._fault or divergence or conduct.broken_oracle_action(self._case)
