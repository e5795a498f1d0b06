from pathlib import Path

import pytest

from tests.files.places import DatabasePlace, FolderPlace


@pytest.fixture(params=["folder", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> FolderPlace | DatabasePlace:
    if request.param == "folder":
        return FolderPlace(tmp_path / "blobs")
    if request.param == "sqlite":
        return DatabasePlace(request.getfixturevalue("sqlite_url"))
    return DatabasePlace(request.getfixturevalue("postgres_url"))
