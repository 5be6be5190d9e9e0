"""DataHub's command, run again and again in copies of one process that has imported it.

A line of JSON on standard input asks for a run: its `arguments`, and the files that it is to take
for its standard `input`, `output` and `errors`. A line with its status on standard output answers.
"""

import importlib
import json
import os
import signal
import sys
from typing import NoReturn

from datahub.entrypoints import main

# What most commands import when they run.
for module in (
    "aiohttp",
    "graphql",
    "datahub.ingestion.run.pipeline",
    "datahub.ingestion.source.file",
):
    importlib.import_module(module)
# What hangs is ended.
PATIENCE_SECONDS = 300


def run(arguments: list[str], files: list[str]) -> NoReturn:
    """Be the command."""
    signal.alarm(PATIENCE_SECONDS)
    for number, path in enumerate(files):
        opened = os.open(path, os.O_WRONLY | os.O_APPEND if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  a descriptor, open to the end
    sys.argv = ["datahub", *arguments]
    sys.exit(main())


for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if not child:
        run(asked["arguments"], [asked["input"], asked["output"], asked["errors"]])
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
