"""The results of a case's checks, and whether the agent's work passed."""

from tui_agent.evals.checks.tests_and_verifier import describe_hang
from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.events.eval import TestFinished, VerifierFinished

EXPECTED = "expected"
"""The verifier's name in results if a case's `expected` was checked."""


@dataclass(frozen=True, slots=True)
class CheckResults:
    """The results of the tests, the verifier and the expectations of one case.

    `category`, `fault`: if a check gave no result, the kind and the reason of the fault; otherwise empty.
    """

    tests: tuple[TestFinished, ...] = ()
    verifier: VerifierFinished | None = None
    category: str = ""
    fault: str = ""
    decides_by_reward: bool = False
    """True for a Harbor task: the reward decides, not the exit status of the tests."""

    @property
    def tests_passed(self) -> bool | None:
        """True if all tests passed; None if there are no tests or only the reward decides."""
        if not self.tests or self.decides_by_reward:
            return None
        return all(test.exit_code == 0 for test in self.tests)

    @property
    def verifier_passed(self) -> bool | None:
        """True if the reward is 1 or more; None if there is no verifier."""
        return None if self.verifier is None else self.verifier.reward >= 1 and not self.verifier.fault

    @property
    def verifier_result(self) -> str:
        """A phrase that says why the verifier did not pass. Use it only if the reward is below 1."""
        verifier = self.verifier
        if verifier is not None and verifier.verifier == EXPECTED and isinstance(verifier.output, str):
            return verifier.output
        if verifier is not None and 0 < verifier.reward < 1:
            return f"the verifier gave the reward {verifier.reward:g}; 1 is needed to pass"
        return (self._hang if self.decides_by_reward else "") or "the verifier failed"

    @property
    def tests_result(self) -> str:
        """If tests failed, a phrase about the failure or about a reached time limit."""
        return self._hang or "the tests failed"

    @property
    def _hang(self) -> str:
        return next(filter(None, map(describe_hang, self.tests)), "")

    @property
    def returncode(self) -> int | None:
        """The exit status of the first failed test command, or 0 if all passed; None if there are no tests."""
        if not self.tests:
            return None
        return next((test.exit_code for test in self.tests if test.exit_code != 0), 0)

    @property
    def passed(self) -> bool:
        """True if every check gave a result and passed."""
        return not self.fault and self.tests_passed is not False and self.verifier_passed is not False


def with_fault(results: CheckResults) -> CheckResults:
    """Return the results with `category` and `fault` set to those of the first check that gave no result.

    If every check gave a result, return the results unchanged.
    """
    stopped = next((test for test in results.tests if test.exit_code is None), None)
    if stopped is not None and not results.decides_by_reward:
        fault = f"the test command {stopped.failures[0]}"
        return CheckResults(results.tests, results.verifier, "environment", fault)
    verifier = results.verifier
    if verifier is not None and verifier.fault:
        fault = f"{verifier.verifier}: {verifier.fault}"
        return CheckResults(results.tests, verifier, "verifier", fault, results.decides_by_reward)
    return results
