"""L7: Text on standard input, without its secrets on standard output, line for line.

Invariant: every line that comes in goes out as one line, at once; nothing else is printed.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator

from tui_agent.cli.options import GROUPS, session_options
from tui_agent.ground import ground
from tui_agent.store.redact import Redactor

EXAMPLES = """\
examples:
  kubectl get secret app -o yaml | tui-agent redact
  tui-agent redact < build.log > shared.log
"""
_BEGIN, _END = "-----BEGIN", "-----END"


def configure(parser: argparse.ArgumentParser) -> None:
    """Only where the secrets' names come from."""
    GROUPS["place"](parser)


def run(arguments: argparse.Namespace) -> int:
    """Filter standard input."""
    redactor = ground(session_options(arguments, client="headless", interactive=False)).redactor
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    sys.stdout.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    for line in redacted_lines(sys.stdin, redactor):
        sys.stdout.write(line)
        sys.stdout.flush()
    return 0


def redacted_lines(lines: Iterable[str], redactor: Redactor) -> Iterator[str]:
    """The same lines without secrets; of a private key every line is one."""
    within = False
    for line in lines:
        text = line.rstrip("\n")
        end = line[len(text) :]
        begins = _BEGIN in text and "PRIVATE KEY" in text and _END not in text
        if within or begins:
            within = _END not in text
            yield f"[redacted: private key]{end}"
        else:
            yield redactor.text(text) + end
