"""What must be installed before Spark starts, each in one line instead of Spark's own pages of noise."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from windrow.errors import ConfigurationError

LEAST_SPARK = (4, 2)
"""The first version whose Python sources and states do all that the engine asks of them."""
LEAST_JAVA = 17

_INSTALL = "pip install 'pyspark[connect]>=4.2' 'pandas<3'"
_INSTALL_JAVA = (
    f"install Java {LEAST_JAVA} or later (on Debian and Ubuntu: apt install openjdk-17-jre-headless), "
    "or point JAVA_HOME at one"
)
_EXTRAS = ("grpcio", "grpcio-status", "googleapis-common-protos", "protobuf")
"""State in Python talks to the JVM in protobuf over gRPC."""


def check_packages(version_of: Callable[[str], str] = metadata.version) -> None:
    """Refuse an environment whose Python packages cannot run the engine; imports nothing."""
    check_spark_version(_installed("pyspark", version_of))
    pandas = _installed("pandas", version_of)
    if _numbers(pandas)[0] >= 3:
        raise ConfigurationError(
            "must be older than 3 for Spark", parameter="pandas", value=pandas, hint="pip install 'pandas>=2,<3'"
        )
    for name in ("pyarrow", *_EXTRAS):
        _installed(name, version_of)


def check_spark_version(version: str) -> None:
    """Refuse a Spark that is too old."""
    if _numbers(version)[:2] < LEAST_SPARK:
        least = ".".join(map(str, LEAST_SPARK))
        raise ConfigurationError(f"must be {least} or later", parameter="Spark", value=version, hint=_INSTALL)


def check_java() -> None:
    """Refuse to start Spark without a Java that runs it."""
    java = java_path()
    version = java_version(java)
    if version is None:
        raise ConfigurationError("does not tell its version", parameter="Java", value=str(java), hint=_INSTALL_JAVA)
    if version < LEAST_JAVA:
        raise ConfigurationError(
            f"must be {LEAST_JAVA} or later", parameter="Java", value=f"{version} ({java})", hint=_INSTALL_JAVA
        )


def java_path() -> Path:
    """The program Spark will run: the one of JAVA_HOME, else the one on the PATH."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if found is not None:
        return Path(found)
    if home:
        raise ConfigurationError(
            "must be a folder with bin/java in it", parameter="JAVA_HOME", value=home, hint=_INSTALL_JAVA
        )
    raise ConfigurationError("is not installed, and Spark needs it", parameter="Java", hint=_INSTALL_JAVA)


def java_version(java: Path) -> int | None:
    """The major version, from the file beside the program where there is one, because a start takes long."""
    release = java.resolve().parent.parent / "release"
    text = release.read_text(encoding="utf-8", errors="replace") if release.is_file() else ""
    return major_version(text, r'JAVA_VERSION="') or major_version(_printed_by(java), r'version "')


def major_version(text: str, before: str) -> int | None:
    """The major version in a text, after a pattern; Java 8 and older called themselves 1.8 and so on.

    >>> major_version('openjdk version "17.0.15" 2025-04-15', 'version "'), major_version('version "1.8.0"', '"')
    (17, 8)
    """
    found = re.search(before + r"(?:1\.(?=\d))?(\d+)", text)
    return int(found[1]) if found else None


def _printed_by(java: Path) -> str:
    try:
        return subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _installed(name: str, version_of: Callable[[str], str]) -> str:
    try:
        return version_of(name)
    except metadata.PackageNotFoundError:
        raise ConfigurationError("must be installed to run on Spark", parameter=name, hint=_INSTALL) from None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)) or (0,)
