"""`holdfast completion`: what a shell needs to complete our commands."""

from __future__ import annotations

from typing import Literal

from holdfast.cli.invocation import Call

INSTALL = {
    "bash": 'eval "$(holdfast completion bash)"   # in ~/.bashrc',
    "zsh": "holdfast completion zsh > ~/.zfunc/_holdfast   # with fpath+=~/.zfunc before compinit",
    "fish": "holdfast completion fish > ~/.config/fish/completions/holdfast.fish",
}


def completion(shell: Literal["bash", "zsh", "fish"], /, *, call: Call) -> None:
    """Print the completion script of a shell.

    Args:
        shell: bash, zsh or fish.
    """
    from holdfast.cli.app import app, join_plugins

    join_plugins()
    print(app.generate_completion(prog_name="holdfast", shell=shell), end="")
    if call.err.is_terminal:
        call.say(f"to install: {INSTALL[shell]}")
