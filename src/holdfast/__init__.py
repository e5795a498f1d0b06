"""Holdfast: every job follows a declared lifecycle, and the engine can prove that it did."""

from typing import TYPE_CHECKING

__all__ = ["__version__"]

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        # importlib.metadata takes longer to import than the kernel: only who asks for the version pays.
        if name == "__version__":
            from importlib.metadata import version

            return version("holdfast")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
