"""What the experiments of the papers share: one way to draw a figure and to say where it went."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

FOLDER = Path(__file__).parents[2] / "build" / "papers"
MARKERS = "osD^vP*X"


@dataclass(frozen=True)
class Panel:
    """One diagram: a line for each name, as pairs of x and y."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    log_x: bool = False
    log_y: bool = False


def save(panels: Sequence[Panel]) -> Path:
    """Draw the panels, three in a row, and save them as build/papers/<name of the script>.png."""
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(5.5 * columns, 4 * rows), squeeze=False, layout="constrained")
    for panel, ax in zip(panels, axes.flat, strict=False):
        _draw(panel, ax)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{Path(sys.argv[0]).stem}.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    print(f"picture: {path.relative_to(FOLDER.parents[1])}")
    return path


def _draw(panel: Panel, ax: Axes) -> None:
    for marker, (name, points) in zip(MARKERS * len(panel.lines), panel.lines.items(), strict=False):
        ax.plot(*zip(*points, strict=True), marker=marker, label=name)
    ax.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    if panel.log_x:
        ax.set_xscale("log")
    if panel.log_y:
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    ax.legend()
