"""Types of identifiers.

Invariant: only `ports.clock.Ids` creates ids.
"""

import re
from typing import NewType

SessionId = NewType("SessionId", str)
"""`ses_` + 16 characters that sort by creation time."""
RunId = NewType("RunId", str)
"""`run_` + 12 hexadecimal digits."""
AgentId = NewType("AgentId", str)
"""Name of an agent, unique in its session: `main`, or the name of a delegate."""
CommandId = NewType("CommandId", str)
CallId = NewType("CallId", str)
"""Id of a tool call, unique in its session. If the provider gives no id or the same id twice, the engine creates one.
"""
RequestId = NewType("RequestId", str)
"""Id of a model request, permission request or question, unique in its session."""
JobId = NewType("JobId", str)
"""Id of a background job (`job-1`, `job-2`, …), unique on its branch of the session."""
MAIN_AGENT = AgentId("main")
COMPACTION_AGENT = AgentId("compaction")
"""The agent that summarises histories. Its requests belong to no conversation."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def is_session_id(name: str) -> bool:
    """Return True if `name` is a valid session id."""
    return _ID.fullmatch(name) is not None
