# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""Models of one operator, right and wrong: (class, name, expected, bytes)."""
from wire import *  # noqa: F403

LEAST, MOST = -(1 << 63), (1 << 63) - 1


def ints(*values):
    return C([len(values)], values)


def floats(*values):
    return C([len(values)], values, FLOAT)


def number(value, type=FLOAT):
    return C([], [value], type)


def cases():
    x, image = V(2, 3, 4), V(1, 4, 6, 6)
    weight = C([4, 4, 3, 3], [0.5] * 144, FLOAT)

    def say(expected, name, *args, **values):
        return f"op {args[0]}", name, expected, single(*args, **values)

    def accept(*args, **values):
        return say("accept", *args, **values)

    def refuse(*args, **values):
        return say("refuse", *args, **values)

    def either(*args, **values):
        return say("either", *args, **values)

    yield accept("as it should be", "Transpose", x, perm=[2, 0, 1])
    yield accept("no perm", "Transpose", x)
    for perm in [0, 1], [0, 1, 2, 3], [0, 0, 1], [-1, 0, 1], [0, 1, 3], [0, 1, MOST], [0, 1, LEAST], []:
        yield refuse(f"perm {perm}", "Transpose", x, perm=perm)

    yield accept("as it should be", "Reshape", x, ints(4, -1))
    yield accept("0 copies", "Reshape", x, ints(0, 12))
    yield accept("to a scalar", "Reshape", V(1), C([0], []))
    for name, to in {"two unknown": ints(-1, -1), "below -1": ints(-2, 12), "too many": ints(5, 5), "too few": ints(2, 3),
                     "wraps to the count": ints(1 << 62, 4, 24), "wraps with -1": ints(1 << 62, 8, -1), "0 beyond the rank": ints(2, 3, 4, 0),
                     "nine axes": ints(*[1] * 8, 24), "65536 axes": ints(*[1] * 65536), "least": ints(LEAST), "of rank 2": C([1, 2], [4, 6]),
                     "of rank 0": C([], [24]), "of int32": C([2], [4, 6], INT32), "of floats": C([2], [4.0, 6.0], FLOAT),
                     "of bool": C([1], [True], BOOL)}.items():
        yield refuse(name, "Reshape", x, to)
    yield refuse("-1 beside 0 elements", "Reshape", V(0, 3), ints(0, -1), allowzero=1)
    yield refuse("shape of a run of rank 2", "Reshape", x, V(1, 2, type=INT64))
    yield refuse("no shape", "Reshape", x)
    yield refuse("allowzero of text", "Reshape", x, ints(4, 6), allowzero="1")

    yield accept("as it should be", "Squeeze", V(2, 1, 3), ints(1))
    yield accept("negative", "Squeeze", V(2, 1, 3), ints(-2))
    for axes in (0,), (3,), (-4,), (1, 1), (1, -2), (LEAST,), (MOST,):
        yield refuse(f"axes {axes}", "Squeeze", V(2, 1, 3), ints(*axes))
    yield accept("as it should be", "Unsqueeze", x, ints(0, -1))
    for axes in (5,), (-6,), (0, 0), (0, -5), (LEAST,), tuple(range(6)), tuple(range(100000)):
        yield refuse(f"axes {str(axes)[:24]} of {len(axes)}", "Unsqueeze", V(2, 3, 4), ints(*axes))
    yield accept("as it should be", "Flatten", x, axis=-1)
    for axis in 4, -4, LEAST, MOST:
        yield refuse(f"axis {axis}", "Flatten", x, axis=axis)

    yield accept("as it should be", "Slice", x, ints(0, 1), ints(2, 9), ints(0, -1), ints(1, 2))
    yield accept("backwards to the beginning", "Slice", x, ints(-1), ints(LEAST), ints(2), ints(-1))
    yield accept("beyond both ends", "Slice", x, ints(LEAST), ints(MOST), ints(1))
    yield accept("the longest step", "Slice", x, ints(0), ints(MOST), ints(1), ints(MOST))
    yield accept("of int32", "Slice", x, C([1], [0], INT32), C([1], [1], INT32))
    yield refuse("of two types", "Slice", x, C([1], [0], INT32), ints(1))
    yield either("the longest step back", "Slice", x, ints(-1), ints(LEAST), ints(1), ints(LEAST))
    for name, given in {"step 0": [ints(0), ints(2), ints(0), ints(0)], "an axis twice": [ints(0, 1), ints(2, 2), ints(1, 1)],
                        "an axis twice, by both names": [ints(0, 1), ints(2, 2), ints(1, -2)],
                        "axis beyond": [ints(0), ints(2), ints(3)], "least axis": [ints(0), ints(2), ints(LEAST)],
                        "starts and ends unequal": [ints(0), ints(2, 2)], "more starts than axes": [ints(0, 0, 0, 0), ints(1, 1, 1, 1)],
                        "steps unequal": [ints(0), ints(1), ints(0), ints(1, 1)], "no ends": [ints(0)],
                        "starts of rank 2": [C([1, 1], [0]), C([1, 1], [1])], "starts of floats": [floats(0.0), floats(1.0)]}.items():
        yield refuse(name, "Slice", x, *given)

    yield accept("as it should be", "Gather", x, ints(0, -1), axis=1)
    yield accept("no indices", "Gather", x, C([0], []), axis=1)
    for name, index, values in (("beyond", ints(3), {"axis": 1}), ("below", ints(-4), {"axis": 1}), ("least", ints(LEAST), {}),
                                ("axis beyond", ints(0), {"axis": 3}), ("least axis", ints(0), {"axis": LEAST}),
                                ("floats", floats(0.0), {}), ("bool", C([1], [True], BOOL), {})):
        yield refuse(name, "Gather", x, index, **values)
    yield refuse("of a scalar", "Gather", V(), ints(0))
    yield refuse("from an empty axis", "Gather", V(0, 3), ints(0))
    yield refuse("rank 9", "Gather", V(*[1] * 8), C([1, 1], [0]))
    yield refuse("known data, index beyond", "Gather", C([3], [1, 2, 3]), ints(3), out=INT64)
    yield refuse("known data, least index", "Gather", C([3], [1, 2, 3]), number(LEAST, INT64), out=INT64)
    yield accept("as it should be", "GatherElements", V(2, 2), C([2, 2], [0, 1, 1, 0]))
    yield refuse("other rank", "GatherElements", V(2, 2), ints(0))
    yield refuse("beyond", "GatherElements", V(2, 2), C([2, 2], [0, 2, 0, 0]))
    yield refuse("longer than the data", "GatherElements", V(2, 2), C([2, 3], [0] * 6), axis=0)
    yield accept("as it should be", "GatherND", V(2, 3), C([1, 2], [0, 1]))
    yield refuse("tuples longer than the rank", "GatherND", V(2, 3), C([1, 3], [0, 0, 0]))
    yield refuse("beyond", "GatherND", V(2, 3), C([1, 2], [0, 3]))
    yield refuse("empty tuples of a scalar", "GatherND", V(2, 3), number(0, INT64))
    for batch in -1, 2, MOST, LEAST:
        yield refuse(f"batch_dims {batch}", "GatherND", V(2, 3), C([2, 1], [0, 0]), batch_dims=batch)
    yield accept("as it should be", "ScatterElements", V(3, 3), C([1, 3], [0, 1, 2]), C([1, 3], [1.0, 2.0, 3.0], FLOAT))
    yield refuse("beyond", "ScatterElements", V(3, 3), C([1, 3], [0, 1, 3]), C([1, 3], [1.0, 2.0, 3.0], FLOAT))
    yield refuse("updates of another shape", "ScatterElements", V(3, 3), C([1, 3], [0, 1, 2]), C([1, 2], [1.0, 2.0], FLOAT))
    yield refuse("updates of another type", "ScatterElements", V(3, 3), C([1, 3], [0, 1, 2]), C([1, 3], [1, 2, 3]))
    yield refuse("unknown reduction", "ScatterElements", V(3, 3), C([1, 3], [0, 1, 2]), C([1, 3], [1.0] * 3, FLOAT), reduction="xor")
    yield accept("as it should be", "ScatterND", V(4), C([2, 1], [0, 3]), floats(1.0, 2.0))
    yield refuse("beyond", "ScatterND", V(4), C([2, 1], [0, 4]), floats(1.0, 2.0))
    yield refuse("updates of another shape", "ScatterND", V(4), C([2, 1], [0, 3]), floats(1.0))
    yield refuse("tuples longer than the rank", "ScatterND", V(4), C([1, 2], [0, 0]), floats(1.0))

    yield accept("as it should be", "Concat", x, x, axis=1)
    yield refuse("no axis", "Concat", x, x)
    yield refuse("no inputs", "Concat", axis=0)
    for axis in 3, -4, LEAST, MOST:
        yield refuse(f"axis {axis}", "Concat", x, x, axis=axis)
    yield refuse("other ranks", "Concat", x, V(2, 3), axis=0)
    yield refuse("other extents", "Concat", x, V(2, 4, 4), axis=0)
    yield refuse("other types", "Concat", x, V(2, 3, 4, type=INT64), axis=0)
    yield refuse("scalars", "Concat", V(), V(), axis=0)
    yield refuse("a length that wraps", "Concat", V(1 << 62), V(1 << 62), V(1 << 62), axis=0)
    yield accept("as it should be", "Split", V(6), ints(2, 4), outputs=2)
    yield accept("equal parts", "Split", V(6), outputs=2, num_outputs=2)
    yield accept("an empty part", "Split", V(6), ints(0, 6), outputs=2)
    for name, parts in {"too little": [2, 3], "too much": [4, 4], "negative": [-2, 8], "wraps": [MOST, MOST, 8][:2], "one part": [6]}.items():
        yield refuse(name, "Split", V(6), ints(*parts), outputs=2)
    yield refuse("split and num_outputs", "Split", V(6), ints(3, 3), outputs=2, num_outputs=2)
    for count in 0, 3, -1, MOST, LEAST:
        yield refuse(f"num_outputs {count}", "Split", V(6), outputs=2, num_outputs=count)
    yield refuse("no output", "Split", V(6), outputs=0, num_outputs=0)
    yield accept("as it should be", "Tile", V(2, 3), ints(2, 1))
    yield accept("none", "Tile", V(2, 3), ints(0, 1))
    for name, by in {"negative": (-1, 1), "too few": (2,), "wraps": (1 << 62, 4), "huge": (MOST, 1), "far beyond memory": (1 << 30, 1 << 30)}.items():
        yield refuse(name, "Tile", V(2, 3), ints(*by))
    yield accept("as it should be", "Expand", V(1, 3), ints(2, 1))
    for name, to in {"does not broadcast": ints(2, 2), "negative": ints(-1, 3), "wraps": ints(1 << 32, 1 << 32, 3), "huge": ints(MOST, 3),
                     "beyond memory": ints(1 << 40, 3), "nine axes": ints(*[1] * 9), "of rank 2": C([1, 2], [2, 3])}.items():
        yield refuse(name, "Expand", V(1, 3), to)
    yield accept("as it should be", "ConstantOfShape", ints(2, 3))
    yield accept("empty", "ConstantOfShape", ints(0, 3))
    for name, to in {"negative": ints(-1), "wraps": ints(1 << 32, 1 << 32), "beyond memory": ints(1 << 40), "nine axes": ints(*[1] * 9),
                     "floats": floats(2.0)}.items():
        yield refuse(name, "ConstantOfShape", to)
    yield refuse("value of two elements", "ConstantOfShape", ints(2), value=tensor("", [2], [1.0, 2.0]))
    yield refuse("value without elements", "ConstantOfShape", ints(2), value=tensor("", [0], []))

    yield accept("as it should be", "Clip", x, number(0.0), number(6.0))
    yield accept("upper bound only", "Clip", x, None, number(6.0))
    yield refuse("bound of shape (2)", "Clip", x, floats(0.0, 1.0))
    yield refuse("bound of shape (1)", "Clip", x, floats(0.0))
    yield refuse("bound of int64", "Clip", x, number(0, INT64))
    yield refuse("bound of another type than integers", "Clip", V(2, type=INT32), number(0.0), out=INT32)
    yield refuse("bound of a run of rank 1", "Clip", x, V(4))
    yield refuse("bounds as attributes", "Clip", x, min=0.0, max=6.0)
    yield accept("bounds as attributes of old", "Clip", x, min=0.0, max=6.0, opset=6)
    yield refuse("bounds as inputs of old", "Clip", x, number(0.0), number(6.0), opset=6)

    yield accept("as it should be", "Pad", V(2, 3), ints(0, 1, 0, 1))
    yield accept("cuts", "Pad", V(2, 3), ints(0, -1, 0, 0))
    for name, by in {"too few": (1, 1), "too many": (0,) * 6, "cuts more than there is": (-3, 0, 0, 0), "huge": (MOST, 0, 0, 0),
                     "wraps": (MOST, 0, MOST, 0), "least": (LEAST, 0, 0, 0), "beyond memory": (1 << 40, 0, 0, 0)}.items():
        yield refuse(name, "Pad", V(2, 3), ints(*by))
    yield refuse("value of two elements", "Pad", V(2, 3), ints(0, 1, 0, 1), floats(0.0, 1.0))
    yield refuse("value of another type", "Pad", V(2, 3), ints(0, 1, 0, 1), number(0, INT64))
    yield refuse("an axis twice", "Pad", V(2, 3), ints(1, 1, 1, 1), None, ints(1, 1))
    yield refuse("axis beyond", "Pad", V(2, 3), ints(1, 1), None, ints(2))
    yield refuse("unknown mode", "Pad", V(2, 3), ints(0, 1, 0, 1), mode="mirror")
    yield either("reflects more than there is", "Pad", V(2, 3), ints(0, 3, 0, 0), mode="reflect")
    yield refuse("edge of nothing", "Pad", V(0), ints(1, 1), mode="edge")
    yield refuse("wraps nothing", "Pad", V(0), ints(1, 1), mode="wrap")

    yield accept("as it should be", "TopK", V(2, 5), ints(3), outputs=2, out=[FLOAT, INT64])
    for k in -1, 6, MOST, LEAST:
        yield refuse(f"k {k}", "TopK", V(2, 5), ints(k), outputs=2, out=[FLOAT, INT64])
    yield either("k of 0", "TopK", V(2, 5), ints(0), outputs=2, out=[FLOAT, INT64])
    yield refuse("two k", "TopK", V(2, 5), ints(1, 1), outputs=2, out=[FLOAT, INT64])
    yield refuse("of a scalar", "TopK", V(), ints(1), outputs=2, out=[FLOAT, INT64])
    yield refuse("axis beyond", "TopK", V(2, 5), ints(1), outputs=2, out=[FLOAT, INT64], axis=2)

    yield accept("as it should be", "Conv", image, weight, pads=[1, 1, 1, 1], strides=[2, 2])
    yield accept("auto_pad", "Conv", image, weight, auto_pad="SAME_UPPER")
    yield accept("bias", "Conv", image, weight, floats(1.0, 2.0, 3.0, 4.0))
    for name, values in {"strides of 0": {"strides": [0, 1]}, "strides negative": {"strides": [-1, 1]}, "strides of 2^32": {"strides": [1 << 32, 1]},
                         "strides of one axis": {"strides": [1]}, "dilations of 0": {"dilations": [0, 1]},
                         "dilations huge": {"dilations": [MOST, MOST]}, "dilations of 2^31": {"dilations": [1 << 31, 1]},
                         "pads negative": {"pads": [-1, 0, 0, 0]}, "pads huge": {"pads": [MOST, 0, MOST, 0]}, "pads of two": {"pads": [1, 1]},
                         "pads least": {"pads": [LEAST, 0, 0, 0]}, "group 0": {"group": 0}, "group -1": {"group": -1},
                         "group 3": {"group": 3}, "group 2^32": {"group": 1 << 32}, "group 2^32 + 1": {"group": (1 << 32) + 1},
                         "group least": {"group": LEAST}, "kernel_shape other": {"kernel_shape": [2, 2]}, "kernel_shape 0": {"kernel_shape": [0, 0]},
                         "kernel_shape of three": {"kernel_shape": [3, 3, 3]}, "auto_pad unknown": {"auto_pad": "SAME"},
                         "auto_pad and pads": {"auto_pad": "SAME_UPPER", "pads": [1, 1, 1, 1]}}.items():
        yield (either if name == "auto_pad and pads" else refuse)(name, "Conv", image, weight, **values)
    yield refuse("window beyond the image", "Conv", V(1, 4, 2, 2), weight)
    yield refuse("other channels", "Conv", V(1, 3, 6, 6), weight)
    yield refuse("rank 2", "Conv", V(4, 6), C([4, 6], [0.5] * 24, FLOAT))
    yield refuse("rank 0", "Conv", V(), number(1.0))
    yield refuse("empty window", "Conv", image, C([4, 4, 0, 3], [], FLOAT))
    yield refuse("bias too short", "Conv", image, weight, floats(1.0))
    yield refuse("bias of rank 0", "Conv", image, weight, number(1.0))
    yield refuse("weight of another type", "Conv", image, C([4, 4, 3, 3], [1.0] * 144, DOUBLE))
    yield refuse("no weight", "Conv", image)
    yield refuse("output beyond memory", "Conv", image, weight, pads=[32767, 32767, 32767, 32767])
    for name, values in {"group 0": {"group": 0}, "strides of 0": {"strides": [0, 0]}, "output_padding huge": {"output_padding": [MOST, 0]},
                         "output_shape negative": {"output_shape": [-1, -1]}, "strides huge": {"strides": [1 << 40, 1 << 40]}}.items():
        yield refuse(name, "ConvTranspose", image, weight, **values)
    for op in "MaxPool", "AveragePool":
        yield accept("as it should be", op, image, kernel_shape=[2, 2], strides=[2, 2])
        yield accept("ceil_mode", op, image, kernel_shape=[4, 4], strides=[4, 4], ceil_mode=1)
        for name, values in {"no kernel_shape": {}, "kernel_shape 0": {"kernel_shape": [0, 2]}, "kernel_shape negative": {"kernel_shape": [-2, 2]},
                             "kernel_shape huge": {"kernel_shape": [MOST, 1]}, "kernel_shape beyond the image": {"kernel_shape": [7, 7]},
                             "strides 0": {"kernel_shape": [2, 2], "strides": [0, 1]}, "strides huge": {"kernel_shape": [2, 2], "strides": [MOST, 0]},
                             "pads of the window's size": {"kernel_shape": [2, 2], "pads": [2, 2, 2, 2]},
                             "pads huge": {"kernel_shape": [2, 2], "pads": [MOST, MOST, MOST, MOST]},
                             "dilations 0": {"kernel_shape": [2, 2], "dilations": [0, 0]},
                             "kernel_shape of three": {"kernel_shape": [2, 2, 2]}}.items():
            yield (either if name.startswith("pads of the") else refuse)(name, op, image, **values)
        yield refuse("rank 2", op, V(4, 6), kernel_shape=[2, 2])
    yield refuse("rank 2", "GlobalAveragePool", V(2, 3))

    yield accept("as it should be", "DepthToSpace", image, blocksize=2)
    yield accept("as it should be", "SpaceToDepth", image, blocksize=2)
    for op in "DepthToSpace", "SpaceToDepth":
        for size in 0, -2, 4 if op == "SpaceToDepth" else 3, 1 << 32, 1 << 31, MOST, LEAST:
            yield refuse(f"blocksize {size}", op, image, blocksize=size)
        yield refuse("no blocksize", op, image)
        yield refuse("rank 3", op, V(4, 6, 6), blocksize=2)
    yield refuse("unknown mode", "DepthToSpace", image, blocksize=2, mode="RCD")

    yield accept("as it should be", "Einsum", V(2, 3), V(3, 4), equation="ij,jk->ik")
    for equation in ("", "->", "ij,jk->il", "ij,jk->iik", "ij->ik", "ij,jk,kl->il", "i,jk->ik", "ij,jk->ik->ik", "ij,jk->...ik.",
                     "i1,1k->ik", "ijk,jk->i", "ij,jk-", "ij,jk>", ",", "i" * 100000, "..." * 1000, "ij,jk->\0", "\u00e4\u00f6,\u00f6k->\u00e4k", "ij,ik->jk"):
        yield refuse(f"equation {equation[:16]!r} of {len(equation)}".replace("\\", ""), "Einsum", V(2, 3), V(3, 4), equation=equation)
    yield refuse("no equation", "Einsum", V(2, 3))
    yield refuse("nine letters", "Einsum", V(1, 1, 1, 1, 1), V(1, 1, 1, 1, 1), equation="abcde,fghij->abcdefghij")

    yield accept("as it should be", "MatMul", V(2, 3), V(3, 4))
    yield accept("nothing to add", "MatMul", V(2, 0), V(0, 4))
    yield refuse("inner extents", "MatMul", V(2, 3), V(4, 3))
    yield refuse("scalars", "MatMul", V(), V())
    yield refuse("other types", "MatMul", V(2, 3), V(3, 4, type=DOUBLE))
    yield refuse("batches do not broadcast", "MatMul", V(2, 2, 3), V(3, 3, 4))
    yield accept("as it should be", "Gemm", V(2, 3), V(4, 3), floats(1.0, 2.0, 3.0, 4.0), transB=1)
    yield refuse("addend larger than the product", "Gemm", V(1, 3), V(3, 4), V(2, 4))
    yield refuse("rank 3", "Gemm", x, V(4, 2))
    yield refuse("transA of floats", "Gemm", V(2, 3), V(3, 4), transA=1.0)

    yield accept("as it should be", "ReduceSum", x, ints(1), keepdims=0)
    yield accept("of nothing", "ReduceSum", V(0, 3), ints(0))
    yield accept("of nothing", "ReduceProd", V(0, 3), ints(0))
    yield accept("noop", "ReduceSum", x, noop_with_empty_axes=1)
    for op in "ReduceSum", "ReduceMax", "ReduceMean", "ReduceL2", "ReduceLogSumExp":
        for axes in (3,), (-4,), (0, 0), (0, -3), (LEAST,), (MOST,):
            yield refuse(f"axes {axes}", op, x, ints(*axes))
    yield refuse("axes of floats", "ReduceSum", x, floats(0.0))
    yield refuse("axes as an attribute", "ReduceSum", x, axes=[0])
    yield accept("axes as an attribute of old", "ReduceSum", x, axes=[0], opset=11)
    yield refuse("of bool", "ReduceSum", V(3, type=BOOL), out=BOOL)
    yield either("of nothing", "ReduceMax", V(0, 3), ints(0))
    for op in "ArgMax", "ArgMin":
        yield accept("as it should be", op, x, axis=1, out=INT64)
        yield refuse("of nothing", op, V(0, 3), axis=0, out=INT64)
        for axis in 3, -4, LEAST, MOST:
            yield refuse(f"axis {axis}", op, x, axis=axis, out=INT64)
    yield accept("as it should be", "CumSum", x, number(1, INT64))
    for axis in 3, -4, LEAST, MOST:
        yield refuse(f"axis {axis}", "CumSum", x, number(axis, INT64))
    yield refuse("two axes", "CumSum", x, ints(0, 1))
    yield refuse("axis of floats", "CumSum", x, number(1.0))
    for op in "Softmax", "LogSoftmax":
        yield accept("as it should be", op, x, axis=-1)
        for axis in 3, -4, LEAST, MOST:
            yield refuse(f"axis {axis}", op, x, axis=axis)
        yield refuse("of integers", op, V(3, type=INT32), out=INT32)

    channels = floats(1.0, 1.0, 1.0, 1.0)
    yield accept("as it should be", "BatchNormalization", image, channels, channels, channels, channels)
    yield refuse("scale too short", "BatchNormalization", image, floats(1.0), channels, channels, channels)
    yield refuse("mean of rank 2", "BatchNormalization", image, channels, channels, C([1, 4], [1.0] * 4, FLOAT), channels)
    yield refuse("training", "BatchNormalization", image, channels, channels, channels, channels, training_mode=1, outputs=3)
    yield refuse("three inputs", "BatchNormalization", image, channels, channels)
    yield accept("as it should be", "InstanceNormalization", image, channels, channels)
    yield refuse("scale too short", "InstanceNormalization", image, floats(1.0), channels)
    yield accept("as it should be", "GroupNormalization", image, channels, channels, num_groups=2, opset=21)
    for groups in 0, -1, 3, MOST, LEAST, 1 << 32:
        yield refuse(f"num_groups {groups}", "GroupNormalization", image, channels, channels, num_groups=groups, opset=21)
    yield accept("as it should be", "LayerNormalization", x, channels)
    for axis in 3, -4, LEAST, MOST:
        yield refuse(f"axis {axis}", "LayerNormalization", x, channels, axis=axis)
    yield refuse("scale too long", "LayerNormalization", x, floats(1.0, 1.0, 1.0, 1.0, 1.0))

    yield accept("as it should be", "Cast", x, to=INT64, out=INT64)
    for to in 0, -1, 8, 14, 99, 100, 1 << 32 | 1, MOST, LEAST:
        yield refuse(f"to {to}", "Cast", x, to=to)
    yield refuse("no type", "Cast", x)
    yield refuse("type as text", "Cast", x, to="FLOAT")
    yield accept("as it should be", "Range", number(0, INT64), number(5, INT64), number(2, INT64), out=INT64)
    yield accept("downwards to the least", "Range", number(LEAST + 5, INT64), number(LEAST, INT64), number(-2, INT64), out=INT64)
    for name, ends, type in (("delta 0", (0, 5, 0), INT64), ("too long", (0, 1 << 40, 1), INT64), ("whole of int64", (LEAST, MOST, 1), INT64),
                             ("NaN", (0.0, float("nan"), 1.0), FLOAT), ("infinite", (0.0, float("inf"), 1.0), FLOAT),
                             ("delta NaN", (0.0, 1.0, float("nan")), FLOAT), ("tiny delta", (0.0, 1.0, 1e-38), FLOAT)):
        yield refuse(name, "Range", *[number(e, type) for e in ends], out=type)
    yield refuse("starts of two", "Range", ints(0, 1), number(5, INT64), number(1, INT64), out=INT64)
    yield refuse("of two types", "Range", number(0, INT64), number(5.0), number(1, INT64), out=INT64)
    for op in "Div", "Mod":
        for name, pair in {"by 0": (1, 0), "least by -1": (LEAST, -1), "0 by 0": (0, 0)}.items():
            yield either(f"folded, {name}", op, ints(pair[0]), ints(pair[1]), out=INT64)
            yield either(f"by a constant, {name}", op, V(2, type=INT64), ints(pair[1]), out=INT64)
        yield either("folded int32, least by -1", op, C([1], [-1 << 31], INT32), C([1], [-1], INT32), out=INT32)
        yield either("folded int8, least by -1", op, C([1], [-128], INT8), C([1], [-1], INT8), out=INT8)
    yield either("folded fmod, least by -1", "Mod", ints(LEAST), ints(-1), fmod=1, out=INT64)
    yield either("folded, of the least", "Abs", ints(LEAST), out=INT64)
    yield either("folded, of the least", "Neg", ints(LEAST), out=INT64)
    yield either("folded, wraps", "Mul", ints(LEAST), ints(-1), out=INT64)
    yield either("folded, wraps", "Add", ints(MOST), ints(MOST), out=INT64)
    yield either("folded, wraps", "Sub", ints(LEAST), ints(1), out=INT64)
    yield either("folded, negative exponent", "Pow", ints(0), ints(-1), out=INT64)
    yield either("folded, wraps", "Pow", ints(3), ints(MOST), out=INT64)
    yield either("folded, 1e300 to int64", "Cast", C([1], [1e300], DOUBLE), to=INT64, out=INT64)
    yield either("folded, NaN to int32", "Cast", floats(float("nan")), to=INT32, out=INT32)
    for by in 64, 255, 1 << 40, MOST:
        yield either(f"folded, by {by}", "BitShift", C([1], [1], UINT64), C([1], [by], UINT64), direction="LEFT", out=UINT64)
    yield refuse("no direction", "BitShift", V(2, type=UINT64), V(2, type=UINT64), out=UINT64)
    yield refuse("unknown direction", "BitShift", V(2, type=UINT64), V(2, type=UINT64), direction="UP", out=UINT64)
    yield refuse("of floats", "BitShift", V(2), V(2), direction="UP")
    for op, count in (("Add", 2), ("Relu", 1), ("Where", 3), ("Not", 1), ("Gelu", 1)):
        for given in {0, 1, 4, 5000} - {count}:
            yield refuse(f"{given} inputs", op, *[V(2, type=BOOL if op == "Not" else FLOAT)] * given)
    yield refuse("does not broadcast", "Add", V(2), V(3))
    yield refuse("of two types", "Add", V(2), V(2, type=INT64))
    yield refuse("of bool", "Add", V(2, type=BOOL), V(2, type=BOOL), out=BOOL)
    yield refuse("of integers", "Sqrt", V(2, type=INT32), out=INT32)
    yield refuse("of floats", "And", V(2), V(2), out=BOOL)
    yield refuse("condition of floats", "Where", V(2), V(2), V(2))
    yield refuse("two outputs", "Relu", V(2), outputs=2)
    yield accept("a mask of bool", "Dropout", V(2), outputs=2, out=[FLOAT, BOOL], opset=10)
    yield accept("a mask of the data's type", "Dropout", V(2), outputs=2, out=[FLOAT, FLOAT], opset=9)
    yield refuse("a mask of bool before operator set 10", "Dropout", V(2), outputs=2, out=[FLOAT, BOOL], opset=9)
    yield refuse("training", "Dropout", V(2), number(0.5), C([], [True], BOOL))

    # Operators that came later than the file's operator set.
    for op, opset, given, values in (("Gelu", 19, [x], {}), ("LayerNormalization", 16, [x, channels], {}), ("HardSwish", 13, [x], {}), ("Mish", 17, [x], {}),
                                     ("Einsum", 11, [V(2, 2)], {"equation": "ij->ji"}), ("GatherND", 10, [V(2, 3), C([1, 1], [0])], {}),
                                     ("Where", 8, [V(2, type=BOOL), V(2), V(2)], {}), ("Expand", 7, [V(1), ints(2)], {}),
                                     ("ScatterND", 10, [V(4), C([1, 1], [0]), floats(1.0)], {}), ("CumSum", 10, [V(2), number(0, INT64)], {}),
                                     ("Range", 10, [number(0, INT64), number(2, INT64), number(1, INT64)], {}), ("Erf", 8, [x], {}),
                                     ("RMSNormalization", 22, [x, channels], {}), ("Swish", 23, [x], {}), ("GroupNormalization", 17, [image, channels, channels], {"num_groups": 2}),
                                     ("Sign", 8, [x], {}), ("IsNaN", 8, [x], {}), ("Round", 10, [x], {}), ("Sinh", 8, [x], {}), ("Celu", 11, [x], {}),
                                     ("ConstantOfShape", 8, [ints(2)], {}), ("BitShift", 10, [V(2, type=UINT64)] * 2, {"direction": "LEFT"}),
                                     ("BitwiseAnd", 17, [V(2, type=INT32)] * 2, {}), ("CastLike", 14, [x, x], {})):
        out = INT64 if op == "Range" else BOOL if op == "IsNaN" else UINT64 if op == "BitShift" else INT32 if op == "BitwiseAnd" else FLOAT
        yield f"opset {op}", f"in {opset}", "refuse", single(op, *given, opset=opset, out=out, **values)
        yield f"opset {op}", f"in {opset + 1}", "either" if op == "GroupNormalization" else "accept", single(op, *given, opset=opset + 1, out=out, **values)
