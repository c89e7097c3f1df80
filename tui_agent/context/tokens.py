"""L3: how many tokens a text is, as an estimate that learns from the provider's own counts.

Invariant: counting is incremental: a text that was counted is not counted again.
"""

CHARS_PER_TOKEN = 4.0
_SMOOTHING = 0.3
_LOWEST, _HIGHEST = 0.4, 2.5


class TokenEstimate:
    """Characters divided by 4, times a ratio (an exponential moving average of truth over estimate).

    The ratio starts at 1 and stays between 0.4 and 2.5, so that one odd count cannot spoil it.
    """

    def __init__(self) -> None:
        self.ratio = 1.0
        self.observed = 0

    def of_chars(self, chars: int) -> int:
        """Tokens of so many characters, rounded."""
        return round(chars / CHARS_PER_TOKEN * self.ratio)

    def observe(self, chars: int, tokens: int) -> None:
        """Learn that a request of `chars` characters was counted as `tokens` by the provider."""
        if chars < 400 or tokens <= 0:
            return
        truth = min(max(tokens / (chars / CHARS_PER_TOKEN), _LOWEST), _HIGHEST)
        weight = 1.0 if self.observed == 0 else _SMOOTHING
        self.ratio += (truth - self.ratio) * weight
        self.observed += 1
