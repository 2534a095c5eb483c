"""The parent of the processes that die, and a folder for what they leave."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import Nursery
from run_examples import ram_directory


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """One for all tests."""
    started = Nursery()
    yield started
    started.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """In RAM, as visits are."""
    with ram_directory() as made:
        yield made
