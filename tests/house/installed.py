"""What `pip install holdfast[…]` gives, out of what is installed here: a virtual environment of links, and no more."""

import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterable
from importlib.metadata import PackagePath, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(sysconfig.get_path("purelib"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def declared(*extras: str) -> list[str]:
    """What the project asks for itself, and for these extras."""
    return [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]


def closure(lines: Iterable[str]) -> set[str]:
    """The distributions that these requirements bring, and what those bring."""
    found: dict[str, set[str]] = {}
    todo = [(Requirement(line), "") for line in lines]
    while todo:
        asked, extra = todo.pop()
        if asked.marker is not None and not asked.marker.evaluate({"extra": extra}):
            continue
        name = asked.name.lower().replace("_", "-")
        for wanted in ("", *asked.extras):
            if wanted in found.setdefault(name, set()):
                continue
            found[name].add(wanted)
            more = EXTRAS[wanted] if name == "holdfast" and wanted else distribution(name).requires or []
            if name != "holdfast" or wanted:
                todo += [(Requirement(line), wanted if name != "holdfast" else "") for line in more]
    return set(found)


def environment(folder: Path, *extras: str) -> Path:
    """The Python of an environment that has the package with these extras, and nothing else."""
    venv.create(folder, with_pip=False)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    for name in closure([*declared(*extras), "holdfast"]):
        for file in distribution(name).files or []:
            _link(file, packages)
    (packages / "holdfast.pth").write_text(f"{ROOT / 'src'}\n")
    return folder / "bin" / "python"


def _link(file: PackagePath, packages: Path) -> None:
    top = file.parts[0]
    if top not in ("..", "__pycache__") and not top.endswith(".pth") and not (packages / top).exists():
        (packages / top).symlink_to(HERE / top)
