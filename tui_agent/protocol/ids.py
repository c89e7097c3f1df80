"""Names for the kinds of identifiers. All are made by an injected `ports.clock.Ids`, never here."""

from typing import NewType

SessionId = NewType("SessionId", str)
"""`ses_` + 16 characters that sort by creation time."""
RunId = NewType("RunId", str)
"""`run_` + 12 hexadecimal digits."""
AgentId = NewType("AgentId", str)
"""`main`, or a delegate's name, unique in its session."""
CommandId = NewType("CommandId", str)
CallId = NewType("CallId", str)
"""A tool call's id, unique in its session: made locally where the provider gave none or repeated one."""
RequestId = NewType("RequestId", str)
"""A model request's, a permission request's or a question's id, unique in its session."""
JobId = NewType("JobId", str)
"""A background job's: `job-1` and so on, unique on its branch of the session."""

MAIN_AGENT = AgentId("main")
COMPACTION_AGENT = AgentId("compaction")
"""Whoever summarises a history: its requests are nobody's conversation."""
