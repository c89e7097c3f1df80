"""Looking for a sandbox where nothing can be tried: told, never waited for."""

import subprocess
import sys

SCRIPT = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
from tui_agent.workspace.sandbox.detection import detect_sandbox
print(detect_sandbox().why_not)
"""


def test_where_no_file_can_be_written_there_is_none_and_it_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip(), done.stderr
