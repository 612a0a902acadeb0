"""Line plots as SVG text: x logarithmic, y from zero."""

import dataclasses
import math
import typing
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 420, 300  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 52, 20, 28, 40
COLORS = ("#0b6e4f", "#c1440e", "#7a7a7a", "#3a5fcd")


@dataclasses.dataclass
class Panel:
    title: str
    x_label: str
    y_label: str
    lines: typing.Dict[str, typing.List[typing.Tuple[float, float]]]  # by name; positive


@dataclasses.dataclass
class Axis:
    """Maps [low, high] to pixels; by the logarithm unless low is 0."""
    low: float
    high: float
    first: float  # pixel of low
    last: float   # pixel of high

    def pixel(self, value):
        if self.low == 0:
            share = value / self.high
        else:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.first + share * (self.last - self.first)


def ticks(high):
    """From 0 to high, four to ten of them, 1, 2 or 5 times a power of ten apart."""
    power = 10.0 ** math.floor(math.log10(high))
    step = next(s for s in (power / 10, power / 5, power / 2, power) if high / s < 10)
    return [i * step for i in range(math.floor(high / step * 1.000001) + 1)]


def powers_of_two(low, high):
    return [2.0 ** e for e in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]


def axes_of(panel):
    xs = [x for line in panel.lines.values() for x, _ in line]
    ys = [y for line in panel.lines.values() for _, y in line]
    # A single value still needs a range.
    x_axis = Axis(min(xs), max(max(xs), 2 * min(xs)), LEFT, WIDTH - RIGHT)
    y_axis = Axis(0, max(ys) * 1.05, HEIGHT - BOTTOM, TOP)
    return x_axis, y_axis


def text(x, y, content, anchor="middle", size=11, more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{more}>'
            f"{escape(content)}</text>")


def stroke(x1, y1, x2, y2, color):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{color}" stroke-width="0.7"/>')


def grid(x_axis, y_axis):
    parts = []
    for x in powers_of_two(x_axis.low, x_axis.high):
        parts.append(stroke(x_axis.pixel(x), TOP, x_axis.pixel(x), HEIGHT - BOTTOM, "#dddddd"))
        parts.append(text(x_axis.pixel(x), HEIGHT - BOTTOM + 14, f"{x:g}", size=9))
    for y in ticks(y_axis.high):
        parts.append(stroke(LEFT, y_axis.pixel(y), WIDTH - RIGHT, y_axis.pixel(y), "#dddddd"))
        parts.append(text(LEFT - 5, y_axis.pixel(y) + 3, f"{y:g}", "end", 9))
    return parts


def panel_parts(panel):
    x_axis, y_axis = axes_of(panel)
    parts = [text(WIDTH / 2, 17, panel.title, size=13),
             text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, panel.x_label),
             text(12, (TOP + HEIGHT - BOTTOM) / 2, panel.y_label,
                  more=f' transform="rotate(-90 12 {(TOP + HEIGHT - BOTTOM) / 2:.1f})"')]
    parts += grid(x_axis, y_axis)
    for i, (name, line) in enumerate(panel.lines.items()):
        color = COLORS[i % len(COLORS)]
        points = " ".join(f"{x_axis.pixel(x):.1f},{y_axis.pixel(y):.1f}" for x, y in sorted(line))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" '
                     'stroke-width="1.6"/>')
        # Lower right, where rising lines leave room.
        x, y = WIDTH - RIGHT - 90, HEIGHT - BOTTOM - 12 - 14 * (len(panel.lines) - 1 - i)
        parts.append(stroke(x, y - 4, x + 18, y - 4, color))
        parts.append(text(x + 23, y, name, "start"))
    return parts


def svg(panels, columns=2):
    """One document with the panels in rows of `columns`."""
    rows = -(-len(panels) // columns)
    width, height = WIDTH * min(columns, len(panels)), HEIGHT * rows
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}" font-family="sans-serif">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for i, panel in enumerate(panels):
        lines.append(f'<g transform="translate({i % columns * WIDTH} {i // columns * HEIGHT})">')
        lines += panel_parts(panel)
        lines.append("</g>")
    return "\n".join([*lines, "</svg>"]) + "\n"
