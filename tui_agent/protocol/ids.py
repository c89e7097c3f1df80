"""Types of identifiers, and the check of a session id.

Invariant: only an injected `ports.clock.Ids` creates ids.
"""

import re
from typing import NewType

SessionId = NewType("SessionId", str)
"""`ses_` + 16 characters that sort by creation time."""
RunId = NewType("RunId", str)
"""`run_` + 12 hexadecimal digits."""
AgentId = NewType("AgentId", str)
"""`main`, or the name of a delegate that is unique in its session."""
CommandId = NewType("CommandId", str)
CallId = NewType("CallId", str)
"""Id of a tool call, unique in its session. It is generated locally if the provider gave none or repeated one."""
RequestId = NewType("RequestId", str)
"""Id of a model request, permission request or question, unique in its session."""
JobId = NewType("JobId", str)
"""Id of a background job (`job-1`, `job-2`, …), unique on its branch of the session."""
MAIN_AGENT = AgentId("main")
COMPACTION_AGENT = AgentId("compaction")
"""The agent that summarises histories. Its requests do not belong to a conversation."""


_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def is_session_id(name: str) -> bool:
    """Return True if `name` is a valid session id. A session's folder has the same name."""
    return _ID.fullmatch(name) is not None
