"""The package as it is shipped: built, installed elsewhere, and run there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.samples import ROOT, TENNIS

SOURCES = ("treecompile", "templates", "pyproject.toml", "README.md", "LICENSE")
BUILD = """
import sys
from setuptools import build_meta
print(build_meta.build_sdist(sys.argv[1]))
"""
BUILD_WHEEL = BUILD.replace("build_sdist", "build_wheel")
OUTPUTS = {"model.json", "predict.py", "predict.sql", "RULES.md", "review.html"}


def python(code: str, *arguments: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1]


def builds(command: list[str], folder: Path, path: Path | None = None) -> None:
    """Whether a command compiles the example, from a folder of its own."""
    folder.mkdir(exist_ok=True)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if path is not None:
        env["PYTHONPATH"] = os.pathsep.join((str(path), *dependencies()))
    done = subprocess.run(
        [*command, "build", str(TENNIS), "--target", "play", "--out", "out"],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("verified") == 2
    assert {entry.name for entry in (folder / "out").iterdir()} == OUTPUTS


def dependencies() -> list[str]:
    """The packages beside us, without the hooks that make an editable install."""
    paths = sysconfig.get_paths()
    return list(dict.fromkeys((paths["purelib"], paths["platlib"])))


def listed(names: list[str], start: str) -> set[str]:
    return {name.removeprefix(start) for name in names if name.startswith(start)}


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, because building leaves folders behind."""
    folder = tmp_path_factory.mktemp("sdist")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    return folder / "dist" / python(BUILD, folder / "dist", cwd=folder)


def unpacked(sdist: Path, folder: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    return source


@pytest.fixture(scope="session")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the sdist, as installers without a wheel would do."""
    folder = tmp_path_factory.mktemp("wheel")
    source = unpacked(sdist, folder)
    return folder / "dist" / python(BUILD_WHEEL, folder / "dist", cwd=source)


def files_under(folder: Path) -> set[str]:
    found = (
        p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in str(p)
    )
    return {p.relative_to(folder).as_posix() for p in found}


@pytest.mark.large
def test_the_sdist_and_the_wheel_hold_every_template_and_module(
    sdist: Path, wheel: Path
) -> None:
    templates = files_under(ROOT / "templates")
    assert "python/module.py.jinja" in templates
    assert "sql/dialects/duckdb.toml" in templates
    with tarfile.open(sdist) as archive:
        base = sdist.name.removesuffix(".tar.gz")
        assert listed(archive.getnames(), f"{base}/templates/") >= templates
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert listed(names, "treecompile/templates/") == templates
    modules = {n for n in files_under(ROOT / "treecompile") if n.endswith(".py")}
    assert listed(names, "treecompile/") >= modules | {"py.typed"}
    assert not [n for n in names if n.startswith("tests")]


@pytest.mark.large
def test_a_wheel_is_the_same_bytes_twice(
    sdist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From files of another age, in another folder, with other hashes of strings."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    made = []
    for number in (1, 2):
        folder = tmp_path / f"{number}"
        source = unpacked(sdist, folder)
        for path in source.rglob("*"):
            os.utime(path, (1e9 * number, 1e9 * number))
        monkeypatch.setenv("PYTHONHASHSEED", f"{number}")
        name = python(BUILD_WHEEL, folder / "dist", cwd=source)
        made.append((name, (folder / "dist" / name).read_bytes()))
    assert made[0] == made[1]


@pytest.mark.library
def test_an_installed_wheel_compiles_an_example(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    interpreter = place / "bin" / "python"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", interpreter, "install"),
            *("--no-deps", "--no-index", "--quiet", wheel),
        ],
        check=True,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    (packages,) = place.glob("lib/python*/site-packages")
    # Behind the wheel on the path, and without its own .pth files.
    (packages / "others.pth").write_text("\n".join(dependencies()))
    where = subprocess.run(
        [interpreter, "-c", "import treecompile as t; print(t.__file__)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert Path(where.stdout.strip()).is_relative_to(packages)
    builds([str(place / "bin" / "treecompile")], tmp_path / "elsewhere")


def test_a_bare_checkout_compiles_an_example(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("treecompile", "templates"):
        shutil.copytree(ROOT / name, checkout / name, ignore=ignored)
    command = [sys.executable, "-S", "-m", "treecompile"]
    builds(command, tmp_path / "elsewhere", checkout)


@pytest.mark.large
def test_a_zip_on_the_path_compiles_an_example(wheel: Path, tmp_path: Path) -> None:
    zipped = tmp_path / "treecompile.zip"
    shutil.copy(wheel, zipped)
    builds([sys.executable, "-S", "-m", "treecompile"], tmp_path / "elsewhere", zipped)
