"""How options of installed programs take their words, seen by what a program complains about.

A call `prog OPTION --zzz-one --zzz-two --zzz-three` complains about the first word that it takes for an option: with an
option that takes no value this is `--zzz-one`, with one that takes a word `--zzz-two`.
"""

import re
import shlex
import shutil
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tests.properties.policy.program_runs import run_calls
from tui_agent.policy.catalog.catalog import PROGRAMS, Catalog
from tui_agent.policy.catalog.catalog_entry import Entry
from tui_agent.policy.catalog.catalog_schema import Effect

WORDS = ("--zzz-one", "--zzz-two", "--zzz-three")
_LAST_OPTIONAL = frozenset({"--contains", "--no-contains", "--merged", "--no-merged"})
_UNKNOWN = re.compile(r"(?:unknown|unrecognized|invalid) (?:option|switch)\W+(zzz-\w+)")
_REFUSED = "which wasn't expected"
"""Such programs take no word that begins with a dash at all."""
_ENDING = frozenset({"--help", "--version", "--"})


@dataclass(frozen=True, slots=True)
class Probe:
    """One option of an entry with the words that it takes as the catalog says; `option` is empty for the call that shows
    how the program complains. `guarded`: only some words are allowed, and all others doubted."""

    entry: str
    option: str
    words: int
    guarded: bool = False

    @property
    def line(self) -> str:
        """The call as a line of bash."""
        names = self.entry.split(" ")
        option = [self.option] if self.option and self.option not in names else []
        return shlex.join([*names, *option, *WORDS])


def make_probes(entries: Collection[str] = ()) -> list[Probe]:
    """Probes for every option of these entries ("git log"), or of all, that only read and are installed."""
    catalog = Catalog()
    files = sorted(PROGRAMS.rglob("*.toml"))
    names = [str(file.relative_to(PROGRAMS).with_suffix("")).replace("/", " ", 1) for file in files]
    wanted = [catalog.entry(name) for name in names if not entries or name in entries]
    return [
        probe for entry in wanted if entry is not None and _can_probe(entry) for probe in _probes_of(entry)
    ]


def find_mismatches(probes: Sequence[Probe]) -> tuple[Counter[str], list[str]]:
    """Run the probes. Return how many came out as the catalog says, tell nothing or are not known to the installed
    program, and a sentence for each mismatch."""
    outputs = [outcome.output for outcome in run_calls([probe.line for probe in probes])]
    complaints = {
        probe.entry: _complaints(output)
        for probe, output in zip(probes, outputs, strict=True)
        if not probe.option
    }
    counts: Counter[str] = Counter()
    mismatches = []
    for probe, output in zip(probes, outputs, strict=True):
        if not probe.option:
            continue
        eaten = _count_eaten(complaints[probe.entry], output)
        if eaten is None or (eaten == 0 and probe.guarded):
            counts["tell nothing"] += 1
        elif eaten == probe.words or (eaten == -1 and (probe.words or _takes_any_next(probe))):
            counts["as listed"] += 1
        else:
            shown = "at least one word" if eaten == -1 else f"{eaten} words"
            mismatches.append(
                f"{probe.line}: takes {shown}, the catalog says {probe.words}; {output[:100]!r}"
            )
    return counts, mismatches


def _can_probe(entry: Entry) -> bool:
    program = entry.program
    known = shutil.which(entry.name.split(" ")[0]) is not None and not program.builtin
    if any(
        option.word == "required" for word, option in entry.options.items() if word in entry.name.split(" ")
    ):
        return False  # the entry of an option that would take the first word
    return known and program.effects <= {Effect.READS} and program.option_style not in ("none", "tar")


def _probes_of(entry: Entry) -> list[Probe]:
    probes = [Probe(entry.name, "", 0)]
    for spelling, option in entry.options.items():
        asked = "" in option.refuses  # whatever its word is, so that it does not matter how it is taken
        if not option.ends and not asked and spelling not in _ENDING:
            words = 0 if option.word != "required" else 1 if option.second is None else 2
            probes.append(Probe(entry.name, spelling, words, option.means == "number" or bool(option.values)))
    return probes


def _takes_any_next(probe: Probe) -> bool:
    """Return True for options of git that take the next word if there is one. They are listed as if they left it alone, so
    that it is judged as an option or operand of its own, too."""
    return probe.entry.startswith("git ") and probe.option in _LAST_OPTIONAL


def _complaints(output: str) -> list[str]:
    """Lines about the first word, as patterns of lines about any."""
    name = WORDS[0].removeprefix("--")
    lines = [line for line in output.splitlines() if name in line]
    return [line.replace(name, "{}") for line in lines[:1]]


def _count_eaten(complaints: Sequence[str], output: str) -> int | None:
    """How many words an option took: -1 for at least one, None where that cannot be seen."""
    if _REFUSED in output:
        return None
    unknown = _UNKNOWN.search(output)
    for count, word in enumerate(WORDS):
        name = word.removeprefix("--")
        if unknown is not None and unknown[1] == name:
            return count
        if any(complaint.replace("{}", name) in output.splitlines() for complaint in complaints):
            return count
    return -1 if complaints and WORDS[0].removeprefix("--") in output else None
