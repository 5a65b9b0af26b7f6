"""Figures: as SVG, which is what a notebook shows, or on axes of Matplotlib, if that is installed.

>>> import taximeter as tx
>>> planned = tx.plan("1,1e-6", tx.pure("0.01"))
>>> planned.svg().startswith("<svg")
True
>>> planned.plot().get_title()
'how many fit'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from taximeter import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Bars:
    """Numbers with their names, and intervals for those that have one. `show` gives a number's text."""

    title: str
    labels: list[str]
    values: list[float | None]
    intervals: list[tuple[float | None, float | None]] = field(default_factory=list)
    show: Callable[[float], str] = drawing.digits

    def svg(self) -> str:
        """The figure as SVG."""
        return drawing.bars(self.labels, self.values, self.intervals or [(None, None)] * len(self.labels), self.show)

    def plot(self, axes: Axes | None = None) -> Axes:
        """The figure on axes of Matplotlib, or on new ones."""
        axes = _axes(axes, self.title)
        shown = [(label, value) for label, value in zip(self.labels, self.values) if value is not None]
        axes.barh([label for label, _ in shown], [value for _, value in shown], color=drawing.ACCENT)
        for label, (low, high) in zip(self.labels, self.intervals):
            if low is not None and high is not None:
                axes.plot([low, high], [label, label], color="black")
        axes.invert_yaxis()
        return axes


@dataclass(frozen=True)
class Curve:
    """Numbers from the first to the last, each with its place from left to right."""

    title: str
    places: list[int]
    values: list[float]

    def svg(self) -> str:
        """The figure as SVG."""
        return drawing.curve(self.title, self.places, self.values)

    def plot(self, axes: Axes | None = None) -> Axes:
        """The figure on axes of Matplotlib, or on new ones."""
        axes = _axes(axes, self.title)
        axes.plot(self.places, self.values, color=drawing.ACCENT)
        return axes


class Drawable:
    """Something that has a figure."""

    @property
    def figure(self) -> Bars | Curve:
        """Its figure."""
        raise NotImplementedError

    def svg(self) -> str:
        """Its figure as SVG."""
        return self.figure.svg()

    def plot(self, axes: Axes | None = None) -> Axes:
        """Its figure on axes of Matplotlib, or on new ones."""
        return self.figure.plot(axes)


def _axes(axes: Axes | None, title: str) -> Axes:
    if axes is None:
        # Not by pyplot, which would keep every figure until it is closed.
        from matplotlib.figure import Figure

        axes = Figure().add_subplot()
    axes.set_title(title)
    return axes
