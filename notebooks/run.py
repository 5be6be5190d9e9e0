"""Run the notebooks, each on a new catalog with the sample on it, and keep what they say.

    python notebooks/run.py [NAME …]

Needs nbclient, which the tests install. What is kept tells nothing of this machine, and of the
moment only what the sample does, whose days end today.
"""

import base64
import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from explorer import instance

HERE = Path(__file__).parent

DAILY = "daily"
"""The tag of a cell whose numbers are another day other ones: use and profiles go by weekdays."""

# Only for a cell that hangs: the first one may import modules that were never compiled, and start a
# catalog, on a busy machine.
_CELL_SECONDS = 240
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_PLOTLY = "application/vnd.plotly.v1+json"
_WIDGET = "application/vnd.jupyter.widget-view+json"
_STILL = re.compile(r"catalog-still-[0-9a-f]+")
_PICTURE = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?")
_NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")
_BLOCKS = re.compile("[▁-█]+")
_ROW = re.compile(r"(<tr.*?</tr>|\n)", re.DOTALL)
_BLANKS = re.compile(r"\s+")


def stories() -> list[Path]:
    """The notebooks, by name."""
    return sorted(HERE.glob("*.ipynb"))


@contextmanager
def new_catalog() -> Iterator[dict[str, str]]:
    """The environment of a program that is to have a catalog of its own; it goes away again."""
    with TemporaryDirectory(prefix="nb") as scratch:
        places = {
            f"CATALOG_{name}_DIR": f"{scratch}/{name.lower()}"
            for name in ("DATA", "STATE", "CONFIG", "CACHE")
        }
        others = ("CATALOG_", "DATAHUB_", "JPY_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
        try:
            yield {
                **kept,
                **places,
                "DATAHUB_SKIP_CONFIG": "true",
                "IPYTHONDIR": f"{scratch}/ipython",
                # The first request also starts the catalog.
                "CATALOG_TIMEOUT_SECONDS": str(_CELL_SECONDS),
                # How far a slow machine has come belongs into no notebook.
                "TQDM_DISABLE": "1",
            }
        finally:
            directory = Path(places["CATALOG_DATA_DIR"])
            if running := instance.find(directory):
                os.kill(running.pid, signal.SIGTERM)
            while instance.is_held(directory):
                time.sleep(0.02)


def run(path: Path, environment: dict[str, str]) -> NotebookNode:
    """The notebook as it comes out, from top to bottom, with nothing in it of what was there.

    Raises nbclient's `CellExecutionError` where a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=_CELL_SECONDS, kernel_name="python3", record_timing=False
    )
    client.execute(env=environment)
    notebook.metadata = NotebookNode(_METADATA)
    # No widget lives in a file: what stays of one is the HTML beside it, whose name is a new one
    # each time.
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if _WIDGET not in one.get("data", {})]
            for data in (one.data for one in cell.outputs if "data" in one):
                if "text/html" in data:
                    data["text/html"] = _STILL.sub("catalog-still", data["text/html"])
    for cell in notebook.cells:
        cell.metadata = NotebookNode({"tags": _tags(cell)} if _tags(cell) else {})
    return notebook


def save(notebook: NotebookNode, path: Path) -> None:
    """Write it down as a file that changes no more than the notebook does."""
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(f"{text}\n", encoding="utf-8")


def comparable(notebook: NotebookNode) -> list[tuple[str, list[Any]]]:
    """Each cell's text and what came out of it, as it is on every machine and every day.

    Days and times are taken out, and where the cell is tagged `daily` all numbers, what is drawn of
    them, and the order of rows. What has HTML is compared by that: plain tables are cut to a width.
    """
    return [
        (cell.source, [_said(output, DAILY in _tags(cell)) for output in cell.get("outputs", ())])
        for cell in notebook.cells
    ]


def _said(output: NotebookNode, daily: bool) -> Any:
    if output.output_type not in ("display_data", "execute_result"):
        return [output.output_type, _same(output.get("text", ""), daily)]
    data = output.data
    kinds = [kind for kind in sorted(data) if kind != _PLOTLY]
    found = [(kind, _same(data[kind], daily)) for kind in kinds if kind != "text/plain"]
    traces = [(one["type"], one.get("name")) for one in data.get(_PLOTLY, {}).get("data", ())]
    return [found or _same(data["text/plain"], daily), traces, kinds]


def _same(text: str, daily: bool) -> str:
    text = _PICTURE.sub("PICTURE" if daily else _drawn, text)
    text = _MOMENT.sub("DAY", text)
    if daily:
        # What is used most comes first, so the rows change places too.
        text = _BLOCKS.sub("", _NUMBER.sub("0", text))
        text = "".join(sorted(_ROW.split(text)))
    return _BLANKS.sub(" ", text)


def _drawn(picture: re.Match[str]) -> str:
    return base64.b64decode(picture[1]).decode()


def _tags(cell: NotebookNode) -> list[str]:
    found: list[str] = cell.metadata.get("tags", [])
    return found


def main(names: list[str]) -> None:
    """Run the notebooks named, or all, and keep what they say."""
    known = {path.stem: path for path in stories()}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no notebook {', '.join(unknown)}; there are {', '.join(known)}")
    for name in names or known:
        begun = time.monotonic()
        with new_catalog() as environment:
            save(run(known[name], environment), known[name])
        print(f"{name}, {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
