"""How the figures of the suite grow with the catalog: a table in Markdown, and a picture.

    python tests/benchmarks/growth.py [--picture FILE.png] 10k.json 100k.json …

The files are what `python -m tests.benchmarks --json FILE` wrote, one for each size. The picture
needs the extra `browser`.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# The rows of the suite that are shown, with their names here; the unit is part of the suite's row.
ROWS = {
    "load into a local catalog": "load into a local catalog",
    "search page, one term": "search page, one term",
    "search page, two terms": "search page, two terms",
    "search page, name CONTAIN": "search page, name contains",
    "autocomplete, a letter": "autocomplete",
    "browse a folder": "folder page",
    "read an entity": "read an entity",
    "GraphQL dataset": "GraphQL dataset",
    "write, then found": "write, then found",
    "start until /health is answered": "start",
    "memory of the service's own": "memory of the service",
    "disk of a dataset": "disk of a dataset",
}


def read_rows(file: Path) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the size of a catalog and its figures by name."""
    held = json.loads(file.read_text())
    return held["size"], {row["name"]: row for row in held["rows"]}


def described(row: dict[str, Any] | None) -> str:
    """Return a figure as a cell of the table: the median and the 99th percentile, or a number."""
    if row is None:
        return "–"
    if "median_ms" in row:
        times = f"{row['median_ms']:.1f} / {row['p99_ms']:.1f} ms"
        # What takes a hundred times as long as a constant answer is not comparable with it.
        return f"{times} (× {row['ratio']:.1f})" if row.get("ratio", 0) >= 0.05 else times
    number = f"{row['value']:,.0f}" if row["value"] >= 100 else f"{row['value']:.1f}"
    return f"{number} {row['unit']}"


def table(sizes: Sequence[tuple[int, dict[str, dict[str, Any]]]]) -> str:
    """Return the figures as Markdown, a column for each size."""
    heads = [f"{size:,} datasets" for size, _ in sizes]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for name, title in ROWS.items():
        cells = [described(rows.get(name)) for _, rows in sizes]
        if any(cell != "–" for cell in cells):
            lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def write_picture(sizes: Sequence[tuple[int, dict[str, dict[str, Any]]]], file: Path) -> None:
    """Write a picture of the times: a line for each kind of request, over the size of the
    catalog."""
    import plotly.graph_objects as go
    from playwright.sync_api import sync_playwright

    figure = go.Figure()
    for name, title in ROWS.items():
        points = [
            (size, rows[name]["median_ms"])
            for size, rows in sizes
            if "median_ms" in rows.get(name, {})
        ]
        if points:
            across, up = zip(*points, strict=True)
            figure.add_scatter(x=across, y=up, name=title, mode="lines+markers")
    figure.update_xaxes(type="log", title="datasets", tickvals=[size for size, _ in sizes])
    figure.update_yaxes(type="log", title="median, ms", dtick=1)
    figure.update_layout(template="plotly_white", width=900, height=480, margin={"t": 20, "r": 20})
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium")
        page = browser.new_page(viewport={"width": 900, "height": 480})
        page.set_content(figure.to_html(include_plotlyjs=True, config={"staticPlot": True}))
        page.locator(".plotly-graph-div svg").first.wait_for()
        page.locator(".plotly-graph-div").screenshot(path=str(file))
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="+", help="what the suite wrote with --json")
    parser.add_argument("--picture", type=Path, help="a PNG file to write")
    given = parser.parse_args()
    sizes = sorted((read_rows(file) for file in given.files), key=lambda one: one[0])
    print(table(sizes))
    if given.picture:
        write_picture(sizes, given.picture)


if __name__ == "__main__":
    main()
