"""What `pip install holdfast` does not bring: where it is missed, the error says which extra has it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.kernel.errors import HoldfastError


class MissingExtraError(HoldfastError):
    """A package is not installed that this needs."""


@contextmanager
def needs(extra: str, what: str, field: str | None = None) -> Iterator[None]:
    """What is imported inside is of an extra: MissingExtraError when it is not installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0].replace("_", "-")
        if package == "holdfast":
            raise
        raise MissingExtraError(
            f"{what} needs the {package} package", field=field, remedy=f"pip install 'holdfast[{extra}]'"
        ) from None
