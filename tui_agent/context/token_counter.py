"""Token counting with a tokenizer if one is installed, corrected by the provider's own counts.

Invariant: nothing is downloaded.
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
"""Number of tokens that are counted for one image."""
VOCABULARY = "cl100k_base"
_FILE = "litellm_core_utils/tokenizers/9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
"""Path of OpenAI's vocabulary inside litellm's package (both MIT)."""
_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
"""SHA-256 of the vocabulary, as published with tiktoken."""
_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
"""Pattern that splits text into words, as defined by the vocabulary."""
_PIECE = 64 * 1024


class Vocabulary(Protocol):
    """Protocol of a tokenizer that counts tokens."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


class BytePairs:
    """A tokenizer with OpenAI's vocabulary cl100k."""

    # Its counts are close to those of other vocabularies. The newer vocabulary o200k needs three times the memory.

    name = VOCABULARY

    def __init__(self, path: Path) -> None:
        # For 100,000 entries, a loop would take twice as long as these maps.
        words = path.read_bytes().split()
        ranks = dict(zip(map(binascii.a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
        tiktoken = import_module("tiktoken")
        self._encoding: Encoding = tiktoken.Encoding(
            self.name, pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={}
        )

    def count(self, text: str) -> int:
        """Return the number of tokens in a text."""
        pieces = range(0, len(text), _PIECE)
        parts = (_copy_text(text[start : start + _PIECE]) for start in pieces)
        return sum(len(self._encoding.encode_ordinary(part)) for part in parts)


def _copy_text(text: str) -> str:
    """Return a text for the encoder that does not make the original string larger."""
    # To a string that is not ASCII, the encoder attaches a UTF-8 copy, which stays as long as the string.
    return text if text.isascii() else text[:1] + text[1:]


def load_bundled_vocabulary() -> Vocabulary | None:
    """Load the vocabulary installed with the product. Return None if the file is missing or was changed.

    Blocks for a tenth of a second.
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
    """Estimates how many tokens a model counts for a text.

    The number of tokens in our own vocabulary is multiplied by a ratio, which is learnt from the provider's counts.
    """

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
        """True if the vocabulary was loaded, or if there is none to load."""
        return self._find is None

    def load(self) -> None:
        """Load the vocabulary once. Blocks for a tenth of a second."""
        find, self._find = self._find, None
        if find is not None:
            self._vocabulary = find()

    @property
    def name(self) -> str:
        """The name of the vocabulary, or `characters` without a vocabulary."""
        return self._vocabulary.name if self._vocabulary is not None else "characters"

    def count(self, text: str) -> int:
        """Count the tokens of a text in our own vocabulary."""
        if self._vocabulary is not None:
            return self._vocabulary.count(text)
        return round(len(text) / CHARS_PER_TOKEN)

    def ratio(self, model: str) -> float:
        """Return the model's ratio: the model's tokens for one token of our own vocabulary."""
        return self._calibration.ratio(model, self.name)

    def to_model_tokens(self, counted: int, model: str) -> int:
        """Convert our own token count to the model's token count."""
        return round(counted * self.ratio(model))
