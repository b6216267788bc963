#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/expected/array_api.txt: what array-api-strict (over NumPy) says of each function and operator of the Python
array API 2024.12 that takes and gives arrays, for tests/reference/array_api.cpp. A Python with both packages runs it; with --check
it compares instead.

A line: NAME PARAMETER,... | operand ... | result ... Arrays are TYPE:SHAPE:VALUES, shapes as 2x3, scalars as `-`; parameters are
numbers, or words of the test's."""
import sys
from pathlib import Path

import array_api_strict as xp
import numpy as np

xp.set_array_api_strict_flags(api_version="2024.12")
TO = Path(__file__).resolve().parents[1] / "data/expected/array_api.txt"
NAMES = {"float64": "f64", "float32": "f32", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
         "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "bool"}
lines = []


def text(x):
    a = np.asarray(x._array if hasattr(x, "_array") else x)
    values = [("1" if v else "0") if a.dtype == np.bool_ else
              repr(float(v)) if a.dtype.kind == "f" else str(int(v)) for v in a.ravel()]
    return f"{NAMES[str(a.dtype)]}:{'x'.join(map(str, a.shape)) or '-'}:{','.join(values)}"


def case(name, parameters, operands, results):
    results = results if isinstance(results, (list, tuple)) else [results]
    lines.append(f"{name} {','.join(map(str, parameters)) or '-'} | {' '.join(map(text, operands))} | "
                 f"{' '.join(map(text, results))}")


def array(values, dtype="float32"):
    return xp.asarray(np.array(values, dtype=dtype))


inf, nan = float("inf"), float("nan")
F = [-inf, -2.5, -1.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.5, 3.0, inf, nan]
I = {"int8": [-128, -7, -1, 0, 1, 3, 127], "uint8": [0, 1, 2, 7, 9, 200, 255], "int32": [-2147483648, -9, -1, 0, 2, 8, 2147483647],
     "int64": [-2**40, -3, 0, 1, 4, 5, 2**40], "uint32": [0, 1, 2, 3, 5, 8, 2**31]}
REAL = "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal signbit sin sinh sqrt tan tanh".split()
NUMERIC = "abs ceil floor isfinite isinf isnan negative positive round sign square trunc".split()
REAL_TWO = "atan2 copysign divide hypot logaddexp nextafter".split()
NUMERIC_TWO = "add equal greater greater_equal less less_equal maximum minimum multiply not_equal subtract".split()
BITS_TWO = "bitwise_and bitwise_or bitwise_xor".split()

with np.errstate(all="ignore"):
    for name in REAL + NUMERIC:
        case(name, [], [array(F)], getattr(xp, name)(array(F)))
        case(name, [], [array(F, "float64")], getattr(xp, name)(array(F, "float64")))
    for name in NUMERIC:
        for t in ("int8", "uint32"):
            if (name, t) != ("negative", "uint32"):
                case(name, [], [array(I[t], t)], getattr(xp, name)(array(I[t], t)))
    pairs = array([[x for x in F for _ in F], [y for _ in F for y in F]])
    for name in REAL_TWO + NUMERIC_TWO:
        x, y = pairs[0, :], pairs[1, :]
        case(name, [], [x, y], getattr(xp, name)(x, y))
    for name in ("floor_divide", "pow", "remainder"):  # where inf meets 0 the standard leaves it open
        x, y = array([7.5, -7.5, 2.0, 9.0, -8.0]), array([2.0, 2.0, -3.0, 0.5, 3.0])
        case(name, [], [x, y], getattr(xp, name)(x, y))
    for name in NUMERIC_TWO + ["floor_divide", "remainder"]:
        for t, u in (("int8", "int8"), ("uint8", "int8"), ("int32", "uint8"), ("int64", "int32")):
            x, y = array(I[t], t), array(list(reversed(I[u])), u)
            if name in ("floor_divide", "remainder"):
                y = array([3, -2, 5, 7, 2, 11, 4] if u[0] == "i" else [3, 2, 5, 7, 2, 11, 4], u)
            case(name, [], [x, y], getattr(xp, name)(x, y))
    for t in ("int8", "uint32", "int64"):
        x, y = array(I[t], t), array([3, 1, 2, 5, 0, 4, 6], t)
        for name in BITS_TWO + ["bitwise_left_shift", "bitwise_right_shift"]:
            case(name, [], [x, y], getattr(xp, name)(x, y))
        case("bitwise_invert", [], [x], xp.bitwise_invert(x))
        case("pow", [], [array([2, 3, 1, 0], t), array([3, 2, 5, 1], t)], xp.pow(array([2, 3, 1, 0], t), array([3, 2, 5, 1], t)))
    b, c = array([0, 0, 1, 1], "bool"), array([0, 1, 0, 1], "bool")
    for name in BITS_TWO + ["logical_and", "logical_or", "logical_xor", "equal", "not_equal"]:
        case(name, [], [b, c], getattr(xp, name)(b, c))
    case("bitwise_invert", [], [b], xp.bitwise_invert(b))
    case("logical_not", [], [b], xp.logical_not(b))
    case("clip", [], [array(F), array(-1.0), array(2.0)], xp.clip(array(F), -1.0, 2.0))
    case("clip", [], [array(I["int8"], "int8"), array(-5, "int8"), array(5, "int8")], xp.clip(array(I["int8"], "int8"), -5, 5))
    case("where", [], [b, array([1, 2, 3, 4], "int8"), array([9.0], "int8")],
         xp.where(b, array([1, 2, 3, 4], "int8"), array([9], "int8")))

    # Products
    for t, (m, k, n) in (("float32", (3, 4, 2)), ("int8", (5, 9, 3)), ("uint32", (2, 3, 4)), ("int64", (1, 5, 1))):
        x = array(np.arange(m * k).reshape(m, k) * 3 - (0 if t[0] == "u" else 7), t)
        y = array(np.arange(k * n).reshape(k, n) * 5 + 1, t)
        case("matmul", [], [x, y], xp.matmul(x, y))
        case("matmul", [], [x[0, :], y], xp.matmul(x[0, :], y))
        case("matmul", [], [x, y[:, 0]], xp.matmul(x, y[:, 0]))
        z = array(np.arange(2 * k * n).reshape(2, k, n), t)
        case("matmul", [], [x, z], xp.matmul(x, z))
        case("tensordot", [1], [x, y], xp.tensordot(x, y, axes=1))
        case("tensordot", [0], [x[0, :], y], xp.tensordot(x[0, :], y, axes=0))
        case("tensordot_axes", ["0x1", "1x0"], [x, x.T], xp.tensordot(x, x.T, axes=((0, 1), (1, 0))))
        case("tensordot_axes", ["1", "1"], [x, z], xp.tensordot(x, z, axes=((1,), (1,))))
        case("vecdot", [-1], [x, x[0, :]], xp.vecdot(x, x[0, :]))
        case("vecdot", [-2], [z, z[0, ...]], xp.vecdot(z, z[0, ...], axis=-2))
    case("matmul", [], [array([[1, 0], [0, 0]], "bool"), array([[1, 1], [0, 1]], "bool")],
         np.matmul(np.array([[1, 0], [0, 0]], bool), np.array([[1, 1], [0, 1]], bool)))

    # Shapes
    x = array(np.arange(24).reshape(2, 3, 4))
    case("matrix_transpose", [], [x], xp.matrix_transpose(x))
    case("broadcast_arrays", [], [x, array([[1], [2], [3]], "int8")], xp.broadcast_arrays(x, array([[1], [2], [3]], "int8")))
    case("broadcast_to", ["3x2"], [array([1, 2])], xp.broadcast_to(array([1, 2]), (3, 2)))
    case("concat", [1], [x, x[:, :1, :]], xp.concat([x, x[:, :1, :]], axis=1))
    case("concat_flat", [], [x, array([[7.0, 8.0]])], xp.concat([x, array([[7.0, 8.0]])], axis=None))
    case("expand_dims", [1], [x], xp.expand_dims(x, axis=1))
    case("expand_dims", [-1], [x], xp.expand_dims(x, axis=-1))
    case("flip", ["-"], [x], xp.flip(x))
    case("flip", ["0x-1"], [x], xp.flip(x, axis=(0, -1)))
    case("moveaxis", ["0", "-1"], [x], xp.moveaxis(x, 0, -1))
    case("moveaxis", ["2x0", "0x1"], [x], xp.moveaxis(x, (2, 0), (0, 1)))
    case("permute_dims", ["2x0x1"], [x], xp.permute_dims(x, (2, 0, 1)))
    case("repeat", [2, 1], [x], xp.repeat(x, 2, axis=1))
    case("repeat", [3, "-"], [x[0, :, :]], xp.repeat(x[0, :, :], 3))
    case("repeat_counts", [1], [x, array([2, 0, 3], "int32")], xp.repeat(x, array([2, 0, 3], "int32"), axis=1))
    case("repeat_counts", ["-"], [x[0, 0, :], array([1, 2, 0, 1], "int64")], xp.repeat(x[0, 0, :], array([1, 2, 0, 1], "int64")))
    case("reshape", ["4x-1"], [x], xp.reshape(x, (4, -1)))
    case("roll", ["5", "2"], [x], xp.roll(x, 5, axis=2))
    case("roll", ["-1x2", "0x1"], [x], xp.roll(x, (-1, 2), axis=(0, 1)))
    case("roll", ["7", "-"], [x], xp.roll(x, 7))
    case("squeeze", ["0x2"], [x[:1, :, :1]], xp.squeeze(x[:1, :, :1], axis=(0, 2)))
    case("stack", [1], [x, x], xp.stack([x, x], axis=1))
    case("tile", ["2x1x2"], [x[0, :, :]], xp.tile(x[0, :, :], (2, 1, 2)))
    case("unstack", [1], [x], xp.unstack(x, axis=1))
    case("tril", [0], [x], xp.tril(x))
    case("tril", [-1], [array(np.ones((3, 3)), "int8")], xp.tril(array(np.ones((3, 3)), "int8"), k=-1))
    case("triu", [1], [x], xp.triu(x, k=1))
    case("triu", [-1], [array(np.ones((4, 2)), "bool")], xp.triu(array(np.ones((4, 2)), "bool"), k=-1))
    p, q = array([1, 2, 3], "int32"), array([5, 6], "int32")
    for indexing in ("xy", "ij"):
        case("meshgrid", [indexing], [p, q, p], xp.meshgrid(p, q, p, indexing=indexing))
    case("take", [1], [x, array([2, 0], "int64")], xp.take(x, array([2, 0], "int64"), axis=1))
    order = array(np.array([[[2, 1, 0, 0]]]), "int64")
    case("take_along_axis", [1], [x, xp.broadcast_to(order, (2, 1, 4))],
         xp.take_along_axis(x, xp.broadcast_to(order, (2, 1, 4)), axis=1))

    # Creation
    case("arange", [-3, 9, 2, "i32"], [], xp.arange(-3, 9, 2, dtype=xp.int32))
    case("arange", [0.5, 2.5, 0.25, "f32"], [], xp.arange(0.5, 2.5, 0.25, dtype=xp.float32))
    case("linspace", [-1, 1, 5, 1], [], xp.linspace(-1, 1, 5, dtype=xp.float32))
    case("linspace", [0, 3, 6, 0], [], xp.linspace(0, 3, 6, dtype=xp.float32, endpoint=False))
    case("eye", [3, 4, 1, "i8"], [], xp.eye(3, 4, k=1, dtype=xp.int8))
    case("full", ["2x3", 7, "u16"], [], xp.full((2, 3), 7, dtype=xp.uint16))
    case("zeros", ["3", "f64"], [], xp.zeros(3, dtype=xp.float64))
    case("ones", ["2x1", "i64"], [], xp.ones((2, 1), dtype=xp.int64))
    for name, more in (("zeros_like", []), ("ones_like", []), ("full_like", [5])):
        case(name, more, [p], getattr(xp, name)(p, *more))
    case("astype", ["i8"], [array([1.5, -2.5, 0.0])], xp.astype(array([1.5, -2.5, 0.0]), xp.int8))

    # Reductions, scans, differences
    for t in ("float32", "int8", "uint8", "int32", "uint32", "int64"):
        y = array((np.arange(24).reshape(2, 3, 4) * 37 % 101) - (0 if t[0] == "u" else 50), t)
        for name in ("sum", "prod", "max", "min"):
            z = y % 4 + 1 if name == "prod" and t[0] != "f" else y
            case(name, ["-", 0], [z], getattr(xp, name)(z)) if (name, t) != ("prod", "float32") else None
            case(name, [1, 0], [z], getattr(xp, name)(z, axis=1))
            case(name, ["0x2", 1], [z], getattr(xp, name)(z, axis=(0, 2), keepdims=True))
        for name in ("cumulative_sum", "cumulative_prod"):
            case(name, [2, 0], [y[:1, :2, :]], getattr(xp, name)(y[:1, :2, :], axis=2))
            case(name, [1, 1], [y[:1, :2, :]], getattr(xp, name)(y[:1, :2, :], axis=1, include_initial=True))
        for name in ("argmax", "argmin"):
            case(name, ["-", 0], [y], getattr(xp, name)(y))
            case(name, [2, 1], [y], getattr(xp, name)(y, axis=2, keepdims=True))
        for name in ("any", "all"):
            case(name, [1, 0], [y % 2], getattr(xp, name)(y % 2, axis=1))
        case("count_nonzero", ["-", 0], [y % 3], xp.count_nonzero(y % 3))
        case("count_nonzero", ["0x2", 1], [y % 3], xp.count_nonzero(y % 3, axis=(0, 2), keepdims=True))
        case("diff", [-1, 1], [y], xp.diff(y))
        case("diff", [1, 2], [y], xp.diff(y, axis=1, n=2))
        case("diff_joined", [0], [y, y[:1, ...], y[1:, ...]], xp.diff(y, axis=0, prepend=y[:1, ...], append=y[1:, ...]))
        case("sort", [1, 0], [y], xp.sort(y, axis=1))
        case("sort", [2, 1], [y], xp.sort(y, axis=2, descending=True))
        case("argsort", [2, 0], [y % 3], xp.argsort(y % 3, axis=2))
        case("argsort", [1, 1], [y % 3], xp.argsort(y % 3, axis=1, descending=True))
    for name in ("mean", "var", "std"):
        case(name, [1, 0], [x], getattr(xp, name)(x, axis=1))
        case(name, ["0x2", 1], [x], getattr(xp, name)(x, axis=(0, 2), keepdims=True))
    case("var_corrected", [2, 1.5], [x], xp.var(x, axis=2, correction=1.5))
    holes = array([[1.0, nan, 3.0], [nan, -2.0, 0.0]])
    for name in ("sum", "prod", "max", "min", "argmax", "argmin"):
        case(name, [1, 0], [holes], getattr(xp, name)(holes, axis=1))
    case("any", ["-", 0], [array([0.0, nan])], xp.any(array([0.0, nan])))
    case("all", ["-", 0], [array([1.0, nan, 0.0])], xp.all(array([1.0, nan, 0.0])))

    # What depends on data
    for t in ("float32", "int8", "bool"):
        y = array(np.arange(30).reshape(5, 6) * 7 % 4 > 1 if t == "bool" else np.arange(30).reshape(5, 6) * 7 % 4, t)
        case("nonzero", [], [y], xp.nonzero(y))
        if t != "bool":
            u = xp.unique_all(y)
            case("unique_all", [], [y], [u.values, u.indices, u.inverse_indices, u.counts])
            case("unique_counts", [], [y], list(xp.unique_counts(y)))
            case("unique_inverse", [], [y], list(xp.unique_inverse(y)))
        case("unique_values", [], [y], xp.unique_values(y))
        case("mask", [], [y, y > array(1, t) if t != "bool" else y], y[y > array(1, t) if t != "bool" else y])
    case("nonzero", [], [array([0, 0, 0], "int8")], xp.nonzero(array([0, 0, 0], "int8")))
    holes = array([3.0, nan, -0.0, 0.0, nan, 3.0, inf])
    u = xp.unique_all(holes)
    case("unique_all", [], [holes], [u.values, u.indices, u.inverse_indices, u.counts])
    case("mask", [], [x, array([1, 0], "bool")], x[array([1, 0], "bool")])
    case("mask", [], [x, array(np.zeros((2, 3)), "bool")], x[array(np.zeros((2, 3)), "bool")])
    for t in ("float32", "int32", "uint8"):
        y, z = array([1, 2, 2, 2, 5, 8, 8], t), array([[0, 1, 2], [3, 8, 9]], t)
        case("searchsorted", ["left"], [y, z], xp.searchsorted(y, z))
        case("searchsorted", ["right"], [y, z], xp.searchsorted(y, z, side="right"))
        mixed, order = array([8, 2, 5, 1], t), array([3, 1, 2, 0], "int64")
        case("searchsorted_by", ["left"], [mixed, z, order], xp.searchsorted(mixed, z, sorter=order))
    case("searchsorted", ["left"], [array([], "float32"), array([1.0, 2.0])], xp.searchsorted(array([], "float32"), array([1.0, 2.0])))

    # Indexing: an index is a word a place: number, a:b:s, new, ...
    for spelled, index in (("1", 1), ("-1,2", (-1, 2)), ("0,1,3", (0, 1, 3)), ("::2,1:,::-1", np.s_[::2, 1:, ::-1]),
                           ("new,0", (None, 0)), ("...,1", (..., 1)), ("0,...,new", (0, ..., None)), ("-1:0:-1,new,2", np.s_[-1:0:-1, None, 2])):
        case("index", [spelled.replace(",", "/")], [x], np.asarray(x._array)[index])
        after = np.array(x._array)
        after[index] = np.asarray(x._array)[index] * 2 + 1
        case("assign", [spelled.replace(",", "/")], [x, array(np.asarray(x._array)[index] * 2 + 1)], after)
    i, j, k = array([1, 0], "int64"), array([[2], [1]], "int64"), array([3, 3], "int64")
    case("index_arrays", [], [x, i, j, k], x[i, j, k])
    case("index_rows", [], [x, array([[1, 0, -1]], "int64")], np.asarray(x._array)[np.array([[1, 0, -1]])])

body = "\n".join(["# tests/reference/make_array_api.py writes this.", *lines]) + "\n"
if "--check" in sys.argv:
    sys.exit(TO.read_text() != body)
TO.write_text(body)
print(len(lines), "cases,", len(body) // 1024, "KiB")
