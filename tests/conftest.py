"""What every test needs: one event loop, and nothing of the reader's own catalog."""

import gc
import signal
from collections.abc import Iterator
from typing import Any

import pytest

# A test process keeps the tests and several catalogs alive, and each full collection visits all of
# them: with Python's own thresholds that is a third of the time that the tests take.
gc.set_threshold(10_000, 10, 20)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def _interrupts_are_heard() -> None:
    """A run that was started in the background ignores interrupts, and so would what it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _no_one_elses_catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A test that names no catalog gets one in a scratch directory, never the reader's own."""
    scratch = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CATALOG_DATA_DIR", str(scratch / "data"))
        patch.setenv("CATALOG_STATE_DIR", str(scratch / "state"))
        patch.setenv("CATALOG_CONFIG_DIR", str(scratch / "config"))
        patch.setenv("CATALOG_CACHE_DIR", str(scratch / "cache"))
        # The file in the reader's home is never read, whoever runs the tests.
        patch.setenv("CATALOG_USER", "tester")
        patch.setenv("DATAHUB_SKIP_CONFIG", "true")
        for name in ("URL", "HOST", "PORT", "PROTOCOL", "TOKEN"):
            patch.delenv(f"DATAHUB_GMS_{name}", raising=False)
        for name in ("URL", "TOKEN", "PROFILE"):
            patch.delenv(f"CATALOG_{name}", raising=False)
        yield
