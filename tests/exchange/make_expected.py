#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the files of NumPy's that tests/exchange and tests/user read: .deps/venv/bin/python tests/exchange/make_expected.py
Element i of an array of shape s, in row-major order, is i * 5 % 7 in its type."""
from pathlib import Path

import numpy as np

to = Path(__file__).resolve().parents[1] / "data/exchange"
to.mkdir(parents=True, exist_ok=True)


def numbers(type, *shape):
    return (np.arange(np.prod(shape, dtype=int)) * 5 % 7).astype(type).reshape(shape)


cube = numbers("f4", 2, 3, 4)
np.save(to / "rows.npy", cube)
np.save(to / "columns.npy", np.asfortranarray(cube))
np.save(to / "columns_u1.npy", np.asfortranarray(numbers("u1", 5, 3)))
several = {"weights": numbers("f2", 3, 5), "bias": numbers("f8", 5), "steps": np.int64(5), "mask": numbers("?", 2, 2),
           "none": numbers("i4", 0, 3), "columns": np.asfortranarray(numbers("i2", 4, 2)), "deep/name": numbers("u4", 1)}
np.savez(to / "stored.npz", **several)
np.savez_compressed(to / "deflated.npz", **several, long=np.zeros(40000, "f4"))
