"""How many tokens a text is: by a vocabulary where one is at hand, corrected by the provider's own counts.

Invariant: nothing is fetched: without a vocabulary on this machine characters are counted, and the name says so.
"""

import binascii
import hashlib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tui_agent.folds.context.token_calibration import Calibration

if TYPE_CHECKING:
    from tiktoken import Encoding

CHARS_PER_TOKEN = 4.0
IMAGE_TOKENS = 1200
"""What an image is counted as."""
VOCABULARY = "cl100k_base"
_FILE = "litellm_core_utils/tokenizers/9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
"""Where litellm's package (MIT) brings OpenAI's vocabulary (MIT): a line a token, base64 and rank."""
_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
"""Published with tiktoken; a file that differs is not used."""
_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
"""How text is split before it is looked up: part of the vocabulary's definition."""
_PIECE = 64 * 1024

Count = Callable[[str], int]


class Vocabulary(Protocol):
    """Counts by a model's own tokens."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


class BytePairs:
    """OpenAI's cl100k: near enough to every other vocabulary for a share of the window, and a third of o200k's memory."""

    name = VOCABULARY

    def __init__(self, path: Path) -> None:
        # A hundred thousand times a token and its rank: a loop of ours would take twice as long.
        words = path.read_bytes().split()
        ranks = dict(zip(map(binascii.a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
        tiktoken = import_module("tiktoken")
        self._encoding: Encoding = tiktoken.Encoding(
            self.name, pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={}
        )

    def count(self, text: str) -> int:
        """Its tokens; a long text in pieces, which costs at most a token at each joint."""
        pieces = range(0, len(text), _PIECE)
        return sum(len(self._encoding.encode_ordinary(_apart(text[at : at + _PIECE]))) for at in pieces)


def _apart(text: str) -> str:
    """A copy, where what reads a text of more than ASCII would leave its UTF-8 with it for as long as it lives."""
    return text if text.isascii() else text[:1] + text[1:]


def bundled() -> Vocabulary | None:
    """The vocabulary that is installed with the product; None where it is not there or not what it should be.

    Takes a tenth of a second: not to be called on the event loop.
    """
    package = find_spec("litellm")
    for place in (package.submodule_search_locations if package is not None else None) or ():
        path = Path(place, _FILE)
        try:
            if hashlib.sha256(path.read_bytes()).hexdigest() == _SHA256:
                return BytePairs(path)
        except (OSError, ImportError, ValueError, binascii.Error):
            continue
    return None


class Tokens:
    """Counts texts. A count times the model's ratio, which `calibration` has of the providers' own counts, is the estimate."""

    def __init__(
        self,
        find: Callable[[], Vocabulary | None] | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        self._find = find
        self._vocabulary: Vocabulary | None = None
        self._calibration = calibration or Calibration()

    @property
    def ready(self) -> bool:
        """Whether the vocabulary was looked for."""
        return self._find is None

    def load(self) -> None:
        """Look for the vocabulary, once. Blocks for a tenth of a second."""
        find, self._find = self._find, None
        if find is not None:
            self._vocabulary = find()

    @property
    def name(self) -> str:
        """What counts."""
        return self._vocabulary.name if self._vocabulary is not None else "characters"

    def count(self, text: str) -> int:
        """Tokens of a text, before any correction."""
        if self._vocabulary is not None:
            return self._vocabulary.count(text)
        return round(len(text) / CHARS_PER_TOKEN)

    def ratio(self, model: str) -> float:
        """What a count is multiplied with for this model."""
        return self._calibration.ratio(model, self.name)

    def scaled(self, counted: int, model: str) -> int:
        """The estimate of a count for this model."""
        return round(counted * self.ratio(model))
