"""The command line. Data goes to stdout, words and progress to stderr, the outcome into the exit code."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (by default the process's own) and return its exit code."""
    import sys

    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["version"], ["--version"]):
        # Asked by scripts and prompts: answered before the parser, which alone takes longer, is imported.
        from holdfast import __version__

        print(f"holdfast {__version__}")
        return 0
    from holdfast.extras import MissingExtraError, needs

    try:
        with needs("cli", "the command line"):
            from holdfast.cli.app import run
    except MissingExtraError as missing:
        print(f"holdfast: {missing}", file=sys.stderr)
        return 1
    return run(words)
