"""`python -m tests.benchmarks`: see `suite.py`."""

import sys
from pathlib import Path

# Scripts of this folder import what is beside them.
sys.path.insert(0, str(Path(__file__).parent))

from suite import main

main()
