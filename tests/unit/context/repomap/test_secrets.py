"""Secrets in what a map shows and in what its index keeps."""

import sqlite3
import zlib
from pathlib import Path

import pytest

from tui_agent.context.repomap.redacted_text import Cleaner
from tui_agent.context.repomap.repository_map import RepoMap, Visibility
from tui_agent.context.repomap.symbols import symbols_of
from tui_agent.folds.text.word_forms import split_identifier
from tui_agent.ports.redaction import RedactionOptions

KEY = "sk-proj-Zx81Lm20Qw93Er74Ty65Ui56"
WORD = "zebraquokka"

FILES = {
    "a.py": f'def connect(host, api_key="{KEY}", *, retries=3): ...\n',
    "b.ts": f'export function login(apiKey: string = "{KEY}") {{}}\n',
    "c.sql": f"CREATE TABLE users (id int, api_token VARCHAR(64) NOT NULL DEFAULT '{KEY}');\n",
    "d.md": f"# Password: {KEY}\n\ntext\n",
    "e.rb": f'def connect(host, password: "{KEY}")\nend\n',
    "f.cs": f'public class A {{\n  public void Open(string password = "{KEY}") {{ }}\n}}\n',
    "g.tcl": f"test {{token={KEY}}} {{}} {{}}\n",
}


@pytest.mark.parametrize("name", FILES)
def test_no_signature_or_name_holds_a_secret(name: str) -> None:
    _, found = symbols_of(name, FILES[name].encode())
    assert found
    assert KEY[8:] not in repr(found)
    assert "[redacted: " in repr(found)


def test_half_of_a_secret_at_the_end_of_a_cut_signature_is_none_shown() -> None:
    text = f'def f({", ".join(f"argument_{n}" for n in range(8))}, api_key="{KEY}"): ...\n'
    _, found = symbols_of("a.py", text.encode())
    assert KEY[:12] not in found[0].signature


def test_a_given_value_is_neither_shown_nor_kept(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "a.py").write_text(f'def {WORD}(): ...\n# {WORD}\nX = "{WORD}"\n')
    mapped = RepoMap(
        root, tmp_path / "cache", showing=Visibility(redaction=RedactionOptions({"DEPLOY_TOKEN": WORD}))
    )
    view = mapped.map(refresh=True)
    mapped.close()
    assert "def [redacted: DEPLOY_TOKEN]()" in view.text
    assert WORD not in repr(view)
    assert WORD not in everything_kept(tmp_path / "cache")


def test_a_value_that_the_index_was_built_without_is_not_shown(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "a.py").write_text(f"def {WORD}(): ...\n")
    before = RepoMap(root, tmp_path / "cache")
    assert WORD in before.map(refresh=True).text
    before.close()
    after = RepoMap(
        root, tmp_path / "cache", showing=Visibility(redaction=RedactionOptions({"DEPLOY_TOKEN": WORD}))
    )
    view = after.map()
    after.close()
    assert WORD not in repr(view)


def test_the_index_holds_no_secret_that_is_known_by_its_form(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(f"{text}\n")
    mapped = RepoMap(root, tmp_path / "cache")
    view = mapped.map(max_tokens=4000, refresh=True)
    mapped.close()
    assert KEY not in view.text
    kept = everything_kept(tmp_path / "cache")
    assert "connect" in kept
    assert KEY.lower()[8:] not in kept
    assert "zx81" not in kept


def everything_kept(folder: Path) -> str:
    """The bytes of all files there, and what is packed in them, in lower case."""
    said = []
    for path in folder.rglob("*"):
        said.append(path.read_bytes())
        if path.suffix == ".sqlite3":
            with sqlite3.connect(path) as db:
                for row in db.execute("SELECT symbols, words FROM details"):
                    said += map(zlib.decompress, row)
                said += [term.encode() for (term,) in db.execute("SELECT term FROM vocabulary")]
    return b"\n".join(said).decode("utf-8", "replace").lower()


def test_what_a_generator_made_is_no_word() -> None:
    assert split_identifier("Zx81Lm20Qw93Er74Ty65Ui56") == ()
    assert split_identifier("da39a3ee5e6b4b0d3255bfef95601890afd80709") == ()
    assert split_identifier("sha512WithRSAEncryption") != ()
    assert split_identifier("Windows1252ToUtf8Converter") != ()
    assert split_identifier("test_parses_2024_01_02_and_2024_01_03") != ()


def test_what_names_things_only_is_not_looked_at() -> None:
    cleaner = Cleaner()
    said = ["def f(password, token, api_key)"]
    assert cleaner.redact_signatures(said, ["function"]) is said
    assert cleaner._loaded is None


OWN_RULE = {
    "id": "acme-key",
    "what": "acme key",
    "pattern": "acme_[a-z]{12}",
    "keywords": ["acme_"],
    "examples": ["[[acme_{{a-z 12}}]]"],
}


def test_a_map_and_its_index_hold_nothing_that_the_user_s_own_rule_covers(tmp_path: Path) -> None:
    root, cache = tmp_path / "repo", tmp_path / "cache"
    root.mkdir()
    (root / "a.py").write_text("def acme_zebraquokkax(): ...\nX = 'acme_zebraquokkay'\n")
    before = RepoMap(root, cache)
    assert "acme_zebraquokkax" in before.map(refresh=True).text
    before.close()
    mapped = RepoMap(root, cache, showing=Visibility(redaction=RedactionOptions(rules=[OWN_RULE])))
    view = mapped.map(refresh=True)
    mapped.close()
    assert "def [redacted: acme key]()" in view.text
    assert "zebraquokka" not in everything_kept(cache)
