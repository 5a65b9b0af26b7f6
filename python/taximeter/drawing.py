"""How a notebook shows accounts, quotes, receipts and answers: HTML and SVG, in the page's own light or dark colours."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape

from taximeter._native import show_number, show_share

# Colours follow the page: its text colour, and one accent that is readable on white and on black.
ACCENT = "#3a7bd5"
_STYLE = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5;color:inherit"


def card(title: str, *parts: str) -> str:
    """A box with a title."""
    return f'<div style="{_STYLE}"><strong>{escape(title)}</strong>{"".join(parts)}</div>'


def line(name: str, value: object) -> str:
    """A name with its value."""
    return f"<div>{escape(name)}: {escape(str(value))}</div>"


def filled(share: float, steps: int) -> int:
    """How many steps of a bar a share fills: rounded down, so that no more seems left than there is."""
    # The addend corrects the binary rounding of exact steps.
    return math.floor(min(max(share, 0.0), 1.0) * steps + 1e-8)


def gauge(left: float | None, label: str) -> str:
    """A bar that shows the share of a budget that is left, with the number in words for screen readers."""
    if left is None:
        return ""
    shown = escape(f"{label}: {show_share(left)}")
    return (
        f'<svg role="img" aria-label="{shown}" width="240" height="34" viewBox="0 0 240 34">'
        '<rect x="0.5" y="0.5" width="239" height="13" rx="3" fill="none" stroke="currentColor" opacity="0.5"/>'
        f'<rect x="1" y="1" width="{filled(left, 2380) / 10:.1f}" height="12" rx="3" fill="{ACCENT}"/>'
        f'<text x="0" y="29" font-size="12" fill="currentColor">{shown}</text></svg>'
    )


def digits(value: float) -> str:
    """A number with its nearest six digits."""
    return f"{value:g}"


def bars(
    labels: list[str],
    values: list[float | None],
    intervals: list[tuple[float | None, float | None]],
    show: Callable[[float], str] = digits,
) -> str:
    """A bar for each number, with its interval as a line across its end, and its text."""
    ends = [number for number in [*values, *(end for pair in intervals for end in pair)] if number is not None]
    if not ends:
        return ""
    low, high = min(0.0, *ends), max(0.0, *ends)
    width, height = 260.0, 22

    def at(number: float) -> float:
        return 130 + (number - low) / ((high - low) or 1.0) * width

    rows = []
    for row, (label, value, (least, most)) in enumerate(zip(labels, values, intervals)):
        y = row * height
        rows.append(f'<text x="0" y="{y + 14}" font-size="12" fill="currentColor">{escape(label[:18])}</text>')
        if value is None:
            continue
        start, end = sorted((at(0.0), at(value)))
        rows.append(f'<rect x="{start:.1f}" y="{y + 4}" width="{end - start:.1f}" height="12" fill="{ACCENT}" opacity="0.8"/>')
        if least is not None and most is not None:
            rows.append(f'<path d="M{at(least):.1f} {y + 10}H{at(most):.1f}" stroke="currentColor" stroke-width="2"/>')
        rows.append(f'<text x="400" y="{y + 14}" font-size="12" fill="currentColor">{escape(show(value))}</text>')
    total = len(labels) * height
    frame = f'role="img" aria-label="noisy numbers with intervals" width="470" height="{total}" viewBox="0 0 470 {total}"'
    return f"<svg {frame}>{''.join(rows)}</svg>"


def curve(title: str, places: list[int], values: list[float]) -> str:
    """A line through numbers at their places, from the first to the last: the meter of a ride."""
    if not values:
        return ""
    high, width, height = max(*values, 0.0) or 1.0, 320.0, 80.0
    step = width / max(places[-1] - places[0], 1)
    points = " ".join(f"{4 + (at - places[0]) * step:.1f},{4 + height * (1 - value / high):.1f}" for at, value in zip(places, values))
    shown = escape(f"{title}: {show_number(values[-1])}")
    return (
        f'<svg role="img" aria-label="{shown}" width="330" height="108" viewBox="0 0 330 108">'
        f'<path d="M4 4V{4 + height}H{4 + width}" fill="none" stroke="currentColor" opacity="0.5"/>'
        f'<polyline points="{points}" fill="none" stroke="{ACCENT}" stroke-width="2"/>'
        f'<text x="4" y="102" font-size="12" fill="currentColor">{shown}</text></svg>'
    )
