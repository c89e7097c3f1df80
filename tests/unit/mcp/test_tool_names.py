"""Names of servers' tools: valid, short, and never two the same."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tui_agent.mcp.offered_tools import tool_name


def test_names() -> None:
    assert tool_name("time", "get_current_time") == "mcp_time_get_current_time"
    assert tool_name("my_files", "read.file/now") == "mcp_my-files_read_file_now"
    assert tool_name("a", "x.y", {"mcp_a_x_y"}) == "mcp_a_x_y_7ace4eaa"
    assert tool_name("a", "t" * 80) == f"mcp_a_{'t' * 49}_f1afd22b"


@given(st.text(max_size=90), st.text(max_size=90))
def test_every_name_is_valid(server: str, tool: str) -> None:
    assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}", tool_name(server, tool))
