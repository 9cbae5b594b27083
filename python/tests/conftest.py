"""Clicks that a linear model can learn, as a matrix, a table and files."""

import socket

import numpy as np
import pandas
import pytest
import scipy.sparse

ROWS, FEATURES = 4000, 60


@pytest.fixture(scope="session")
def clicks():
    """(sparse matrix, labels)."""
    random = np.random.default_rng(3)
    matrix = scipy.sparse.random(ROWS, FEATURES, density=0.1, format="csr", random_state=4, dtype=np.float32)
    scores = matrix @ random.normal(scale=3, size=FEATURES)
    return matrix, (random.random(ROWS) < 1 / (1 + np.exp(-scores))).astype(np.float64)


@pytest.fixture(scope="session")
def table():
    """A DataFrame with words, numbers, missing cells and its label "click"."""
    random = np.random.default_rng(5)
    frame = pandas.DataFrame({
        "user": random.choice(["ann", "bob", "cy d", 'q"x', "1,5"], ROWS),
        "price": random.normal(size=ROWS).round(3),
        "count": random.integers(0, 5, ROWS),
        "mobile": random.random(ROWS) < 0.5,
        "hour": pandas.Categorical(random.choice(["h1", "h2", "h3"], ROWS)),
    })
    scores = (frame.user == "ann") * 1.5 + frame.price + frame.mobile - 0.3 * frame["count"]
    frame["click"] = (random.random(ROWS) < 1 / (1 + np.exp(-scores))).astype(int)
    frame.loc[::7, "price"] = np.nan
    frame["user"] = frame.user.where(random.random(ROWS) > 0.05)
    return frame


@pytest.fixture(scope="session")
def csv(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("clicks") / "clicks.csv"
    table.to_csv(path, index=False)
    return str(path)


@pytest.fixture
def free_address():
    """Where rank 0 of a group may listen."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"
