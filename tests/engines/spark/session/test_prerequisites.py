"""What is missing is told in one line, before Spark starts."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

from windrow.engines.spark.session.prerequisites import (
    check_java,
    check_packages,
    check_spark_version,
    java_path,
    java_version,
)
from windrow.errors import ConfigurationError

VERSIONS = {"pyspark": "4.3.0", "pandas": "2.3.0", "pyarrow": "26.0.0"} | dict.fromkeys(
    ("grpcio", "grpcio-status", "googleapis-common-protos", "protobuf"), "1.0"
)
PACKAGES = re.escape("Hint: pip install 'pyspark[connect]>=4.2' 'pandas<3'.") + "$"
JAVA = (
    re.escape(
        "Hint: install Java 17 or later (on Debian and Ubuntu: apt install openjdk-17-jre-headless), "
        "or point JAVA_HOME at one."
    )
    + "$"
)


def check_with(**versions: str | None) -> None:
    known = VERSIONS | {name.replace("_", "-"): version for name, version in versions.items()}

    def version_of(name: str) -> str:
        version = known[name]
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    check_packages(version_of)


def java_home(folder: Path, release: str | None, says: str = "") -> Path:
    """A folder that looks like a Java of some version."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o755)
    if release is not None:
        (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{release}"\n')
    return folder


def test_this_environment_has_it_all() -> None:
    check_packages()
    check_java()


@pytest.mark.parametrize("name", ["pyspark", "pandas", "pyarrow", "grpcio", "grpcio-status", "protobuf"])
def test_a_package_that_is_missing(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^`{name}` must be installed to run on Spark. {PACKAGES}"):
        check_with(**{name.replace("-", "_"): None})


@pytest.mark.parametrize("version", ["4.1.2", "3.5.6", "4.0.0.dev1"])
def test_a_spark_that_is_too_old(version: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^`Spark` must be 4.2 or later, got {version}. {PACKAGES}"):
        check_spark_version(version)


def test_versions_that_serve() -> None:
    for version in ("4.2.0", "4.3.0-SNAPSHOT", "5.0"):
        check_spark_version(version)


def test_a_pandas_that_is_too_new() -> None:
    with pytest.raises(ConfigurationError, match=r"^`pandas` must be older than 3 for Spark, got 3.0.1. Hint: .*<3'.$"):
        check_with(pandas="3.0.1")


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match=f"^`Java` is not installed, and Spark needs it. {JAVA}"):
        check_java()


def test_a_java_home_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(
        ConfigurationError, match=f"^`JAVA_HOME` must be a folder with bin/java in it, got {tmp_path}. {JAVA}"
    ):
        check_java()


@pytest.mark.parametrize(("release", "says"), [("11.0.2", ""), (None, 'openjdk version "11.0.2"')])
def test_a_java_that_is_too_old(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, release: str | None, says: str
) -> None:
    home = java_home(tmp_path / "java", release, says)
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(ConfigurationError, match=f"^`Java` must be 17 or later, got 11 \\({home}/bin/java\\). {JAVA}"):
        check_java()


def test_a_java_that_says_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = java_home(tmp_path / "java", None)
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(ConfigurationError, match=f"^`Java` does not tell its version, got {home}/bin/java. {JAVA}"):
        check_java()


def test_java_home_comes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home, other = java_home(tmp_path / "a", "21"), java_home(tmp_path / "b", "1.8.0_202")
    monkeypatch.setenv("PATH", str(other / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert (other / "bin" / "java", 8) == (java_path(), java_version(java_path()))
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert (home / "bin" / "java", 21) == (java_path(), java_version(java_path()))
