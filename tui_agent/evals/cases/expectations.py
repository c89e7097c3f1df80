"""The check of a case's `expected`: assertions about files and tools. `eval freeze` proposes such assertions."""

from collections.abc import Mapping
from pathlib import Path

from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import FORMAT_HINT, Case
from tui_agent.protocol.events.eval import VerifierFinished

EXPECTED = "expected"
"""Name of this check in results, in place of a verifier's name."""


def check_expected(case: Case, workspace: Path, used_tools: Mapping[str, int]) -> VerifierFinished:
    """Compare the workspace and the tools in `used_tools` with the case's `expected`.

    Raises `ConfigError` if a file of the case cannot be read.
    """
    assert case.expected is not None
    missed = [f"no call of {tool} succeeded" for tool in case.expected.tools if not used_tools.get(tool)]
    for path, name in case.expected.files.items():
        try:
            wanted = (case.folder / name).read_bytes() if name else None
        except OSError as error:
            raise ConfigError(
                f"{case.id}, at expected.files: {name} cannot be read: {error.strerror}.", hint=FORMAT_HINT
            ) from error
        file = workspace / path
        content = file.read_bytes() if file.is_file() else None
        if content != wanted:
            what = "is missing" if content is None else f"differs from {name}" if name else "should not exist"
            missed.append(f"{path} {what}")
    return VerifierFinished(verifier=EXPECTED, reward=float(not missed), output="; ".join(missed))
