"""Finishing and writing files: completely or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from treecompile.emit.targets import read_target
from treecompile.emit.templates import render
from treecompile.model.errors import TargetError, TreecompileError
from treecompile.model.files import write_text, write_texts


@dataclass(frozen=True)
class Nothing:
    """What a lowering would return that fills no place."""


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_text_is_written_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "out.txt"
    write_text(path, "ä\r\n\0\n日本")
    assert path.read_bytes() == "ä\r\n\0\n日本".encode()
    write_text(path, "")
    assert path.read_bytes() == b""
    assert listing(path.parent) == ["out.txt"]


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


def test_a_long_name_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 120)
    write_text(path, "x")
    assert path.read_text() == "x"


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


def test_text_that_cannot_be_encoded_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises((TreecompileError, UnicodeEncodeError)):
        write_text(tmp_path / "out", "x" * 100_000 + "\ud800")
    assert listing(tmp_path) == []


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(TreecompileError, match=r"cannot write .*out: Is a directory"):
        write_text(tmp_path / "out", "x")
    assert listing(tmp_path) == ["out"]


def test_a_file_in_the_way_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(TreecompileError, match=r"cannot write .*file/out: "):
        write_text(tmp_path / "file" / "out", "x")
    assert (tmp_path / "file").read_text() == "old"


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


def test_what_a_template_misses_is_an_error() -> None:
    with pytest.raises(
        TargetError, match=r"query.sql.jinja, line 1: 'header' is undef"
    ):
        render(read_target("sql"), Nothing())
