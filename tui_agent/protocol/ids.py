"""Types of identifiers, and the check of a session id.

Invariant: ids are created only by an injected `ports.clock.Ids`.
"""

import re
from typing import NewType

SessionId = NewType("SessionId", str)
"""`ses_` + 16 characters that sort by creation time."""
RunId = NewType("RunId", str)
"""`run_` + 12 hexadecimal digits."""
AgentId = NewType("AgentId", str)
"""`main`, or a delegate's name, unique in its session."""
CommandId = NewType("CommandId", str)
CallId = NewType("CallId", str)
"""A tool call's id, unique in its session. Generated locally if the provider gave none or repeated one."""
RequestId = NewType("RequestId", str)
"""The id of a model request, permission request or question, unique in its session."""
JobId = NewType("JobId", str)
"""A background job's id (`job-1`, `job-2`, …), unique on its branch of the session."""
MAIN_AGENT = AgentId("main")
COMPACTION_AGENT = AgentId("compaction")
"""The agent that summarises histories. Its requests belong to no conversation."""


_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def is_session_id(name: str) -> bool:
    """Return True if `name` is a valid session id. A session's folder has the same name."""
    return _ID.fullmatch(name) is not None
