"""Cells, the verdict on each, and tables of them."""

import dataclasses
import typing


@dataclasses.dataclass
class Cell:
    """One time beside what it is held against. A cell without a bar has no verdict."""
    n: int
    k: int
    what: str  # weights and activations: "W4 FP16"
    m: int
    us: float
    against_us: float  # the floor, cuBLAS, or another kernel
    bar: typing.Optional[float] = None  # times against_us
    family: str = ""
    floor_us: typing.Optional[float] = None
    cublas_us: typing.Optional[float] = None
    sm_mhz: typing.Optional[float] = None  # of the SMs, while it was measured

    @property
    def times(self):
        return self.us / self.against_us

    @property
    def passed(self):
        return None if self.bar is None else self.times <= self.bar

    def document(self):
        known = {key: value for key, value in dataclasses.asdict(self).items()
                 if value is not None}
        return {**known, "times": self.times, "passed": self.passed}


def word(passed):
    return "-" if passed is None else "ok" if passed else "MISSED"


def number(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def microseconds(value):
    return number(value, 1 if value is None or value < 100 else 0)


def table(titles, rows):
    """A Markdown table that can also be read as it is: first column left, the others right."""
    widths = [max(2, *(len(str(row[i])) for row in [titles, *rows])) for i in range(len(titles))]

    def line(cells):
        return "| " + " | ".join(f"{cell:<{width}}" if i == 0 else f"{cell:>{width}}"
                                 for i, (cell, width) in enumerate(zip(cells, widths))) + " |"

    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    return "\n".join([line(titles), line(rule), *map(line, rows)]) + "\n"


def cell_table(cells, against):
    """against: the title of what the cells are held against."""
    baseline = against != "cuBLAS" and any(cell.cublas_us for cell in cells)
    clocks = any(cell.sm_mhz for cell in cells)
    titles = ["N x K", "M", "family", "us", f"{against} us", f"x {against}", "bar", "verdict"]
    rows = []
    for cell in cells:
        row = [f"{cell.n} x {cell.k}", cell.m, cell.family, microseconds(cell.us),
               microseconds(cell.against_us), number(cell.times, 2), number(cell.bar, 2),
               word(cell.passed)]
        if clocks:
            row.append(number(cell.sm_mhz, 0))
        if baseline:
            row += [microseconds(cell.cublas_us),
                    number(cell.cublas_us and cell.cublas_us / cell.us, 2)]
        rows.append(row)
    titles += ["SM MHz"] if clocks else []
    return table(titles + (["cuBLAS us", "x faster"] if baseline else []), rows)


def by_what(cells):
    """The cells of each kind of weights, in the order in which they first appear."""
    groups = {}
    for cell in cells:
        groups.setdefault(cell.what, []).append(cell)
    return groups


def summary(cells):
    judged = [cell for cell in cells if cell.bar is not None]
    if not judged:
        return "no bars are set here\n"
    passed = sum(cell.passed for cell in judged)
    worst = max(judged, key=lambda cell: cell.times / cell.bar)
    return (f"{passed} of {len(judged)} pass; furthest from its bar: {worst.what} {worst.n} x "
            f"{worst.k}, M = {worst.m}, {worst.times:.2f} where {worst.bar:.2f} is the bar\n")


def floor_us(report, n, k, m, bits=4, group=128):
    """The floor of symmetric weights with 16-bit scales, as heddle bench computes it."""
    traffic = n * k * (bits / 8 + 2 / group) + 2 * m * (n + k)
    memory = report["floor_launch_us"] + traffic / report["read_tb_per_s"] * 1e-6
    if not report["floor_tflops"]:
        return memory
    return max(memory, 2 * m * n * k / report["floor_tflops"] * 1e-6)


def decode_bar(bars, few, report, shape, m):
    """Times the floor for a shape that `bars` names; None where no bar is set."""
    at_few, at_16, at_32, us_at_64 = bars[shape]
    if m in few:
        return at_few
    if m == 64:
        return us_at_64 and us_at_64 / floor_us(report, *shape, m)
    return {16: at_16, 32: at_32}.get(m)


def steps(times, most):
    """(smaller M, larger M, ratio) of each M that takes more than `most` times what a larger one
    takes; of the larger ones the one that it is worst against."""
    found = []
    sizes = sorted(times)
    for i, m in enumerate(sizes[:-1]):
        larger = min(sizes[i + 1:], key=lambda other: times[other])
        if times[m] > most * times[larger]:
            found.append((m, larger, times[m] / times[larger]))
    return found
