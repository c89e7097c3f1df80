"""Many small rows in one test: what a row of its own costs pytest is more than most of them take to judge.

All rows are played, whatever became of those before, and each that fails is named with its reason.
"""

import functools
import inspect
import traceback
from collections.abc import Callable, Collection
from types import TracebackType

Test = Callable[..., None]


def rows(names: str, values: Collection[object]) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, for one test of all rows. Fixtures are the same for all of them."""
    named = [name.strip() for name in names.split(",")]

    def over(test: Test) -> Test:
        @functools.wraps(test)
        def played(**fixtures: object) -> None:
            failed: list[str] = []
            for value in values:
                row = dict(zip(named, value if len(named) > 1 else (value,), strict=True))  # type: ignore[arg-type]
                with _Noted(row, failed):
                    test(**row, **fixtures)
            assert values, "there is no row"
            assert not failed, f"{len(failed)} of {len(values)} rows:\n\n" + "\n".join(failed)

        own = inspect.signature(test)
        left = [one for one in own.parameters.values() if one.name not in named]
        played.__signature__ = own.replace(parameters=left)  # type: ignore[attr-defined]
        return played

    return over


class _Noted:
    """Writes down what a row raises, with the line of the test, and goes on; but not where the run is stopped."""

    def __init__(self, row: dict[str, object], failed: list[str]) -> None:
        self._row = row
        self._failed = failed

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        at = traceback.extract_tb(trace)[min(1, len(traceback.extract_tb(trace)) - 1)].lineno
        said = "".join(traceback.format_exception_only(error)).rstrip()
        shown = ", ".join(f"{name}={value!r}" for name, value in self._row.items())
        self._failed.append(f"{shown}, in line {at}\n{said}\n")
        return True
