#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/expected/numpy.{txt,bin}: what NumPy and ml_dtypes say of ops, casts, reductions, running sums, norms and products
in every element type, for tests/reference/numpy.cpp. .deps/venv/bin/python runs it.

A line of the text: KIND NAME ULPS, the result as TYPE:SHAPE:OFFSET, then the operands so; shapes as 2x3, scalars as `-`."""
import math
from pathlib import Path

import ml_dtypes
import numpy as np

TO = Path(__file__).resolve().parents[1] / "data/expected"
TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "i16": np.int16,
         "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "bool": np.bool_}
REAL = ("f64", "f32", "f16", "bf16")
INTEGER = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
NUMERIC = REAL + INTEGER
NAMES = {np.dtype(t): n for n, t in TYPES.items()}

rng = np.random.default_rng(7)
lines, blob = [], bytearray()


def put(array):
    array = np.asarray(array, order="C")
    text = f"{NAMES[array.dtype]}:{'x'.join(map(str, array.shape)) or '-'}:{len(blob)}"
    blob.extend(array.tobytes())
    return text


def case(kind, name, ulps, result, *operands):
    lines.append(" ".join([kind, str(name), str(ulps), put(result), *map(put, operands)]))


def values(t, shape, how="special"):
    """`special` holds NaN, infinities, zeros of both signs and extremes; `positive` and `unit` suit logarithms and arcs."""
    n = int(np.prod(shape, dtype=np.int64))
    if t == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if t in INTEGER:
        low, high = np.iinfo(TYPES[t]).min, np.iinfo(TYPES[t]).max
        small = rng.integers(max(low, -9), 10, n)
        wide = rng.integers(low, high, n, dtype=TYPES[t], endpoint=True)
        x = np.where(rng.random(n) < 0.6, small.astype(TYPES[t]), wide)
        if how == "special" and n > 3:
            x[:3] = [0, low, high]
        return x.reshape(shape)
    x = rng.normal(0, 3, n)
    if how == "positive":
        x = np.abs(x) + 0.01
    if how == "unit":
        x = rng.uniform(-1, 1, n)
    if how == "special" and n > 12:
        x[:10] = [0.0, -0.0, 1, -1, 0.5, -2.5, math.inf, -math.inf, math.nan, 3.5]
    return x.astype(TYPES[t]).reshape(shape)


def exact(x):
    """The operand in a type that rounds so much less that the result's own rounding is what counts."""
    return x.astype(np.longdouble if x.dtype == np.float64 else np.float64)


def rounded(x, t):
    return np.asarray(x).astype(np.float64 if t in ("f16", "bf16") else TYPES[t]).astype(TYPES[t])


def wrap(x, t):
    """An integer of any size modulo 2^bits."""
    bits = np.iinfo(TYPES[t]).bits
    flat = [int(v) & ((1 << bits) - 1) for v in np.asarray(x, dtype=object).ravel()]
    return np.array(flat, dtype=np.uint64).astype(f"u{bits // 8}").view(TYPES[t]).reshape(np.shape(x))


def cast(x, to):
    """As docs/00_map.md says: real to integer saturates, NaN gives 0, integers wrap, anything to bool is `not 0`."""
    source = NAMES[x.dtype]
    if to == "bool":
        return x != 0
    if to in INTEGER and source in REAL:
        low, high = int(np.iinfo(TYPES[to]).min), int(np.iinfo(TYPES[to]).max)
        def one(v):
            v = float(v)
            return 0 if math.isnan(v) else high if v >= high else low if v <= low else int(v)
        return np.array([one(v) for v in x.ravel()], dtype=TYPES[to]).reshape(x.shape)
    if to in INTEGER:
        return wrap(x.astype(object), to) if source != "bool" else x.astype(TYPES[to])
    if to in ("f16", "bf16") and source in INTEGER:          # kernels go by float
        return x.astype(np.float32).astype(TYPES[to])
    return x.astype(TYPES[to])


np.seterr(all="ignore")
N = 97

for source in TYPES:
    for to in TYPES:
        if source != to:
            x = values(source, (N,))
            case("cast", to, 0, cast(x, to), x)

REAL_UNARY = {  # name: function on wide operands, how operands are drawn
    "negative": (np.negative, "special"), "abs": (np.abs, "special"), "sign": (np.sign, "special"),
    "square": (np.square, "special"), "reciprocal": (lambda x: 1 / x, "special"), "sqrt": (np.sqrt, "special"),
    "cbrt": (np.cbrt, "special"), "exp": (np.exp, "special"), "exp2": (np.exp2, "special"), "expm1": (np.expm1, "special"),
    "log": (np.log, "positive"), "log2": (np.log2, "positive"), "log10": (np.log10, "positive"),
    "log1p": (np.log1p, "positive"), "sin": (np.sin, "unit"), "cos": (np.cos, "unit"), "tan": (np.tan, "unit"),
    "asin": (np.arcsin, "unit"), "acos": (np.arccos, "unit"), "atan": (np.arctan, "special"), "sinh": (np.sinh, "special"),
    "cosh": (np.cosh, "special"), "tanh": (np.tanh, "special"), "asinh": (np.arcsinh, "special"),
    "acosh": (lambda x: np.arccosh(x), "positive"), "atanh": (np.arctanh, "unit"), "floor": (np.floor, "special"),
    "ceil": (np.ceil, "special"), "trunc": (np.trunc, "special"), "round": (np.rint, "special"),
    "relu": (lambda x: np.where(x < 0, 0, x), "special"), "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), "special"),
    "softplus": (lambda x: np.logaddexp(0, x), "special"), "erf": (np.vectorize(math.erf, otypes=[float]), "special")}
REAL_BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "maximum": np.maximum,
               "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "copysign": np.copysign, "hypot": np.hypot,
               "atan2": np.arctan2, "fmod": np.fmod, "remainder": np.remainder, "floor_divide": np.floor_divide}
COMPARE = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
           "greater": np.greater, "greater_equal": np.greater_equal}
CLASSIFY = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit}

for t in REAL:
    for name, (function, how) in REAL_UNARY.items():
        x = values(t, (N,), how)
        if name == "acosh":
            x = (x + TYPES[t](1)).astype(TYPES[t])
        case("op", name, 4, rounded(function(exact(x)), t), x)
    for name, function in REAL_BINARY.items():
        x, y = values(t, (N,)), rng.permutation(values(t, (N,)))
        if name in ("fmod", "remainder", "floor_divide"):    # infinite quotients aside, NumPy's own warnings begin
            x, y = values(t, (N,), "positive"), values(t, (N,), "unit")
        case("op", name, 4, rounded(function(exact(x), exact(y)), t), x, y)
    x, y = values(t, (N,), "positive"), values(t, (N,), "unit")
    case("op", "pow", 4, rounded(np.power(exact(x), exact(y)), t), x, y)
    for name, function in CLASSIFY.items():
        x = values(t, (N,))
        case("op", name, 0, function(exact(x)), x)

def truncated(x, y):
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

INTEGER_BINARY = {
    "add": lambda x, y, b: x + y, "subtract": lambda x, y, b: x - y, "multiply": lambda x, y, b: x * y,
    "divide": lambda x, y, b: truncated(x, y), "floor_divide": lambda x, y, b: 0 if y == 0 else x // y,
    "remainder": lambda x, y, b: 0 if y == 0 else x % y, "fmod": lambda x, y, b: 0 if y == 0 else x - truncated(x, y) * y,
    "maximum": lambda x, y, b: max(x, y), "minimum": lambda x, y, b: min(x, y), "bitwise_and": lambda x, y, b: x & y,
    "bitwise_or": lambda x, y, b: x | y, "bitwise_xor": lambda x, y, b: x ^ y,
    "squared_difference": lambda x, y, b: (x - y) ** 2}
for t in INTEGER:
    bits = np.iinfo(TYPES[t]).bits
    for name, function in INTEGER_BINARY.items():
        x, y = values(t, (N,)), rng.permutation(values(t, (N,)))
        result = np.array([function(int(a), int(b), bits) for a, b in zip(x, y)], dtype=object)
        case("op", name, 0, wrap(result, t), x, y)
    x, y = values(t, (N,)), rng.integers(0, bits, N).astype(TYPES[t])
    case("op", "bitwise_left_shift", 0, np.left_shift(x, y), x, y)
    case("op", "bitwise_right_shift", 0, np.right_shift(x, y), x, y)
    x, y = rng.integers(0, 6, N).astype(TYPES[t]), rng.integers(0, 5, N).astype(TYPES[t])
    case("op", "pow", 0, wrap(np.power(x.astype(np.uint64), y.astype(np.uint64)).astype(object), t), x, y)
    x = values(t, (N,))
    for name, function in {"negative": lambda v: -v, "abs": abs, "square": lambda v: v * v, "bitwise_invert": lambda v: ~v,
                           "relu": lambda v: max(v, 0), "sign": lambda v: (v > 0) - (v < 0)}.items():
        case("op", name, 0, wrap(np.array([function(int(v)) for v in x], dtype=object), t), x)

for t in NUMERIC:
    for name, function in COMPARE.items():
        x, y = values(t, (N,)), rng.permutation(values(t, (N,)))
        case("op", name, 0, function(exact(x), exact(y)) if t in REAL else function(x, y), x, y)
    c, x, y = values("bool", (5, 1)), values(t, (5, 13)), values(t, (13,))
    case("op", "where", 0, np.where(c, x, y), c, x, y)
for name, function in {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}.items():
    x, y = values("bool", (N,)), values("bool", (N,))
    case("op", name, 0, function(x, y), x, y)

for shape, axis in (((7, 33), 1), ((7, 33), 0), ((3, 5, 4), 1), ((130,), 0)):
    for t in REAL:
        x = values(t, shape, "positive")
        small = (x / TYPES[t](3)).astype(TYPES[t])
        case("reduce", f"sum:{axis}", 8, rounded(exact(x).sum(axis), t), x)
        case("reduce", f"mean:{axis}", 8, rounded(exact(x).mean(axis), t), x)
        case("reduce", f"prod:{axis}", 64, rounded(exact(small).prod(axis), t), small)
        case("reduce", f"logsumexp:{axis}", 8, rounded(np.log(np.exp(exact(x)).sum(axis)), t), x)
        y = values(t, shape, "special" if shape == (130,) else "unit")
        case("reduce", f"max:{axis}", 0, rounded(exact(y).max(axis), t), y)
        case("reduce", f"min:{axis}", 0, rounded(exact(y).min(axis), t), y)
        case("reduce", f"argmax:{axis}", 0, np.asarray(exact(y).argmax(axis), np.int64), y)
        case("reduce", f"argmin:{axis}", 0, np.asarray(exact(y).argmin(axis), np.int64), y)
        e = np.exp(exact(y) - exact(y).max(axis, keepdims=True))
        case("softmax", axis, 8, rounded(e / e.sum(axis, keepdims=True), t), y)
        case("log_softmax", axis, 8, rounded(np.log(e / e.sum(axis, keepdims=True)), t), y)
    for t in INTEGER:
        x = values(t, shape)
        case("reduce", f"sum:{axis}", 0, wrap(x.astype(object).sum(axis), t), x)
        case("reduce", f"prod:{axis}", 0, wrap(x.astype(object).prod(axis), t), x)
        case("reduce", f"max:{axis}", 0, np.asarray(x.max(axis)), x)
        case("reduce", f"min:{axis}", 0, np.asarray(x.min(axis)), x)
        case("reduce", f"argmax:{axis}", 0, np.asarray(x.argmax(axis), np.int64), x)
        case("reduce", f"argmin:{axis}", 0, np.asarray(x.argmin(axis), np.int64), x)
    b = values("bool", shape)
    case("reduce", f"any:{axis}", 0, np.asarray(b.any(axis)), b)
    case("reduce", f"all:{axis}", 0, np.asarray(b.all(axis)), b)

for left, right in (((5, 7), (7, 3)), ((2, 1, 4, 33), (3, 33, 6)), ((65, 40), (40, 17)), ((9,), (9, 4)), ((4, 9), (9,))):
    for t in REAL:
        x, y = values(t, left, "positive"), values(t, right, "positive")
        case("matmul", "-", 8, rounded(np.matmul(exact(x), exact(y)), t), x, y)

def normed(x, axes, centred):
    mean = x.mean(axes, keepdims=True) if centred else 0
    return (x - mean) / np.sqrt(np.square(x - mean).mean(axes, keepdims=True) + 1e-5)

for shape, axes in (((7, 33), (1,)), ((7, 33), (0,)), ((3, 5, 4), (1, 2)), ((3, 5, 4), (0, 2)), ((130,), (0,))):
    for t in REAL:
        x = (values(t, shape, "unit") + TYPES[t](2)).astype(TYPES[t])
        name = ",".join(map(str, axes))
        case("layer_norm", name, 8, rounded(normed(exact(x), axes, True), t), x)
        case("rms_norm", name, 8, rounded(normed(exact(x), axes, False), t), x)
        case("var", name + ":0", 8, rounded(exact(x).var(axes), t), x)
        case("var", name + ":1.5", 8, rounded(exact(x).var(axes, ddof=1.5), t), x)

def wrapped_product(x, axis, t):
    result, running = [], None
    for line in np.moveaxis(x.astype(object), axis, 0):
        running = line if running is None else running * line
        result.append(wrap(running, t))
    return np.moveaxis(np.stack(result), 0, axis)

for shape, axis in (((7, 33), 1), ((7, 33), 0), ((3, 5, 4), 1)):
    for t in REAL:
        x = values(t, shape, "positive")
        small = (x / TYPES[t](3)).astype(TYPES[t])
        case("sum_along", axis, 8, rounded(exact(x).cumsum(axis), t), x)
        case("prod_along", axis, 64, rounded(exact(small).cumprod(axis), t), small)
    for t in INTEGER:
        x = values(t, shape)
        case("sum_along", axis, 0, wrap(x.astype(object).cumsum(axis), t), x)
        case("prod_along", axis, 0, wrapped_product(x, axis, t), x)

# Random cases of what cuts, joins, sorts, picks and scatters, and of einsum; small, so that there can be many of each type.

def some_shape(rank, most=4, least=1):
    return tuple(int(n) for n in rng.integers(least, most + 1, rank))


def moderate(t, shape):
    """Reals whose sums and products keep their relative accuracy; integers of any size."""
    return values(t, shape) if t in INTEGER else rng.uniform(0.25, 1, shape).astype(TYPES[t])


def indices(length, shape):
    """From the end too, now and then outside."""
    i = rng.integers(-length, length, shape)
    far = rng.integers(-3 * length - 2, 3 * length + 3, shape)
    return np.where(rng.random(shape) < 0.15, far, i).astype(rng.choice([np.int32, np.int64]))


def inside(i, length):
    return np.clip(np.where(i < 0, i + length, i), 0, length - 1)


def random_einsum(t):
    while True:
        letters = "abcde"[:rng.integers(1, 6)]
        extents = {c: int(rng.integers(1, 5)) for c in letters}
        count = int(rng.integers(1, 4))
        dots = some_shape(rng.integers(0, 3)) if rng.random() < 0.3 else None
        terms = ["".join(rng.choice(list(letters), rng.integers(0 if dots else 1, 4))) for _ in range(count)]
        shapes = []
        for k, term in enumerate(terms):
            at, mine = rng.integers(0, len(term) + 1), ()
            if dots is not None:
                mine = tuple(1 if rng.random() < 0.3 else n for n in dots[rng.integers(0, len(dots) + 1):])
                terms[k] = term[:at] + "..." + term[at:]
            one = {c: 1 if rng.random() < 0.05 and term.count(c) == 1 else extents[c] for c in letters}
            shapes.append(tuple(one[c] for c in term[:at]) + mine + tuple(one[c] for c in term[at:]))
        used = sorted(set("".join(terms)) - {"."})
        text = ",".join(terms)
        if rng.random() < 0.8:
            out = [c for c in rng.permutation(used) if rng.random() < 0.5] if used else []
            at = rng.integers(0, len(out) + 1)
            text += "->" + "".join(out[:at]) + ("..." if dots is not None else "") + "".join(out[at:])
        operands = [moderate(t, s) for s in shapes]
        try:
            if t in REAL:
                return text, rounded(np.einsum(text, *[x.astype(np.float64) for x in operands], optimize=False), t), operands
            wide = [x.astype(np.int64).view(np.uint64) if t[0] == "i" else x.astype(np.uint64) for x in operands]
            return text, wrap(np.einsum(text, *wide, optimize=False).astype(object), t), operands
        except ValueError:      # axes of length 1 that NumPy does not broadcast
            continue


def ordered(x, axis, descending):
    x = x.astype(np.float64) if NAMES[x.dtype] in REAL else x
    if not descending:
        return np.argsort(x, axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


def joined(old, update, what, t):
    if what == "replace":
        return update
    if what in ("max", "min"):
        if t in REAL and (math.isnan(old) or math.isnan(update)):
            return math.nan
        return max(old, update) if what == "max" else min(old, update)
    return old + update if what == "sum" else old * update


def scattered(data, places, updates, what, t):
    """Updates in row-major order, in a type in which they are exact; `places` are None where an index lies outside."""
    r = data.astype(np.float64 if t in REAL else object)
    for place, update in zip(places, updates):
        if place is None:
            continue
        if np.ndim(update) == 0:
            r[place] = joined(r[place], update.item() if t in INTEGER else float(update), what, t)
        else:
            row = r[place]
            for c in np.ndindex(np.shape(update)):
                u = update[c]
                row[c] = joined(row[c], u.item() if t in INTEGER else float(u), what, t)
            r[place] = row
    return rounded(r, t) if t in REAL else wrap(r, t) if t in INTEGER else r.astype(bool)


def place_of(index, extents):
    index = [int(i) + n if i < 0 else int(i) for i, n in zip(index, extents)]
    return tuple(index) if all(0 <= i < n for i, n in zip(index, extents)) else None


def scatter_case(t, what):
    how = moderate if what in ("sum", "prod") else values
    shape = some_shape(rng.integers(1, 4), 5)
    data, ulps = how(t, shape), 4 if t in REAL else 0
    if rng.random() < 0.5:
        axis = int(rng.integers(0, len(shape)))
        by = tuple(int(rng.integers(1, n + 1)) if d != axis else int(rng.integers(1, 8)) for d, n in enumerate(shape))
        i, updates = indices(shape[axis], by), how(t, by)
        places = [place_of(c[:axis] + (i[c],) + c[axis + 1:], shape) for c in np.ndindex(by)]
        flat = [updates[c] for c in np.ndindex(by)]
        return case("scatter_elements", f"{axis}:{what}", ulps, scattered(data, places, flat, what, t), data, i, updates)
    picked = int(rng.integers(1, len(shape) + 1))
    batch = some_shape(rng.integers(0, 3))
    i = np.stack([indices(n, batch).astype(np.int64) for n in shape[:picked]], -1)
    updates = how(t, batch + shape[picked:])
    places = [place_of(i[c], shape[:picked]) for c in np.ndindex(batch)]
    flat = [updates[c] for c in np.ndindex(batch)]
    case("scatter_nd", what, ulps, scattered(data, places, flat, what, t), data, i, updates)


for t in TYPES:
    for k in range(48 if t in NUMERIC else 0):
        text, result, operands = random_einsum(t)
        case("einsum", text, {"f64": 16, "f32": 16, "f16": 4, "bf16": 4}.get(t, 0), result, *operands)
    for k in range(16):
        x = values(t, some_shape(rng.integers(1, 3), 24) if k % 2 else some_shape(rng.integers(1, 4), 5), "special" if k % 4 else "unit")
        axis, descending = int(rng.integers(-x.ndim, x.ndim)), int(rng.integers(0, 2))
        order = ordered(x, axis, descending)
        case("argsort", f"{axis}:{descending}", 0, order, x)
        case("sort", f"{axis}:{descending}", 0, np.take_along_axis(x, order, axis), x)
        n = int(rng.integers(0, x.shape[axis] + 1))
        case("top_k", f"{n}:{axis}:{descending}", 0, np.take_along_axis(x, np.take(order, np.arange(n), axis), axis), x)
    for k in range(16):
        x = values(t, some_shape(rng.integers(1, 4), 6))
        axis = int(rng.integers(0, x.ndim))
        i = indices(x.shape[axis], tuple(1 if rng.random() < 0.2 else n for n in x.shape[:axis])
                    + some_shape(1, 7, 0) + tuple(1 if rng.random() < 0.2 else n for n in x.shape[axis + 1:]))
        case("take_along_axis", axis, 0, np.take_along_axis(x, inside(i, x.shape[axis]), axis), x, i)
    for k in range(12):
        shape = some_shape(rng.integers(1, 5))
        batch = int(rng.integers(0, len(shape)))
        picked = int(rng.integers(1, len(shape) - batch + 1))
        x, by = values(t, shape), shape[:batch] + some_shape(rng.integers(0, 3))
        if len(by) + len(shape) - batch - picked > 8:
            continue
        i = np.stack([indices(n, by).astype(np.int64) for n in shape[batch:batch + picked]], -1)
        at = [inside(i[..., k], shape[batch + k]) for k in range(picked)]
        front = [np.arange(shape[d]).reshape((-1,) + (1,) * (len(by) - d - 1)) for d in range(batch)]
        case("gather_nd", batch, 0, x[(*front, *at)], x, i)
    for what in ("replace", "sum", "prod", "max", "min"):
        for k in range(8 if t in NUMERIC else 20 if what == "replace" else 0):
            scatter_case(t, what)
    for k in range(4):
        x = values(t, some_shape(rng.integers(1, 4)))
        axis, n = int(rng.integers(0, x.ndim)), int(rng.integers(-9, 10))
        case("roll", f"{n}:{axis}", 0, np.roll(x, n, axis), x)
        case("repeat", f"{abs(n) % 4}:{axis}", 0, np.repeat(x, abs(n) % 4, axis), x)
        repeats = some_shape(rng.integers(1, 4), 3)
        case("tile", "x".join(map(str, repeats)), 0, np.tile(x, repeats), x)
        widths = rng.integers(0, 6, (x.ndim, 2))
        mode = ("constant", "edge", "reflect", "wrap")[k]
        case("pad", f"{k}:{'x'.join(map(str, widths.ravel()))}", 0, np.pad(x, widths, mode), x)

# Types of 8 bits and less, by a generator of their own, so that the cases above stay as they are. Floats of 8 bits in all their
# patterns; integers of 4 bits lie two to a byte, the first in the low bits.
rng = np.random.default_rng(11)
SMALL = {"f8_e4m3": ml_dtypes.float8_e4m3fn, "f8_e5m2": ml_dtypes.float8_e5m2, "i4": ml_dtypes.int4, "u4": ml_dtypes.uint4}
RANGES = {"i4": (-8, 7), "u4": (0, 15)}


def small_put(t, array):
    array = np.asarray(array, order="C")
    data = array.tobytes()
    if t in RANGES:
        nibbles = [int(v) & 15 for v in array.ravel()] + [0] * (array.size % 2)
        data = bytes(a | b << 4 for a, b in zip(nibbles[::2], nibbles[1::2]))
    text = f"{t}:{'x'.join(map(str, array.shape))}:{len(blob)}"
    blob.extend(data)
    return text


def small_values(t):
    if t in RANGES:
        low, high = RANGES[t]
        return rng.integers(low, high, 255, endpoint=True).astype(np.int64)
    if t in SMALL:
        return np.arange(256, dtype=np.uint8).view(SMALL[t])
    if t == "bool" or t in INTEGER:
        return values(t, (255,))
    x = values(t, (600,)).astype(np.float64) * np.exp2(rng.integers(-14, 14, 600))
    x[:8] = [448, 464, 464.5, 57344, 61439, 61440, math.nan, -math.inf]
    return x.astype(TYPES[t])


def small_cast(x, source, to):
    if to == "bool":
        return x != 0
    if to in RANGES or to in INTEGER:
        low, high = RANGES[to] if to in RANGES else (int(np.iinfo(TYPES[to]).min), int(np.iinfo(TYPES[to]).max))
        if source in INTEGER or source in RANGES or source == "bool":
            span = high - low + 1
            return np.array([(int(v) - low) % span + low for v in x], dtype=object).astype(TYPES.get(to, np.int64))
        whole = [0 if math.isnan(v) else high if v >= high else low if v <= low else int(v) for v in map(float, x)]
        return np.array(whole, dtype=object).astype(TYPES.get(to, np.int64))
    if source in RANGES or source in INTEGER or source == "bool":   # kernels go by float
        x = np.asarray(x).astype(np.float64 if to == "f64" else np.float32)
    return x.astype(SMALL.get(to) or TYPES[to])


for source in [*TYPES, *SMALL]:
    for to in [*TYPES, *SMALL]:
        if source != to and (source in SMALL or to in SMALL):
            x = small_values(source)
            lines.append(" ".join(["cast", to, "0", small_put(to, small_cast(x, source, to)), small_put(source, x)]))

(TO / "numpy.txt").write_text("\n".join([f"# NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}", *lines]) + "\n")
(TO / "numpy.bin").write_bytes(bytes(blob))
print(len(lines), "cases,", len(blob) // 1024, "KiB")
