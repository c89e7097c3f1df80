"""A format of printf is harmless where each of its conversions shows a word."""

from tests.stubs.rows import rows
from tui_agent.policy.interpreter.languages.printf import find_doubt


@rows(
    "script",
    ["", "done", "%s\\n", "%-20s %5.1f%%\\n", "%d %i %x %c %b %q", "%*d %.*s", "%'d", "a\nb", "100%%"],
)
def test_conversions_that_show_words_are_read(script: str) -> None:
    assert find_doubt(script) == ""


@rows("script", ["%n", "a%n", "%-5n", "%%%n", "%", "%z", "%(%F)T", "%ln", "%1$s", "%s%", "%99999s", "% n"])
def test_any_other_conversion_is_doubted(script: str) -> None:
    assert find_doubt(script) == "printf may set a variable with this format"
