"""Finishing and writing files: completely or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from treecompile.model.errors import TreecompileError
from treecompile.model.files import write_text, write_texts


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o077, 0o600)])
def test_permissions_are_those_of_any_new_file(
    tmp_path: Path, umask: int, expected: int
) -> None:
    before = os.umask(umask)
    try:
        write_text(tmp_path / "out", "x")
        left = os.umask(umask)
    finally:
        os.umask(before)
    assert mode(tmp_path / "out") == expected
    assert left == umask


def fail_with(error: BaseException) -> Callable[..., None]:
    def fail(*arguments: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("step", ["replace", "urandom"])
@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (OSError(28, "No space left on device"), TreecompileError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    error: BaseException,
    raised: type[BaseException],
) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    monkeypatch.setattr(os, step, fail_with(error))
    with pytest.raises(raised) as caught:
        write_text(path, "new")
    if raised is TreecompileError:
        assert str(caught.value) == f"cannot write {path}: No space left on device"
    assert path.read_text() == "old"
    assert listing(tmp_path) == ["out"]


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(TreecompileError, match=r"cannot write .*out: Is a directory"):
        write_text(tmp_path / "out", "x")
    assert listing(tmp_path) == ["out"]


def test_several_files_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "first").write_text("old")
    texts = {tmp_path / name: "new" for name in ("first", "second", "folder")}
    with pytest.raises(
        TreecompileError, match=r"cannot write .*folder: Is a directory"
    ):
        write_texts(texts)
    assert listing(tmp_path) == ["first", "folder"]
    assert (tmp_path / "first").read_text() == "old"
    write_texts({tmp_path / "first": "new", tmp_path / "second": "new"})
    assert [(tmp_path / n).read_text() for n in ("first", "second")] == ["new", "new"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """Nor is /dev/null, which is as little a file that can be renamed over."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(path, "x")
        assert stat.S_ISFIFO(path.stat().st_mode)
        assert os.read(reader, 9) == b"x"
    finally:
        os.close(reader)
