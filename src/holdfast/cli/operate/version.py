"""`holdfast version`, when more than the bare command was typed: `cli.main` answers that one itself."""

from holdfast import __version__
from holdfast.cli.invocation import Call


def version(*, call: Call) -> None:
    """Print the version."""
    call.print_record({"name": "holdfast", "version": __version__}, f"holdfast {__version__}", __version__)
