"""The text of an error: its message and its hint are separate sentences."""

from tests.stubs.rows import rows
from tui_agent.errors import ModelError


@rows(
    "message, hint, text",
    [
        ("a scripted fault", "Try again later.", "a scripted fault. Try again later."),
        ("No model is set.", "Add -m NAME.", "No model is set. Add -m NAME."),
        ("Really?", "Add -m NAME.", "Really? Add -m NAME."),
        ("a scripted fault", "", "a scripted fault"),
        ("", "Try again later.", "Try again later."),
    ],
)
def test_a_full_stop_separates_an_error_from_its_hint(message: str, hint: str, text: str) -> None:
    assert str(ModelError(message, hint=hint)) == text
