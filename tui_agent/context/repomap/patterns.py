"""Regular expressions for symbols, for languages without an installed grammar.

Invariant: every pattern is anchored at the start of a line and has no nested repetition, so its time is limited by the
text's length; the group `name` is the symbol.
"""

import re
from collections.abc import Iterable, Sequence
from re import Pattern
from typing import TypeAlias

Patterns: TypeAlias = Sequence[tuple[str, Pattern[bytes]]]
"""Kinds of symbols with their patterns, applied in this order to the whole file."""


def _pairs(*pairs: tuple[str, str]) -> Sequence[tuple[str, str]]:
    return pairs


def compile_patterns(pairs: Iterable[tuple[str, str]]) -> Patterns:
    """Compile the patterns; `^` matches at each line."""
    return tuple((kind, re.compile(text.encode(), re.MULTILINE)) for kind, text in pairs)


_MODS = r"^[ \t]*(?:(?:public|private|protected|internal|static|final|abstract|sealed|open|override|async|virtual|partial|inline|data|suspend|fileprivate|mutating|const|lazy|case|implicit) +){0,6}"
_ID = r"(?P<name>[A-Za-z_]\w*)"

PATTERNS: dict[str, Sequence[tuple[str, str]]] = {
    "sql": _pairs(
        (
            "table",
            r"(?i:^[ \t]*create +(?:or +replace +)?(?:temp(?:orary)? +)?(?:table|view|materialized +view|index|unique +index|type|schema|sequence)(?: +if +not +exists)? +)[\"`\[]?(?P<name>[\w.]+)",
        ),
        (
            "function",
            r"(?i:^[ \t]*create +(?:or +replace +)?(?:function|procedure|trigger) +)[\"`\[]?(?P<name>[\w.]+)",
        ),
    ),
    "html": _pairs(
        ("id", r"^[^\n]{0,200}?<\w+[^>\n]{0,200}? id=[\"'](?P<name>[\w-]+)"),
        ("heading", r"^[ \t]*<h[1-6][^>\n]{0,100}>(?P<name>[^<\n]{1,100})"),
        ("block", r"^[^\n]{0,200}?\{\{-? *(?:define|block) +\"(?P<name>[^\"\n]+)"),
    ),
    "css": _pairs(
        ("rule", r"^(?P<name>[.#@]?[a-zA-Z_][^{};\n]{0,100}?) *\{"),
        ("variable", r"^[ \t]*(?P<name>(?:--|\$|@)[\w-]+) *:"),
    ),
    "toml": _pairs(("section", r"^\[+(?P<name>[^\]\n]{1,120})\]"), ("key", r"^(?P<name>[\w.-]+) *=")),
    "ini": _pairs(("section", r"^\[(?P<name>[^\]\n]{1,120})\]")),
    "yaml": _pairs(("key", r"^(?:  )?(?P<name>[A-Za-z_][\w./-]*):(?: |$)")),
    "bash": _pairs(
        ("function", r"^[ \t]*(?:function[ \t]+)?(?P<name>[\w:.-]+)[ \t]*\(\)"),
        ("function", r"^[ \t]*function[ \t]+(?P<name>[\w:.-]+)[ \t]*\{"),
        ("variable", r"^(?:(?:export|readonly|declare(?: -\w+)?) +)?(?P<name>[A-Za-z_]\w*)="),
    ),
    "make": _pairs(
        ("target", r"^(?P<name>[\w./%-]+)[ \t]*:(?![=:])"), ("variable", r"^(?P<name>\w+)[ \t]*[:?+]?=")
    ),
    "docker": _pairs(("stage", r"(?i:^from +\S+ +as +)(?P<name>[\w.-]+)")),
    "cmake": _pairs(
        (
            "function",
            r"(?i:^[ \t]*(?:function|macro|add_executable|add_library|project) *\( *)(?P<name>[\w.-]+)",
        )
    ),
    "proto": _pairs(("message", r"^[ \t]*(?:message|enum|service|rpc|oneof|extend) +(?P<name>\w+)")),
    "graphql": _pairs(
        (
            "type",
            r"^[ \t]*(?:extend +)?(?:type|interface|enum|input|union|scalar|query|mutation|fragment|subscription|directive) +(?P<name>@?\w+)",
        )
    ),
    "terraform": _pairs(
        (
            "block",
            r"^(?:resource|data|module|variable|output|provider) +\"(?P<name>[^\"\n]+(?:\" +\"[^\"\n]+)?)",
        )
    ),
    "tcl": _pairs(
        ("function", r"^[ \t]*proc +(?P<name>[\w:]+)"),
        ("test", r"^[ \t]*test +[{\"](?P<name>[^}\"\n]{1,120})"),
    ),
    "rst": _pairs(
        ("heading", r"^(?P<name>[^\s.=~^*#-][^\n]{0,100})\n(?:={3,}|-{3,}|~{3,}|\^{3,}|\*{3,}|#{3,}|\+{3,})$")
    ),
    "csharp": _pairs(
        ("class", _MODS + r"(?:class|interface|struct|record|enum|namespace) +(?P<name>[\w.]+)"),
        (
            "method",
            r"^[ \t]*(?:(?:public|private|protected|internal|static|override|virtual|async|abstract|sealed) +){1,5}[\w<>\[\],.?]+ +(?P<name>\w+) *[(<]",
        ),
    ),
    "php": _pairs(
        ("class", _MODS + r"(?:class|interface|trait|enum) +" + _ID),
        ("function", _MODS + r"function +&?" + _ID),
    ),
    "kotlin": _pairs(
        ("class", _MODS + r"(?:class|interface|object|enum class) +" + _ID),
        ("function", _MODS + r"fun +(?:<[^>\n]{1,80}> +)?(?:[\w<>?]+\.)?" + _ID),
    ),
    "swift": _pairs(
        ("class", _MODS + r"(?:class|struct|protocol|enum|extension|actor) +" + _ID),
        ("function", _MODS + r"func +" + _ID),
    ),
    "scala": _pairs(
        ("class", _MODS + r"(?:class|trait|object) +" + _ID), ("function", _MODS + r"def +" + _ID)
    ),
    "lua": _pairs(
        ("function", r"^[ \t]*(?:local +)?function +(?P<name>[\w.:]+)"),
        ("function", r"^[ \t]*(?:local +)?(?P<name>[\w.]+) *= *function\b"),
    ),
    "dart": _pairs(
        ("class", r"^(?:abstract +)?(?:class|mixin|enum|extension|typedef) +" + _ID),
        (
            "function",
            r"^[ \t]*(?:static +|final +)?[A-Z_a-z][\w<>?, ]{0,60} +(?P<name>\w+)\([^;\n]{0,200}\) *(?:async\*? *)?(?:\{|=>)",
        ),
    ),
    "elixir": _pairs(
        ("module", r"^[ \t]*(?:defmodule|defprotocol|defimpl) +(?P<name>[\w.]+)"),
        ("function", r"^[ \t]*(?:defp?|defmacrop?) +(?P<name>\w+[?!]?)"),
    ),
    "haskell": _pairs(
        ("type", r"^(?:data|newtype|type|class) +(?:[^\n=]{0,80}=> *)?(?P<name>[A-Z]\w*)"),
        ("function", r"^(?P<name>[a-z_][\w']*) *::"),
    ),
    "ocaml": _pairs(
        ("function", r"^[ \t]*(?:let|and)(?: rec)? +(?P<name>[a-z_][\w']*)"),
        ("type", r"^[ \t]*(?:type|module|exception) +(?:rec +)?(?P<name>[\w']+)"),
    ),
    "perl": _pairs(("function", r"^[ \t]*sub +(?P<name>\w+)"), ("module", r"^package +(?P<name>[\w:]+)")),
    "r": _pairs(("function", r"^[ \t]*(?P<name>[\w.]+) *(?:<-|=) *function\b")),
    "julia": _pairs(
        ("function", r"^[ \t]*(?:function|macro) +(?P<name>[\w.!]+)"),
        ("type", r"^[ \t]*(?:mutable +)?(?:struct|module|abstract type) +(?P<name>\w+)"),
    ),
    "zig": _pairs(
        ("function", r"^[ \t]*(?:pub +)?(?:export +|inline +)?fn +(?P<name>\w+)"),
        ("type", r"^[ \t]*(?:pub +)?const +(?P<name>\w+) *= *(?:struct|enum|union)"),
    ),
    "nim": _pairs(("function", r"^[ \t]*(?:proc|func|method|template|macro|iterator) +`?(?P<name>\w+)")),
    "clojure": _pairs(
        (
            "function",
            r"^[ \t]*\((?:defn-?|def|defmacro|defprotocol|defrecord|deftype|defmulti|ns) +(?:\^\S+ +)?(?P<name>[^\s()\[\]]+)",
        )
    ),
    "erlang": _pairs(("function", r"^(?P<name>[a-z]\w*)\("), ("module", r"^-module\((?P<name>\w+)")),
    "fsharp": _pairs(
        ("function", r"^[ \t]*let +(?:rec +|inline +|private +){0,3}(?P<name>\w+)"),
        ("type", r"^[ \t]*(?:type|module) +(?P<name>[\w.]+)"),
    ),
    "groovy": _pairs(
        ("class", _MODS + r"(?:class|interface|trait|enum) +" + _ID),
        ("function", _MODS + r"def +(?P<name>\w+) *\("),
    ),
    "objc": _pairs(
        ("class", r"^@(?:interface|implementation|protocol) +(?P<name>\w+)"),
        ("method", r"^[-+] *\([^)\n]{1,80}\) *(?P<name>\w+)"),
        ("function", r"^[A-Za-z_][\w *]{0,80}?(?P<name>\w+)\([^;\n]{0,200}\) *\{"),
    ),
    "powershell": _pairs(("function", r"(?i:^[ \t]*(?:function|filter|class) +)(?P<name>[\w:-]+)")),
    "solidity": _pairs(
        ("contract", r"^[ \t]*(?:abstract +)?(?:contract|interface|library|struct|enum) +(?P<name>\w+)"),
        ("function", r"^[ \t]*(?:function|modifier|event|error) +(?P<name>\w+)"),
    ),
    "vue": _pairs(
        ("function", r"^[ \t]*(?:export +)?(?:default +)?(?:async +)?function +(?P<name>\w+)"),
        (
            "function",
            r"^[ \t]*(?:export +)?(?:const|let|var) +(?P<name>\w+) *= *(?:async *)?(?:\(|function\b)",
        ),
    ),
    "vim": _pairs(("function", r"^[ \t]*fu(?:nction)?!? +(?P<name>[\w:#.]+)")),
    "lisp": _pairs(
        (
            "function",
            r"^[ \t]*\((?:defun|defmacro|defvar|defcustom|defclass|defmethod|define|defparameter) +\(?(?P<name>[^\s()]+)",
        )
    ),
    "fortran": _pairs(
        (
            "function",
            r"(?i:^[ \t]*(?:(?:pure|elemental|recursive|integer|real|logical) +){0,3}(?:subroutine|function|module|program|type) +)(?P<name>\w+)",
        )
    ),
    "pascal": _pairs(
        (
            "function",
            r"(?i:^[ \t]*(?:procedure|function|constructor|destructor|unit|program) +)(?P<name>[\w.]+)",
        )
    ),
    "asm": _pairs(("label", r"^(?P<name>[A-Za-z_.][\w.$]*):")),
}
"""Patterns by language."""

SUFFIXES: dict[str, str] = {
    suffix: name
    for name, suffixes in {
        "sql": "sql psql ddl",
        "html": "html htm xhtml jinja jinja2 j2 tmpl gohtml erb ejs hbs mustache twig",
        "css": "css scss sass less",
        "toml": "toml",
        "ini": "ini cfg conf properties editorconfig",
        "yaml": "yaml yml",
        "make": "mk mak",
        "cmake": "cmake",
        "docker": "dockerfile",
        "proto": "proto",
        "graphql": "graphql gql graphqls",
        "terraform": "tf hcl",
        "tcl": "tcl",
        "rst": "rst",
        "csharp": "cs",
        "php": "php",
        "kotlin": "kt kts",
        "swift": "swift",
        "scala": "scala sc sbt",
        "lua": "lua",
        "dart": "dart",
        "elixir": "ex exs",
        "haskell": "hs lhs",
        "ocaml": "ml mli",
        "perl": "pl pm t",
        "r": "r",
        "julia": "jl",
        "zig": "zig",
        "nim": "nim",
        "clojure": "clj cljs cljc edn",
        "erlang": "erl hrl",
        "fsharp": "fs fsx fsi",
        "groovy": "groovy gradle",
        "objc": "m mm",
        "powershell": "ps1 psm1",
        "solidity": "sol",
        "vue": "vue svelte astro",
        "vim": "vim",
        "lisp": "el lisp lsp scm rkt ss",
        "fortran": "f f90 f95 f03 for",
        "pascal": "pas pp dpr",
        "asm": "s asm",
    }.items()
    for suffix in suffixes.split()
}
"""Languages by file name suffix."""
