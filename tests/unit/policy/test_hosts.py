"""Hosts in every spelling: what a rule allows is certain, what a rule denies is found."""

import ipaddress
import socket
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stubs.rows import rows
from tui_agent.errors import ConfigError
from tui_agent.policy.rules.grammar import fits_host, parse_rule
from tui_agent.policy.rules.hosts import possible_hosts, read_host

LOOPBACK = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0X7F.0x0.0.1", "0177.0.0.1", "017700000001",
    "127.0.0.1.", "[::ffff:127.0.0.1]", "::ffff:7f00:1", "0:0:0:0:0:FFFF:127.0.0.1", "::ffff:127.0.0.1", "localhost",
    "LOCALHOST.", "a.localhost", "0.0.0.0", "0", "[::]", "0x0", "64:ff9b::127.0.0.1", "2002:7f00:1::", "::127.0.0.1",
    "１２７.0.0.1", "127。0。0。1", "127.0.0.1:8080", "[::ffff:127.0.0.1]:80", "00000177.0.0.1",
]  # fmt: skip


@rows("host", LOOPBACK)
def test_an_address_is_denied_in_every_spelling(host: str) -> None:
    assert fits_host("127.0.0.0/8", host, certain=False), read_host(host)
    assert fits_host("127.0.0.1", host, certain=False)
    assert not fits_host("10.0.0.1", host, certain=False)


@pytest.mark.parametrize(
    "host",
    ["::1", "[::1]", "0:0:0:0:0:0:0:1", "[0000::0001]:443", "::0.0.0.1", "localhost", "[::]"],
)
def test_an_address_of_the_newer_kind_is_denied_in_every_spelling(host: str) -> None:
    assert fits_host("::1", host, certain=False)


@rows(
    "host",
    [
        "",
        ".",
        "..",
        "a..b",
        ".example.org",
        "example.org..",
        "example.org\0",
        "example.org\0.evil.net",
        "ex ample.org",
        "user@example.org",
        "user:pw@example.org",
        "example.org/",
        "example.org\\",
        "example.org#",
        "example.org?x",
        "example.org%2e",
        "http://example.org",
        "example.org:",
        "example.org:0",
        "example.org:99999",
        "example.org:80:80",
        "[example.org]",
        "[::1",
        "::1]",
        "[::1]x",
        "fe80::1%eth0",
        "1.2.3.4.5",
        "256.1.1.1.1",
        "0xzz.1",
        "4294967296",
        "-a.org",
        "a-.org",
        "a\nb",
        "exa\u200bmple\0.org",
        "\ud800.org",
        "a" * 64 + ".org",
        "é" * 300,
        "example.org:８０",
        "1.2.3.999",
    ],
)
def test_what_is_no_host_has_no_reading(host: str) -> None:
    assert read_host(host) is None
    assert not fits_host("example.org", host, certain=False)
    assert not fits_host("*", host)


@rows(
    "pattern, host, allows, stops",
    [
        ("example.org", "EXAMPLE.org.", True, True),
        ("example.org", "example.org:443", True, True),
        ("example.org:443", "example.org:443", True, True),
        ("example.org:443", "example.org:80", False, False),
        ("example.org:443", "example.org", False, True),
        ("example.org", "notexample.org", False, False),
        ("example.org", "example.org.evil.net", False, False),
        ("*.example.org", "a.b.example.org", True, True),
        ("*.example.org", "example.org", False, False),
        ("*.example.org", "aexample.org", False, False),
        ("bücher.example", "BÜCHER.example", True, True),
        ("bücher.example", "xn--bcher-kva.example", True, True),
        ("xn--bcher-kva.example", "bu\u0308cher.example", True, True),
        ("faß.example", "faß.example", True, True),
        ("fass.example", "faß.example", False, True),
        ("xn--fa-hia.example", "faß.example", False, True),
        ("example.org", "ｅｘａｍｐｌｅ．ｏｒｇ", True, True),
        ("example.org", "ex\u00adample.org", True, True),
        ("i❤.example", "I❤.example", True, True),
        ("kak.example", "ka\u200dk.example", False, True),
        ("127.0.0.1", "0177.0.0.1", False, True),
        ("177.0.0.1", "0177.0.0.1", False, True),
        ("8.8.8.8", "010.8.8.8", False, True),
        ("10.0.0.0/8", "10.1.2.3", True, True),
        ("10.0.0.0/8", "11.1.2.3", False, False),
        ("2001:db8::/32", "[2001:DB8::1]", True, True),
        ("2001:db8::1", "2001:0db8:0:0:0:0:0:1", True, True),
        ("*", "anything.example", True, True),
    ],
)
def test_rules_for_hosts(pattern: str, host: str, allows: bool, stops: bool) -> None:
    assert fits_host(pattern, host) is allows
    assert fits_host(pattern, host, certain=False) is stops


@pytest.mark.parametrize(
    "rest",
    [
        "a b",
        "user@example.org",
        "*.*",
        "*example.org",
        "ex*.org",
        "*.127.0.0.1",
        "10.0.0.1/8",
        "http://a.org",
        "a..b",
        "a:x",
    ],
)
def test_a_rule_that_names_no_host_is_refused(rest: str) -> None:
    with pytest.raises(ConfigError, match=r"is not a (host|network)"):
        parse_rule(f"deny connect {rest}")


@rows(
    "word",
    [
        "evil.example",
        "http://evil.example",
        "https://EVIL.example:8443/x?y#z",
        "http://good.org@evil.example/",
        "http://evil.example\\@good.org/",
        "http://good.org\\@evil.example/",
        "http://good.org#@evil.example/",
        "http://evil.example#@good.org/",
        "http:evil.example",
        "http:/evil.example",
        "http:///evil.example",
        "//evil.example/x",
        "git@evil.example:a/b.git",
        "user:pw@evil.example",
        "--url=https://evil.example",
        "ftp://evil.example.",
        "evil.example:22",
        "ssh://git@evil.example:22/x",
        "http:\\\\evil.example\\x",
        "http://u:p@evil.example:80@good.org/",
    ],
)
def test_a_denied_host_is_found_in_a_word_of_a_command(word: str) -> None:
    assert any(
        fits_host("evil.example", name, certain=False) for host in possible_hosts(word) for name in host.names
    )


@given(st.integers(0, 2**32 - 1), st.data())
def test_two_readers_of_an_address_never_disagree(number: int, data: st.DataObject) -> None:
    parts = list(ipaddress.IPv4Address(number).packed)
    kept = data.draw(st.integers(0, 3))
    numbers = [*parts[:kept], int.from_bytes(bytes(parts[kept:]), "big")]
    written = ".".join(
        data.draw(st.sampled_from([str, hex, lambda octal: f"0{octal:o}"]))(part) for part in numbers
    )
    real = socket.inet_ntoa(socket.inet_aton(written))
    host = read_host(written)
    assert host is not None and real in host.names
    assert fits_host(real, written, certain=False)
    if fits_host(real, written):
        assert host.names == {real} or number == 0


@given(
    st.text(max_size=30), st.sampled_from(["evil.example", "good.org"]), st.text("\\/?#@:.% \t\0", max_size=4)
)
def test_the_host_that_a_url_parser_finds_is_among_those_that_are_looked_at(
    front: str, host: str, glue: str
) -> None:
    try:
        found = urlsplit(f"http://{front}{glue}{host}").hostname
    except ValueError:
        return
    read = read_host(found or "")
    if read is not None:
        hosts = possible_hosts(f"http://{front}{glue}{host}")
        seen = {name for candidate in hosts for name in candidate.names}
        assert read.names & seen


@given(st.text(max_size=40), st.booleans())
def test_any_text_is_read_without_a_fault(text: str, certain: bool) -> None:
    host = read_host(text)
    assert host is None or host.names
    fits_host("*.example.org", text, certain=certain)
    list(possible_hosts(text))
