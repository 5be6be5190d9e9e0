"""What every test needs: one event loop, and nothing of the reader's own catalog."""

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def _no_one_elses_catalog(tmp_path_factory):
    """A test that names no catalog gets one in a scratch directory, never the reader's own."""
    scratch = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CATALOG_DATA_DIR", str(scratch / "data"))
        patch.setenv("CATALOG_STATE_DIR", str(scratch / "state"))
        patch.delenv("CATALOG_URL", raising=False)
        patch.delenv("CATALOG_TOKEN", raising=False)
        yield
