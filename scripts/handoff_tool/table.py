"""Plain text tables."""

from collections.abc import Sequence


def render(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as their widest cell; a column of numbers is set flush right, with thousands apart."""
    cells = [
        [
            f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else "-" if cell is None else str(cell)
            for cell in row
        ]
        for row in rows
    ]
    numeric = [bool(rows) and all(row[i] is None or isinstance(row[i], int) for row in rows) for i in range(len(headings))]
    widths = [max(len(line[i]) for line in [list(headings), *cells]) for i in range(len(headings))]

    def line(words: Sequence[str]) -> str:
        return "  ".join(
            word.rjust(width) if right else word.ljust(width) for word, width, right in zip(words, widths, numeric, strict=True)
        ).rstrip()

    return "\n".join([line(headings), line(["-" * width for width in widths]), *map(line, cells)])
