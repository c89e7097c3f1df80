"""A question is found in the form of an issue that somebody filled in."""

import time

import pytest

from tests.stubs.rows import rows
from tui_agent.context.repomap.question_topic import strip_boilerplate, strip_stack_frames
from tui_agent.context.repomap.question_words import Query

QUESTION = "The lexer loses the last token of a line"
FORM = f"""<!-- Thanks for filing an issue!
Please read the contributing guide. -->
### Checklist
- [x] I have searched the existing issues
  and pull requests
- [ ] I have included a minimal test case

**Describe the bug**
A clear and concise description of what the bug is.

{QUESTION}

**To Reproduce**
Steps to reproduce the behavior:
1. Go to '...'
2. See error

### RuboCop version
```
1.56.0 (using Parser 3.2.2, rubocop-ast 1.29)
```
### Environment
```
System:
    OS: macOS 13.4
    Shell: 5.9 - /bin/zsh
```
**Desktop (please complete the following information):**
 - OS: Linux
 - Browser: Chrome, Safari

Python: 3.11.4
**Celery version**: 5.3
### Relevant log output
_No response_
### Code of Conduct
- [X] We agree to follow it
"""


def test_a_form_around_a_question_leaves_the_question() -> None:
    assert strip_boilerplate(FORM).split() == QUESTION.split()
    assert Query(FORM).weights == Query(QUESTION).weights


@rows(
    "text",
    [
        QUESTION,
        "# Make the lexer faster\n\n## Support Unicode identifiers\nThey are cut.",
        "Version: the flag prints nothing in a shell that is not interactive\nPlease mend it.",
        "How is `<!-- x -->` parsed?\nIt is lost.",
        "Is <!-- ever closed?\nThe lexer runs on.",
        "- [ ] parse the header\n- [ ] write the tests",
        "Note: the cache: it is never emptied\nsee `a=1`",
        "```yaml\n# Environment\nkey: value\n```\nis read wrongly",
        "```python\nversion = system()\nos: Linux\n```\nversion = read() fails",
        "**Important**\nKeep the order.",
        "## 環境\n順序\n## Ошибка bug\nпорядок",
        "### Environment\n- OS: Linux",
        "Fix this:\n# Version\ndef get_version() -> str:\n    return '1.2.3'",
        "Fix this:\n# Environment\nexport PATH=/opt/bin\nrun() {\n  echo 1\n}",
        "Fix this:\n# OS\nimport os\nname = os.uname()\n# Version\nread(name)",
        "Mend both:\nDevice: lost on reset\nArchitecture: arm crash",
        "Mend both:\nDevice: lost 3 times on reset\nKernel: the 2nd is never read",
        "Mend both:\nversion = 1.2.3 is not parsed\nversion: 1.2.3, which is old, is taken",
        "version: 3.2.1\n",
        "",
    ],
)
def test_what_somebody_wrote_stays(text: str) -> None:
    assert strip_boilerplate(text).split() == text.split()


@rows(
    "text, wanted",
    [
        ("## Steps to reproduce\nOpen a socket", "Open a socket"),
        ("Motivation:\nNames collide\n\nResult:\nThey do not", "Names collide They do not"),
        ("Names collide <!-- keep this --> often", "Names collide often"),
        ("It hangs\n- node: v18.12.1\n- npm: 9.5.0", "It hangs"),
        ("It hangs\nversion = 1.2.3\nPython: 3.11.4 (main, Jun 7), 64 bit\nnode: v18.1-rc.1", "It hangs"),
        ("It hangs\nOS: Windows 11 Pro\nBrowser: Chrome, Safari\nCPU: (8) x64 AMD Ryzen 7", "It hangs"),
        (
            "It hangs\n## Environment\nA proxy that is read too late.",
            "It hangs A proxy that is read too late.",
        ),
        ("It hangs\n## Environment\nPython 3.11 on an M1 mac", "It hangs"),
        ('It hangs\n### Versions\n```json\n{\n "vite": "^4.1.2"\n}\n```', "It hangs"),
        ("It hangs\n# OS\nFedora\n# Version\n1.2", "It hangs"),
        ("It hangs\n### Logs of the server\n_No response_", "It hangs"),
        ("It hangs\n### Logs of the server\n", "It hangs ### Logs of the server"),
        ("# Environment\nLinux of a friend\n# It hangs", "# It hangs"),
        ("- [x] cut the header\n- [ ] parse it", "- [ ] parse it"),
    ],
)
def test_what_a_form_adds_goes(text: str, wanted: str) -> None:
    assert strip_boilerplate(text).split() == wanted.split()


TRACE = """It hangs
Traceback (most recent call last):
  File "/home/x/venv/lib/python3.11/site-packages/urllib3/pool.py", line 7, in urlopen
    reply = self._make_request(
            ^^^^^^^^^^^^^^^^^^^
  File "/home/x/shop/cart.py", line 12, in price_of
    return rounded(price)
  File "/usr/lib/python3.11/socket.py", line 705, in readinto
    return self._sock.recv_into(b)
ResetError: gone
    at Hook.eval (/app/node_modules/tapable/lib/Hook.js:33:10)
    at async cartOf (/app/src/cart.ts:3:1)
    at Object.<anonymous> (/app/src/shop.ts:9:1)
    at async Promise.all (<anonymous>)
    at node:internal/main:23:47
    at Module._compile (node:internal/modules/cjs/loader:1254:14)
\tat org.junit.Runner.run(Runner.java:115)
\tat java.base/java.util.Streams.accept(Unknown Source)
\t... 72 more
at last"""
OWN = """It hangs
Traceback (most recent call last):
  File "/home/x/shop/cart.py", line 12, in price_of
    return rounded(price)
ResetError: gone
    at async cartOf (/app/src/cart.ts:3:1)
    at Object.<anonymous> (/app/src/shop.ts:9:1)
at last"""


def test_frames_of_foreign_code_have_no_words() -> None:
    assert strip_stack_frames(TRACE) == OWN
    assert Query(TRACE).weights == Query(OWN).weights
    assert Query(TRACE).text == TRACE
    only = "\tat org.shop.Cart.priceOf(Cart.java:7)\n\tat org.shop.Main.main(Main.java:7)"
    assert strip_stack_frames(only) == only


@pytest.mark.parametrize(
    "part",
    [
        "<!--",
        "<!-- --> `<!--",
        "# # ",
        "**a",
        "a: ",
        "- [x] ",
        "x=v1.",
        "\n```",
        "Ab ",
        " :",
        "at a(",
        "at ",
        ".a",
    ],
)
def test_a_long_question_takes_little_time(part: str) -> None:
    started = time.process_time()
    strip_stack_frames(strip_boilerplate(f"\n{part * (20_000 // len(part))}\n"))
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    ("heading", "body"),
    [
        ("### Versión", "2.3.1"),
        ("### Umgebung", "- Windows 11\n- Python 3.11.4"),
        ("### 版本", "v1.4.2"),
        ("### Système", "Ubuntu 22.04 (x86_64)"),
    ],
)
def test_a_section_of_versions_alone_is_left_out_in_whatever_language_its_heading_is(
    heading: str, body: str
) -> None:
    text = f"El carrito pierde artículos\n\n{heading}\n\n{body}\n\n### Qué pasa\n\nel total es cero"
    left = strip_boilerplate(text)
    assert heading not in left and body not in left and "el total es cero" in left and "carrito" in left


@pytest.mark.parametrize(
    "section",
    [
        "### Datei\n\nsrc/cart.py",
        "### Datei\n\ncart_v1.2.py",
        "### Función\n\nv2_cart",
        "### Pasos\n\n1. abrir\n2. pagar",
        "### Total\n\n3",
        "### Fallo\n\ncarrito vacío desde 2.3.1",
        "### Versión\n\n```\ntotal(2.3)\n```",
    ],
)
def test_a_section_that_says_more_than_versions_is_left(section: str) -> None:
    assert section.splitlines()[-1] in strip_boilerplate(
        f"El carrito pierde artículos\n\n{section}\n\nalgo más"
    )
    assert section.splitlines()[2] in strip_boilerplate(
        f"El carrito pierde artículos\n\n{section}\n\nalgo más"
    )
