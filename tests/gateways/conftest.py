"""Environments that the tests share, since a gateway takes long to install and to start."""

import pytest
from openclaw import Installation, install


@pytest.fixture(scope="session")
def installed_openclaw() -> Installation:
    """OpenClaw and its Node, below .gateways/."""
    return install()


@pytest.fixture(autouse=True, scope="session")
def _one_encoder() -> None:
    """The encoder is the service's here, so this process needs none."""
