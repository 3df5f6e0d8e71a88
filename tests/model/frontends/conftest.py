"""Digits in the splits of the figures, and trained models, made once."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session", autouse=True)
def single_thread() -> Iterator[None]:
    """Small matrices on a busy machine: threads that wait for each other take a hundred times as long."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def digits() -> Callable[[int], tuple[Any, Any, Any, Any]]:
    """The training rows, the test rows and their labels for a seed."""
    rows, labels = load_digits(return_X_y=True)

    def split(seed: int) -> tuple[Any, Any, Any, Any]:
        parts = train_test_split(
            np.asarray(rows), np.asarray(labels), test_size=0.25, stratify=labels, random_state=seed
        )
        return parts[0], parts[1], parts[2], parts[3]

    return split
