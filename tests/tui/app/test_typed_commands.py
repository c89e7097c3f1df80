"""Commands as fingers type them: in part, by another name, wrongly, and without what they need."""

import pytest

from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.commands import SetPolicy, Steer, SubmitPrompt
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.tui.keys_and_commands import ACTIONS, TYPED
from tui_agent.tui.modals.picker import Item, Picker, score_words

VALUES = {"/policy": ("accept-edits", "bypass"), "/permissions": ("accept-edits", "bypass")}
WHOLE = {"/accept-edits", *(f"{word} {value}" for word, values in VALUES.items() for value in values)}
"""Everything that loosens the policy when it is typed in full."""
PARTS = sorted({text[:length] for text in WHOLE for length in range(1, len(text))})


async def submit(driven: Driven, text: str) -> None:
    driven.app.prompt.editor.put_text(text)
    await driven.pilot.pause()
    await driven.press("enter")
    await driven.app.close_screens()
    await driven.pilot.pause()


async def test_enter_on_a_part_of_a_word_never_loosens_the_policy() -> None:
    async with open_app(golden("night_shift")) as driven:
        for text in PARTS:
            await submit(driven, text)
        looser = [
            command
            for command in driven.session.submitted
            if isinstance(command, SetPolicy) and command.policy in ("accept-edits", "bypass")
        ]
        assert looser == []


async def test_the_whole_word_sets_the_policy() -> None:
    async with open_app(golden("night_shift")) as driven:
        for text in sorted(WHOLE):
            await submit(driven, text)
            [command] = driven.session.submitted
            assert isinstance(command, SetPolicy) and command.policy in ("accept-edits", "bypass"), text
            driven.session.submitted.clear()


async def test_the_menu_says_that_the_whole_word_is_needed_and_tab_only_completes() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/ac")
        assert "loosens the policy: type /accept-edits in full" in driven.text()
        assert "Enter run" not in driven.text()
        await driven.press("enter")
        assert driven.app.prompt.editor.text == "/ac" and driven.session.submitted == []
        await driven.press("tab")
        assert driven.app.prompt.editor.text == "/accept-edits" and driven.session.submitted == []
        await driven.press("enter")
        assert [type(command) for command in driven.session.submitted] == [SetPolicy]


async def test_a_stricter_policy_needs_no_whole_word() -> None:
    async with open_app(golden("night_shift")) as driven:
        await submit(driven, "/pla")
        [command] = driven.session.submitted
        assert isinstance(command, SetPolicy) and command.policy == "plan"


async def test_a_theme_is_chosen_by_name_or_by_brightness() -> None:
    light, dark = "day, a light theme. /theme lists all", "night, a dark theme. /theme lists all"
    async with open_app(golden("night_shift")) as driven:
        for word, said in (("light", light), ("Dark", dark), ("beacon", "beacon")):
            theme = said.partition(",")[0]
            assert driven.app.theme != theme
            await submit(driven, f"/theme {word}")
            assert driven.app.theme == theme and f"Using theme {said}." in driven.text()


async def test_the_palette_finds_spending_by_money() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.press("ctrl+p")
        await driven.type("money")
        picker = driven.app.screen
        assert isinstance(picker, Picker) and picker.matches[0].label == "/cost"


async def test_an_unknown_theme_is_answered_with_the_names_that_there_are() -> None:
    async with open_app(golden("night_shift")) as driven:
        await submit(driven, "/theme pink")
        assert (
            driven.app.notice.text
            == "No theme pink. Choose from beacon, day, ember, frost, harbour, ink, night, terminal, dark, light."
        )


async def test_find_without_a_text_asks_for_one_in_the_prompt() -> None:
    async with open_app(golden("night_shift")) as driven:
        await submit(driven, "/find")
        assert driven.app.prompt.editor.text == "/find " and driven.app.prompt.editor.has_focus
        await driven.type("midnight")
        await driven.press("enter")
        await driven.until(lambda: '"midnight" 1 of 2' in driven.text())
        await driven.type("/find")
        await driven.press("enter")
        await driven.until(lambda: '"midnight" 2 of 2' in driven.text())


async def test_the_key_for_find_keeps_a_message_that_is_being_typed() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("half a thought")
        await driven.press("ctrl+f3")
        assert driven.app.prompt.editor.text == "half a thought"
        assert driven.app.notice.text == "/find needs text to look for, for example /find midnight."


async def test_vim_turns_the_keys_on_and_off() -> None:
    async with open_app(golden("night_shift")) as driven:
        await submit(driven, "/vim")
        assert "Vim keys are on until you quit." in driven.app.notice.text and "insert" in driven.text()
        await submit(driven, "/vim")
        assert "Vim keys are off until you quit." in driven.app.notice.text
        assert driven.app.prompt.editor.vim is None


NEAREST = {
    "/accept": "/accept-edits",
    "/vi": "/vim",
    "/preferences": "/settings",
    "/dark": "/theme",
    "/modle": "/model or /models",
    "/qiut": "/quit",
}


async def test_an_unknown_command_is_answered_with_the_nearest() -> None:
    async with open_app(golden("night_shift")) as driven:
        for typed, meant in NEAREST.items():
            driven.app.prompt.editor.put_text(typed)
            await driven.press("escape", "enter")
            assert (
                driven.app.notice.text == f"Unknown command {typed}. Did you mean {meant}? /help lists all."
            )
            assert driven.app.prompt.editor.text == typed


HELP = {
    "steer": "Enter",
    "sidebar": "F6",
    "new line": "Shift+Enter",
    "undo turn": "/undo",
    "undo": "/undo",
    "theme": "/theme",
}


@pytest.mark.slow
async def test_help_finds_the_rows_in_which_all_words_begin_a_word() -> None:
    async with open_app(golden("night_shift")) as driven:
        for query, label in HELP.items():
            await driven.press("f1")
            await driven.type(query)
            picker = driven.app.screen
            assert isinstance(picker, Picker)
            assert picker.matches[0].label == label, query
            # "undo" also finds the keys of the dialog that lists the files to undo
            assert picker.count <= (8 if query == "undo" else 4), query
            row = next(row for row in picker._compositor.render_strips() if "›" in row.text)
            marked = {part.text.lower() for part in row if part.style is not None and part.style.underline}
            assert marked <= {query, *query.split()}
            await driven.app.close_screens()
            await driven.pilot.pause()


def test_a_typed_text_that_can_be_chosen_is_a_row_that_says_so() -> None:
    items = [Item("a", "anthropic/opus"), Item("s", "anthropic/sonnet")]
    picker = Picker("Model", items, typed_prefix="Use the model named")
    rows = {}
    for typed in ("son", "anthropic/", "openai/gpt-9", "opus-x"):
        picker.field.text = typed
        rows[typed] = [(item.value, item.label) for item in picker.matches]
    assert rows == {
        "son": [("s", "anthropic/sonnet"), ("son", "Use the model named son")],
        "anthropic/": [
            ("a", "anthropic/opus"),
            ("s", "anthropic/sonnet"),
            ("anthropic/", "Use the model named anthropic/"),
        ],
        "openai/gpt-9": [("openai/gpt-9", "Use the model named openai/gpt-9")],
        "opus-x": [("opus-x", "Use the model named opus-x")],
    }


def test_a_phrase_comes_before_its_words_and_letters_count_only_if_no_word_matches() -> None:
    picker = Picker("x", [Item("1", "night shift 1"), Item("2", "1 shift")])
    for query, values in (
        ("shift", ["1", "2"]),
        ("shift 1", ["1"]),
        ("1 night", ["1"]),
        ("ift", ["2", "1"]),
        ("nghtsh", ["1"]),
        ("zz", []),
    ):
        assert [item.value for item in picker._filter(query)] == values


@pytest.mark.parametrize(
    ("words", "score"),
    [
        (["theme"], 0),
        (["/theme"], 0),
        (["dark"], 1),
        (["the"], 2),
        (["switch"], 3),
        (["dark", "swi"], 4),
        (["heme"], None),
        (["theme", "x"], None),
    ],
)
def test_a_word_of_the_name_counts_more_than_one_of_the_description(
    words: list[str], score: int | None
) -> None:
    assert score_words(words, Item("", "/theme", "switch to another", found_by="dark light")) == score


def test_every_word_that_loosens_is_known_to_this_test() -> None:
    named = {word for word, (action, argument) in TYPED.items() if action.name == "policy" and not argument}
    direct = {word for word, (action, argument) in TYPED.items() if argument in ("accept-edits", "bypass")}
    assert named == set(VALUES) and direct == {"/accept-edits"}
    assert [action.name for action in ACTIONS if "bypass" in action.args] == []


async def test_commands_that_run_together_are_never_sent_as_a_message() -> None:
    async with open_app(golden("night_shift")) as driven:
        for text, meant in (
            ("/settings/keys", "/settings"),
            ("/setings/keys now", "/settings"),
            ("/undo/redo", "/undo"),
        ):
            await submit(driven, text)
            assert driven.session.submitted == [] and driven.app.prompt.editor.text == text
            unknown = f"Unknown command {text.split()[0]}. Did you mean {meant}? /help lists all."
            assert driven.app.notice.text == unknown and unknown in driven.text()


async def test_a_path_at_the_start_of_a_message_is_sent() -> None:
    texts = ["/usr/bin/x fails", "/home/me/a.py", "/etc/hosts", "/src/main.rs", "//"]
    async with open_app(golden("night_shift")) as driven:
        for text in texts:
            await submit(driven, text)
        first, *later = driven.session.submitted
        assert isinstance(first, SubmitPrompt) and all(isinstance(command, Steer) for command in later)
        assert [command.text for command in driven.session.submitted] == texts  # type: ignore[union-attr]


async def test_a_command_that_a_turn_refuses_says_so_and_stays() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        for text in ("/undo", "/redo"):
            driven.app.prompt.editor.put_text("")
            driven.app.hide_notice()
            await driven.type(text)
            assert "not while a turn runs" in driven.text()
            assert [hint.word for hint in driven.app.footer.keys] == ["choose", "complete", "close"]
            for _ in range(2):
                await driven.press("enter")
                await driven.pilot.pause()
                assert "A turn is running. Press Esc to stop it, then try again." in driven.text()
                assert driven.app.prompt.editor.text.strip() == text and driven.session.submitted == []


async def test_a_row_that_cannot_be_chosen_offers_no_key_and_wide_letters_are_counted_in_cells() -> None:
    path = "notes/日本語日本語日本語.txt"
    items = [
        Item("all", "undo all"),
        Item("", path, right="removed", offered=False, group="Files", is_path=True),
    ]
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        driven.app.push_screen(Picker("Undo", items))
        await driven.until(lambda: path in driven.text())
        assert "Enter use it" in driven.text()
        await driven.press("down")
        assert "Enter use it" not in driven.text()
