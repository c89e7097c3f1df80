"""The catalog finds entries by name, resolves `like`, and adds tables of users, plugins and projects."""

import pytest

from tests.stubs.rows import rows
from tui_agent.errors import ConfigError
from tui_agent.policy.catalog.catalog import Catalog, Layer, Origin
from tui_agent.policy.catalog.catalog_entry import Entry, TableFault, make_entry
from tui_agent.policy.catalog.catalog_schema import Effect

USER = """
[programs.show]
about = "Shows a file."
effects = ["reads"]
flags = ["-a", "-b"]
operands = ["read..."]
reads_below = false

[programs.show.subcommands.log]
about = "Shows the log."
effects = ["reads"]
flags = ["-x"]

[programs.show.subcommands."stash list"]
about = "Shows the stash."
like = "log"
flags = ["-y"]

[programs.other]
about = "Like show."
like = "show"
operands = ["list..."]
options = { "-b" = "text" }
"""


def user(text: str) -> Catalog:
    return Catalog([Layer("user", "programs.toml", text)])


def find_entry(catalog: Catalog, name: str) -> Entry:
    entry = catalog.entry(name)
    assert entry is not None
    return entry


def test_an_entry_of_the_product_is_read_from_the_file_of_its_name() -> None:
    entry = find_entry(Catalog(), "cd")
    assert (entry.name, entry.place) == ("cd", "programs/cd.toml")
    assert "-P" in entry.options


@rows(
    "name", ["", "CD", "no-such-program", "../catalog", "git/log", "cd.toml", "\0", " ", "cd x", "a" * 5000]
)
def test_nothing_is_known_of_other_names(name: str) -> None:
    assert Catalog().entry(name) is None


@rows("name, same", [(":", "true"), ("[", "test")])
def test_programs_of_one_sign_stand_in_files_of_other_names(name: str, same: str) -> None:
    one, other = Catalog().entry(name), Catalog().entry(same)
    assert (one and one.place) == (other and other.place)


def test_an_entry_like_another_adds_options_and_replaces_other_keys() -> None:
    entry = find_entry(user(USER), "other")
    assert entry.program.operands == ("list...",)
    assert entry.program.effects == {Effect.READS}
    assert sorted(entry.options) == ["-a", "-b"]
    assert entry.options["-b"].word == "required"
    assert entry.program.about == "Like show."


def test_subcommands_are_found_by_one_word_or_two_and_through_like() -> None:
    catalog = user(USER)
    other = find_entry(catalog, "other")
    for words, name in [
        (["log", "x"], "show log"),
        (["stash", "list"], "show stash list"),
        (["stash"], None),
    ]:
        entry = catalog.subcommand(other, words)
        assert (entry and entry.name) == name
    assert sorted(find_entry(catalog, "show stash list").options) == ["-x", "-y"]


def test_a_users_entry_stands_in_place_of_the_products() -> None:
    entry = find_entry(user('[programs.cd]\nabout = "Mine."\nlike = "cd"\neffects = ["runs"]'), "cd")
    assert entry.program.effects == {Effect.RUNS}
    assert entry.place == "programs.toml: programs.cd"
    assert "-P" in entry.options


def test_a_plugins_entry_counts_only_for_programs_that_are_not_known() -> None:
    plugin = (
        '[programs.deploy]\nabout = "Deploys."\neffects = ["connects"]\n[programs.cd]\neffects = ["runs"]'
    )
    catalog = Catalog([Layer("plugin", "the plugin x", plugin)])
    assert find_entry(catalog, "deploy").program.effects == {Effect.CONNECTS}
    assert find_entry(catalog, "cd").program.effects == {Effect.READS, Effect.RUNS}
    assert find_entry(catalog, "cd").place == "programs/cd.toml, the plugin x"


def test_a_project_adds_effects_to_a_program_and_all_its_subcommands() -> None:
    project = '[programs.show]\nwhy = "it sends"\neffects = ["connects"]'
    layers = [Layer("project", ".tui_agent/programs.toml", project), Layer("user", "programs.toml", USER)]
    catalog = Catalog(layers)
    assert find_entry(catalog, "show").program.effects == {Effect.READS, Effect.CONNECTS}
    assert find_entry(catalog, "show log").program.effects == {Effect.READS, Effect.CONNECTS}
    assert find_entry(catalog, "other").program.effects == {Effect.READS}


def test_a_project_adds_effects_to_one_subcommand() -> None:
    project = '[programs.show.subcommands.log]\neffects = ["connects"]'
    layers = [Layer("project", "p", project), Layer("user", "u", USER)]
    assert find_entry(Catalog(layers), "show log").program.effects == {Effect.READS, Effect.CONNECTS}
    assert find_entry(Catalog(layers), "show").program.effects == {Effect.READS}


def test_what_a_project_says_of_an_unknown_program_leaves_it_unknown() -> None:
    assert Catalog([Layer("project", "p", '[programs.foo]\neffects = ["reads"]')]).entry("foo") is None


@rows(
    "origin, text, fault",
    [
        (
            "project",
            '[programs.cd]\nflags = ["-x"]',
            "programs.cd.flags: this key is not allowed: for a known program",
        ),
        (
            "project",
            '[programs.cd]\neffects = ["flies"]',
            "programs.cd.effects.0: input should be 'reads', 'writes'",
        ),
        (
            "plugin",
            '[programs.cd]\nlike = "echo"',
            "programs.cd.like: this key is not allowed: for a known program",
        ),
        (
            "plugin",
            '[environment]\nharmless = ["X"]',
            "environment: only programs.toml in your configuration folder",
        ),
        ("user", "[programs.x", "it is not valid TOML"),
        ("user", "[program.x]\nabout = 'a'", "program: this key is not known"),
        ("user", "programs = 3", "programs: this must be a table"),
        ("user", "programs.x = 3", "programs.x: this must be a table"),
        ("user", '[programs.x]\neffects = ["reads"]', "programs.x.about: this key is missing"),
        ("user", '[programs.x]\nabout = "a"\nflag = ["-x"]', "programs.x.flag: this key is not known"),
        (
            "user",
            '[programs.x]\nabout = "a"\nlike = "nothing"',
            'programs.x.like: there is no program "nothing"',
        ),
        (
            "user",
            '[programs.x]\nabout = "a"\nlike = "y"\n[programs.y]\nabout = "b"\nlike = "x"',
            "refers to itself",
        ),
        ("user", "[environment]\nsafe = []", "environment: the only key allowed here is `harmless`"),
        ("user", "a = " + "[" * 5000, "it is not valid TOML"),
    ],
)
def test_a_fault_in_a_layer_is_told_with_its_place(origin: str, text: str, fault: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Catalog([Layer(origin, "their file", text)])  # type: ignore[arg-type]
    message = str(raised.value)
    assert message.startswith("their file")
    assert fault in message
    assert ("see `tui-agent policy check-table their file`" in message) == (origin != "plugin")


def test_a_fault_in_a_file_is_told_with_its_line() -> None:
    with pytest.raises(
        ConfigError, match=r"^programs\.toml:3: programs\.x\.flag: this key is not known; see"
    ):
        user('[programs.x]\nabout = "a"\nflag = ["-x"]')


READS = "[programs.show]\nabout = 'Shows files.'\neffects = ['reads']\n"


@rows("origin", ["user", "plugin"])
def test_a_table_says_if_a_program_reads_below_a_folder(origin: Origin) -> None:
    for operands in ("['read...']", "['text', 'list?']"):
        text = f"{READS}operands = {operands}\n"
        with pytest.raises(
            ConfigError, match=r"programs\.show: reads_below is missing: write true if the program reads"
        ):
            Catalog([Layer(origin, "programs.toml", text)])
        for below in ("true", "false"):
            Catalog([Layer(origin, "programs.toml", f"{text}reads_below = {below}\n")])


def test_what_reads_no_file_or_is_like_another_need_not_say_if_it_reads_below() -> None:
    user(f"{READS}operands = ['text...']")
    user(f"{READS}like = 'cat'")
    user(f"{USER}[programs.third]\nabout = 'c'\nlike = 'show'\noperands = ['read']")


@rows(
    "table, fault",
    [
        ({"flags": ["-a", "-b -a"]}, "flags.-b -a: -a is listed twice"),
        ({"flags": ["-a"], "options": {"-a": "text"}}, "options.-a: -a is listed twice"),
        ({"flags": ["a"]}, "flags.a: a is not an option"),
        ({"flags": ["--"]}, "flags.--: -- is not an option"),
        ({"flags": ["--a=b"]}, "flags.--a=b: --a=b is not an option"),
        ({"flags": [" "]}, "flags. :   is not an option"),
        ({"flags": [""]}, "flags.:  is not an option"),
        ({"operands": ["reads"]}, "operands.0: write one of 'text', "),
        ({"operands": ["read...", "text..."]}, "operands: only one operand may end with `...`"),
        ({"operands": ["read?..."]}, "operands.0: write one of"),
        ({"operands": ["READ"]}, "operands.0: write one of"),
        ({"options": {"-x": {"mean": "text"}}}, "options.-x.mean: this key is not known"),
        ({"options": {"-x": "texts"}}, "options.-x.means: input should be"),
        ({"effects": ["flies"]}, "effects.0: input should be"),
        ({"effects": "reads"}, 'effects: write a list: ["reads"]'),
        ({"flags": 3}, "flags: write a list"),
        ({"remember": 9}, "remember: input should be less than"),
    ],
)
def test_a_wrong_table_is_refused(table: dict[str, object], fault: str) -> None:
    with pytest.raises(TableFault) as raised:
        make_entry("x", "x.toml", {"about": "x", **table}, None)
    assert str(raised.value).startswith(fault)


def test_letters_without_a_dash_are_options_of_bundles_only() -> None:
    assert make_entry("ps", "", {"about": "x", "option_style": "tar", "flags": ["a"]}, None).options
