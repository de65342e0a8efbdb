"""Vectors as bytes: what comes of a product is what floats would give, to a few thousandths."""

import numpy as np
import pytest

from recall.encoding.vectors import packed
from recall.index.growing import Matrix

BLOCK = Matrix._BLOCK_ROWS


def unit_vectors(number: int, seed: int) -> np.typing.NDArray[np.float32]:
    vectors = np.random.default_rng(seed).standard_normal((number, 512)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    return vectors


@pytest.mark.parametrize("asked", [1, 3])
@pytest.mark.parametrize("rows", [1, 2, 700, BLOCK, BLOCK + 1])
def test_products_are_those_of_floats(rows: int, asked: int) -> None:
    vectors, queries = unit_vectors(rows, 1), unit_vectors(asked, 2)
    matrix = Matrix(512)
    matrix.grow(rows)
    matrix.put(0, packed(vectors))
    products = matrix.products(queries)
    assert products.shape == (asked, rows)
    assert products.dtype == np.float32
    assert np.abs(products - queries @ vectors.T).max() < 0.004
    assert np.array_equal(matrix.products(queries[:1])[0], products[0]), "alone or with others"


def test_rows_without_a_vector_and_no_rows() -> None:
    matrix = Matrix(512)
    query = unit_vectors(2, 3)
    assert matrix.products(query).shape == (2, 0)
    matrix.grow(5)
    matrix.put(1, packed(query[:1]))
    assert np.array_equal(np.flatnonzero(matrix.products(query)[0]), [1])
    assert not matrix.products(np.zeros((1, 512), np.float32)).any()
    assert np.abs(matrix.take(np.array([1, 4])) - np.array([query[0], np.zeros(512)])).max() < 0.002
