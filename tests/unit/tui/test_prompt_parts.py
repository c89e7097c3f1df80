"""Completion, files, history, chips, drafts: the parts of the prompt that need no screen."""

import json
import stat
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.tui.controller.drafts import DraftFile
from tui_agent.tui.keys_and_commands import ACTIONS
from tui_agent.tui.prompt.attachments import Chips
from tui_agent.tui.prompt.completion import (
    Token,
    argument_candidates,
    command_candidates,
    file_candidates,
    match,
    token_at,
)
from tui_agent.tui.prompt.completion_files import PathIndex, list_files
from tui_agent.tui.prompt.completion_symbols import Symbol
from tui_agent.tui.prompt.history import History
from tui_agent.tui.prompt.symbol_search import find_definitions


@pytest.mark.parametrize(
    ("line", "column", "first", "token"),
    [
        ("/re", 3, True, Token("command", "/re", 0)),
        ("/re", 3, False, None),
        ("/model son", 10, True, Token("argument", "son", 7, "/model")),
        ("see @src/a", 10, True, Token("file", "src/a", 4)),
        ("mail a@b.c", 10, True, None),
        ("(@x", 3, False, Token("file", "x", 1)),
        ("plain", 5, True, None),
    ],
)
def test_the_token_at_the_cursor(line: str, column: int, first: bool, token: Token | None) -> None:
    assert token_at(line, column, first_line=first) == token


def test_commands_that_begin_with_the_query_hide_those_that_only_hold_it() -> None:
    found = command_candidates("/re", ACTIONS, running=False)
    assert found and all(one.label.startswith("/re") for one in found)
    assert [one.label for one in command_candidates("/olicy", ACTIONS, running=False)] == ["/policy"]
    assert command_candidates("/zzz", ACTIONS, running=False) == []


def test_a_command_that_is_refused_now_says_so_in_the_menu() -> None:
    [found] = command_candidates("/model", ACTIONS, running=True)[:1]
    assert found.dimmed and found.help == "not while a turn runs"


def test_arguments_come_from_the_choices_of_their_command() -> None:
    choices = {"/theme": [("night", "dark"), ("day", "light")]}
    assert [one.insert for one in argument_candidates(Token("argument", "", 7, "/theme"), choices)] == [
        "night",
        "day",
    ]
    assert [one.insert for one in argument_candidates(Token("argument", "da", 7, "/theme"), choices)] == [
        "day"
    ]
    assert argument_candidates(Token("argument", "", 7, "/other"), choices) == []


def test_an_alias_offers_the_choices_of_what_it_stands_for() -> None:
    choices = {"/model reasoning": [("high", "")], "/policy": [("plan", "")]}
    for word, value in (("/effort", "high"), ("/reasoning", "high"), ("/permissions", "plan")):
        assert [one.insert for one in argument_candidates(Token("argument", "", 9, word), choices)] == [value]
    assert argument_candidates(Token("argument", "", 9, "/plan"), choices) == []


def test_files_are_ranked_by_name_before_path() -> None:
    paths = ["src/timesheet/entry.py", "docs/entries/readme.md", "tests/test_entry.py", "a/b/c.txt"]
    assert [one.label for one in file_candidates("entry", paths)][:2] == [
        "src/timesheet/entry.py",
        "tests/test_entry.py",
    ]
    assert next(one.label for one in file_candidates("ste", paths)) == "tests/test_entry.py"
    assert [one.insert for one in file_candidates("a b", ["a b/c d.txt"])] == ['@"a b/" ', '@"a b/c d.txt" ']


def test_folders_are_offered_and_left_open_to_go_on_into_them() -> None:
    paths = ["src/app.py", "src/shop/cart.py", "tests/test_app.py"]
    assert [one.insert for one in file_candidates("", paths)][:2] == ["@src/", "@tests/"]
    assert [one.label for one in file_candidates("src/", paths)][:3] == ["src/", "src/shop/", "src/app.py"]
    assert file_candidates("sho", paths)[0].insert == "@src/shop/"
    assert token_at('see @"my no', 11, first_line=True) == Token("file", "my no", 4)


def test_symbols_stand_behind_the_first_files_with_their_place() -> None:
    paths = [f"src/cart_{number}.py" for number in range(9)]
    found = file_candidates("cart", paths, [Symbol("Cart", "src/shop.py", 12)])
    assert (found[5].label, found[5].insert, found[5].help) == ("Cart", "@Cart ", "src/shop.py:12")


def test_a_symbol_stands_before_files_that_only_have_its_letters() -> None:
    paths = ["app/context_meter.py", "app/context/memory.py", "app/context/mentions.py"]
    found = file_candidates("ContextMe", paths, [Symbol("ContextMeter", "app/context_meter.py", 152)])
    assert [one.label for one in found[:2]] == ["ContextMeter", "app/context_meter.py"]
    name = "canonicalize_name"
    found = file_candidates("canon", ["src/packaging/_tokenizer.py"], [Symbol(name, "src/utils.py", 45)])
    assert [one.label for one in found] == [name, "src/packaging/_tokenizer.py"]


def test_letters_in_their_order_find_a_path_where_nothing_holds_the_query() -> None:
    paths = ["src/session_model.py", "src/other.py", "docs/smdl.txt"]
    assert [one.label for one in file_candidates("ssmdl", paths)] == ["src/session_model.py", "docs/smdl.txt"]
    assert file_candidates("zzq", paths) == []


def test_fifty_thousand_files_are_searched_at_once() -> None:
    index = PathIndex(f"packages/part{number % 97}/src/session_{number}.py" for number in range(50_000))
    began = time.process_time()
    for query in ("", "s", "session", "session_49", "packages/part9", "zzzz", "pkgses77"):
        file_candidates(query, index)
    assert time.process_time() - began < 1.0, "some ms each; a search through every path took 700"


def test_what_is_defined_is_found_by_git_where_it_is_asked_for(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "shop.py").write_text("\nclass Cart:\n    def cartons(self): ...\n\nuse(Cart)\n")
    assert find_definitions(tmp_path, "cart") == [
        Symbol("Cart", "shop.py", 2),
        Symbol("cartons", "shop.py", 3),
    ]
    assert find_definitions(tmp_path, "ca") == [] and find_definitions(tmp_path / "nowhere", "cart") == []


@given(st.text(min_size=1, max_size=8), st.text(max_size=40))
def test_a_match_names_positions_that_spell_the_query(query: str, text: str) -> None:
    found = match(query, text)
    if found is not None and query.isascii() and text.isascii():
        assert "".join(text[at] for at in found[1]).casefold() == query.casefold()


def test_what_git_ignores_is_not_listed(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "a.py").write_text("")
    (tmp_path / "b.log").write_text("")
    assert list_files(tmp_path) == [".gitignore", "a.py"]


def test_a_folder_without_git_is_walked_past_what_is_generated(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.js").write_text("")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("")
    assert list_files(tmp_path) == ["src/a.py"]


def test_history_walks_and_gives_the_written_text_back() -> None:
    history = History()
    for text in ("two", "one", "one", " ", "two"):
        history.add(text)
    assert history.entries == ["one", "two"]
    assert (
        history.older_message("draft") == "two"
        and history.older_message("") == "one"
        and history.older_message("") is None
    )
    assert (
        history.newer_message() == "two"
        and history.newer_message() == "draft"
        and history.newer_message() is None
    )
    assert history.search("o") == ["two", "one"] and history.search("tw") == ["two"]


def test_older_messages_that_are_loaded_twice_or_late_are_there_once() -> None:
    history = History()
    history.add("new")
    assert history.older_message("draft") == "new"
    for _ in range(2):
        history.extend(["first", "new", "second"])
    assert history.entries == ["first", "second", "new"]
    assert history.older_message("") == "second", "browsing goes on where it was"


def test_the_history_file_is_private_and_damage_in_it_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "prompts.jsonl"
    history = History(path)
    history.store(["second", "first\nline", "second"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with path.open("a") as file:
        file.write('{"not": "a text"}\n broken\n')
    assert history.load() == ["first\nline", "second"]


def test_a_huge_history_file_is_loaded_from_its_end_and_no_message_is_cut(tmp_path: Path) -> None:
    history = History(tmp_path / "prompts.jsonl")
    message = "a\u2028" + "long message " * 10_000
    history.store([f"{number} {message}" for number in range(60)])
    loaded = history.load()
    assert loaded[-1] == f"59 {message}" and 10 < len(loaded) < 60
    assert loaded == [f"{number} {message}" for number in range(60 - len(loaded), 60)]
    history.add(message)
    assert history.older_message("") == message


@given(st.text(st.characters(codec="utf-8"), max_size=6000))
def test_a_folded_paste_expands_to_itself(text: str) -> None:
    chips = Chips()
    shown = chips.fold(text)
    if shown != text:
        assert chips.expand(f"a {shown} b") == f"a {text} b"
        again = Chips()
        assert again.expand(again.from_json(chips.to_json(shown))[0]) == text


def test_two_pastes_of_the_same_length_stay_apart() -> None:
    chips = Chips()
    first, second = chips.fold("x\n" * 30), chips.fold("y\n" * 30)
    assert first != second and chips.expand(first + second) == "x\n" * 30 + "y\n" * 30
    long = chips.fold("z\n" * 20_000)
    assert long == "[pasted 20,000 lines]" and chips.expand(f"a {long}") == "a " + "z\n" * 20_000


def test_the_own_words_of_a_message_are_those_around_its_pastes() -> None:
    chips = Chips()
    paste = chips.fold("x\n" * 60)
    assert chips.own_words(f"{paste} what is\nthis log?") == "what is this log?"
    assert chips.own_words(f"see {paste} first") == "see first"
    assert chips.own_words(paste) == "" and chips.own_words("no [pasted 3 lines] here") == ""


def test_text_that_looks_like_a_chip_is_left_alone() -> None:
    assert Chips().expand("[pasted 3 lines]") == "[pasted 3 lines]"


def test_only_a_path_of_a_picture_that_is_there_becomes_one(tmp_path: Path) -> None:
    (tmp_path / "a b.png").write_bytes(b"")
    chips = Chips()
    assert chips.fold_picture("nothing.png", tmp_path) is None
    assert chips.fold_picture("look at a b.png please\nnow", tmp_path) is None
    assert chips.fold_picture("'a b.png'", tmp_path) == "[image a b.png]"
    assert chips.fold_picture(f"file://{tmp_path}/a%20b.png", tmp_path) == "[image a b.png #2]"
    assert [one.media_type for one in chips.pictures_in("[image a b.png]")] == ["image/png"]


def test_a_draft_is_replaced_whole_and_goes_when_it_is_empty(tmp_path: Path) -> None:
    draft = DraftFile(tmp_path / "draft")
    assert draft.load() == ""
    draft.save(json.dumps("x"))
    assert stat.S_IMODE(draft.path.stat().st_mode) == 0o600 and draft.load() == '"x"'
    draft.save("")
    assert not draft.path.exists()
    with pytest.raises(FileNotFoundError):
        DraftFile(tmp_path / "gone" / "draft").save("x")
    assert not (tmp_path / "gone").exists()
