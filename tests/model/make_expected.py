#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""Writes what the model tests compare with, by ONNX Runtime: .deps/venv/bin/python tests/model/make_expected.py

data/expected/operators/CASE.onnx   one operator or a short chain. It carries its inputs as initializers "feed:NAME" and
                                    its outputs as "expect:NAME", which no node reads.
data/expected/MODEL.DIGIT.in.npy    a picture as the model takes it, and
data/expected/MODEL.DIGIT.out.npy   the answer."""
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

DATA = Path(__file__).resolve().parents[1] / "data"
OUT = DATA / "expected"
f32, f16, f64, i32, i64, u8 = np.float32, np.float16, np.float64, np.int32, np.int64, np.uint8
rng = np.random.default_rng(20240501)
written = set()


def normal(*shape, dtype=f32):
    return rng.standard_normal(shape).astype(dtype)


def ints(*values, dtype=i64):
    return np.array(values, dtype)


def save(name, nodes, feeds, outputs, initializers=None, opset=20, open_axes=None, fused=True):
    """Runs the graph and writes it with what went in and what came out; `fused`: with the runtime's optimisations."""
    initializers = initializers or {}
    def declared(key, value):
        dims = list(value.shape)
        for axis, symbol in (open_axes or {}).get(key, {}).items():
            dims[axis] = symbol
        return helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(value.dtype), dims)
    graph = helper.make_graph(
        nodes, name, [declared(k, v) for k, v in feeds.items()],
        [onnx.ValueInfoProto(name=o) for o in outputs],
        [numpy_helper.from_array(v, k) for k, v in initializers.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=min(10, 3 + opset // 2))
    for output in model.graph.output:
        output.CopyFrom(onnx.ValueInfoProto(name=output.name))
    inferred = onnx.shape_inference.infer_shapes(model)
    types = {v.name: v.type.tensor_type.elem_type for v in [*inferred.graph.output, *inferred.graph.value_info]}
    for output in model.graph.output:
        output.type.tensor_type.elem_type = types.get(output.name) or TensorProto.FLOAT
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if not fused:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(None, feeds)
    for key, value in feeds.items():
        model.graph.initializer.append(numpy_helper.from_array(value, f"feed:{key}"))
    for key, value in zip(outputs, results):
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), f"expect:{key}"))
    assert name not in written, name
    written.add(name)
    (OUT / "operators" / f"{name}.onnx").write_bytes(model.SerializeToString())


def case(name, op, *inputs, constants=(), outputs=1, opset=20, **attributes):
    """One node. `constants` are the places of the inputs that are initializers; None leaves an input out."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    present = {n: np.asarray(x) for n, x in zip(names, inputs) if n}
    fixed = {f"x{i}" for i in constants}
    results = [f"y{i}" for i in range(outputs)]
    save(name, [helper.make_node(op, names, results, name="it", **attributes)],
         {k: v for k, v in present.items() if k not in fixed}, results, {k: v for k, v in present.items() if k in fixed}, opset)


def elementwise():
    x = np.concatenate([normal(14) * 2, [0.0, -0.0]]).astype(f32).reshape(4, 4)
    y = normal(4, 4)
    for op in ("Add", "Sub", "Mul", "Div"):
        case(op.lower(), op, x, y)
        case(op.lower() + "_i32", op, ints(7, -7, 9, 100, dtype=i32), ints(2, 2, -4, 7, dtype=i32))
    case("add_broadcast", "Add", normal(2, 1, 4), normal(3, 1))
    case("mul_scalar_constant", "Mul", x, np.array([1.5], f32), constants=[1])
    case("mul_scalar_wider", "Mul", normal(3), np.full((1, 1), 2.5, f32), constants=[1])
    for op in ("Neg", "Abs", "Sign", "Exp", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Floor", "Ceil",
               "Round", "Erf", "Sigmoid", "Relu", "LeakyRelu", "Elu", "Celu", "Selu", "ThresholdedRelu", "HardSigmoid",
               "HardSwish", "Softplus", "Softsign", "Mish", "Shrink", "Reciprocal", "Identity", "IsNaN", "Gelu"):
        case(op.lower(), op, x if op != "Reciprocal" else np.abs(x) + 1)
    for op in ("Sqrt", "Log"):
        case(op.lower(), op, np.abs(x) + f32(0.1))
    for op in ("Asin", "Acos", "Atanh"):
        case(op.lower(), op, (x / (np.abs(x).max() + 1)).astype(f32))
    case("acosh", "Acosh", np.abs(x) + 1)
    case("leakyrelu_alpha", "LeakyRelu", x, alpha=0.3)
    case("elu_alpha", "Elu", x, alpha=0.3)
    case("hardsigmoid_both", "HardSigmoid", x, alpha=0.5, beta=0.1)
    case("shrink_both", "Shrink", x, lambd=0.7, bias=0.2)
    case("prelu", "PRelu", normal(2, 3, 4), normal(3, 1), constants=[1])
    case("gelu_tanh", "Gelu", x, approximate="tanh")
    inf = np.array([np.inf, -np.inf, np.nan, 1], f32)
    case("isinf", "IsInf", inf)
    case("isinf_positive", "IsInf", inf, detect_negative=0)
    case("isinf_negative", "IsInf", inf, detect_positive=0)
    case("relu_nan", "Relu", inf)
    case("mod", "Mod", ints(-4, 7, 5, 4, -7, 8), ints(2, -3, 8, -2, 3, 5))
    case("mod_fmod", "Mod", np.array([-4.3, 7.2, 5], f32), np.array([2.1, -3.4, 8], f32), fmod=1)
    case("pow", "Pow", np.abs(x), y)
    case("pow_square", "Pow", x, np.array(2, f32), constants=[1])
    case("pow_int_exponent", "Pow", x, ints(3), constants=[1])
    case("pow_int_base", "Pow", ints(1, 2, 3), np.array([2, 3, 2], f32))
    case("pow_half", "Pow", np.abs(x), np.array(0.5, f32), constants=[1])
    case("clip", "Clip", x, np.array(-0.5, f32), np.array(0.5, f32), constants=[1, 2])
    case("clip_inputs", "Clip", x, np.array(-0.5, f32), np.array(0.5, f32))
    case("clip_low", "Clip", x, np.array(-0.5, f32), constants=[1])
    case("clip_high", "Clip", x, None, np.array(0.5, f32), constants=[2])
    case("clip_none", "Clip", x)
    case("clip_6", "Clip", x, opset=6, min=-0.25, max=1.0)
    case("max_3", "Max", x, y, normal(4))
    case("max_1", "Max", x)
    case("max_constant", "Max", x, np.array(0.25, f32), constants=[1])
    case("min_2", "Min", x, y)
    case("sum_3", "Sum", x, y, normal(4, 1))
    case("mean_3", "Mean", x, y, normal(4, 4))
    case("where", "Where", x > 0, x, y)
    case("where_constant", "Where", x > 0, x, np.array(0, f32), constants=[2])
    for op in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
        case(op.lower(), op, ints(1, 2, 3, dtype=i32), ints(3, 2, 1, dtype=i32))
    for op in ("And", "Or", "Xor"):
        case(op.lower(), op, np.array([True, True, False, False]), np.array([True, False, True, False]))
    case("not", "Not", np.array([True, False]))
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        case(op.lower(), op, ints(12, 7, -1, dtype=i32), ints(10, 2, 77, dtype=i32))
    case("bitwisenot", "BitwiseNot", ints(12, -7, dtype=i32))
    case("bitshift_left", "BitShift", np.array([1, 2, 200], u8), np.array([1, 3, 1], u8), direction="LEFT")
    case("bitshift_right", "BitShift", np.array([16, 4, 200], np.uint32), np.array([1, 2, 3], np.uint32), direction="RIGHT")
    case("cast_to_int", "Cast", np.array([1.7, -1.7, 0.0, 300.2], f32), to=TensorProto.INT32)
    case("cast_to_bool", "Cast", np.array([1.7, 0.0, -2], f32), to=TensorProto.BOOL)
    case("cast_to_half", "Cast", x, to=TensorProto.FLOAT16)
    case("cast_from_bool", "Cast", np.array([True, False]), to=TensorProto.FLOAT)
    case("cast_like", "CastLike", ints(1, 2, 3), np.array([1], f32))
    case("swish", "Swish", x, opset=24)
    case("swish_alpha", "Swish", x, opset=24, alpha=0.5)
    case("clip_crossed", "Clip", x, np.array(0.5, f32), np.array(-0.5, f32), constants=[1, 2])
    case("dropout", "Dropout", x, np.array(0.5, f32), constants=[1])
    case("dropout_mask", "Dropout", x, outputs=2)
    case("dropout_7", "Dropout", x, opset=7, ratio=0.3)


def windows():
    x, w, b = normal(2, 4, 9, 8), normal(6, 4, 3, 3), normal(6)
    case("conv", "Conv", x, w, constants=[1])
    case("conv_bias", "Conv", x, w, b, constants=[1, 2])
    case("conv_all_inputs", "Conv", x, w, b)
    case("conv_strides", "Conv", x, w, constants=[1], strides=[2, 3], pads=[1, 0, 2, 1], dilations=[2, 1])
    case("conv_group", "Conv", x, normal(6, 2, 3, 3), b, constants=[1, 2], group=2, pads=[1, 1, 1, 1])
    case("conv_depthwise", "Conv", x, normal(4, 1, 3, 3), constants=[1], group=4)
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        case("conv_" + pad.lower(), "Conv", x, normal(3, 4, 4, 2), constants=[1], auto_pad=pad, strides=[2, 1], kernel_shape=[4, 2])
        case("maxpool_" + pad.lower(), "MaxPool", x, auto_pad=pad, strides=[2, 3], kernel_shape=[3, 2])
    case("conv_line", "Conv", normal(2, 3, 11), normal(4, 3, 3), normal(4), constants=[1, 2], strides=[2], pads=[1, 2])
    case("maxpool", "MaxPool", x, kernel_shape=[2, 3], strides=[2, 1])
    case("maxpool_pads", "MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], dilations=[1, 2])
    case("maxpool_ceil", "MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    case("maxpool_line", "MaxPool", normal(2, 3, 11), kernel_shape=[3], strides=[2])
    case("averagepool", "AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    case("averagepool_pads", "AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    case("averagepool_include", "AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    case("averagepool_ceil", "AveragePool", x, kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1)
    case("globalaveragepool", "GlobalAveragePool", x)
    case("globalmaxpool", "GlobalMaxPool", x)
    case("matmul", "MatMul", normal(3, 5), normal(5, 4))
    case("matmul_batch", "MatMul", normal(2, 1, 3, 5), normal(4, 5, 2))
    case("matmul_vector", "MatMul", normal(3, 5), normal(5))
    case("matmul_vectors", "MatMul", normal(5), normal(5))
    case("gemm", "Gemm", normal(3, 5), normal(5, 4))
    case("gemm_bias", "Gemm", normal(3, 5), normal(5, 4), normal(4), constants=[1, 2])
    case("gemm_all", "Gemm", normal(5, 3), normal(4, 5), normal(3, 1), transA=1, transB=1, alpha=0.5, beta=0.25)
    case("gemm_beta_0", "Gemm", normal(3, 5), normal(5, 4), normal(4), beta=0.0)


def shapes():
    x = normal(2, 3, 4)
    case("reshape", "Reshape", x, ints(4, 6), constants=[1])
    case("reshape_rest", "Reshape", x, ints(0, -1), constants=[1])
    for axis in (0, 1, 2, -1):
        case(f"flatten_{axis}".replace("-", "m"), "Flatten", x, axis=axis)
    case("squeeze", "Squeeze", normal(1, 3, 1, 2), ints(0), constants=[1])
    case("squeeze_all", "Squeeze", normal(1, 3, 1, 2))
    case("squeeze_11", "Squeeze", normal(1, 3, 1, 2), opset=11, axes=[0, -2])
    case("unsqueeze", "Unsqueeze", x, ints(0, -1), constants=[1])
    case("unsqueeze_11", "Unsqueeze", x, opset=11, axes=[1, 3])
    case("transpose", "Transpose", x)
    case("transpose_perm", "Transpose", x, perm=[1, 0, 2])
    case("concat", "Concat", x, normal(2, 1, 4), normal(2, 2, 4), axis=1)
    case("concat_end", "Concat", x, normal(2, 3, 1), constants=[1], axis=-1)
    case("slice", "Slice", x, ints(0, 1), ints(1, 3), constants=[1, 2])
    case("slice_axes", "Slice", x, ints(-1, 0), ints(2**63 - 1, 3), ints(-1, 1), ints(1, 2), constants=[1, 2, 3, 4])
    case("slice_back", "Slice", x, ints(-1), ints(-2**63), ints(2), ints(-1), constants=[1, 2, 3, 4])
    case("slice_back_2", "Slice", normal(7), ints(5), ints(0), ints(0), ints(-2), constants=[1, 2, 3, 4])
    case("slice_far_step", "Slice", normal(7), ints(2), ints(7), ints(0), ints(2**62), constants=[1, 2, 3, 4])
    case("slice_empty", "Slice", normal(7), ints(5), ints(2), constants=[1, 2])
    case("slice_9", "Slice", x, opset=9, starts=[0, 1], ends=[2, 1000], axes=[0, 2])
    case("gather", "Gather", x, np.array([[0, 2], [1, -1]]), axis=1)
    case("gather_constant", "Gather", x, ints(2, 0), constants=[1], axis=2)
    case("gather_one", "Gather", x, np.array(-1), constants=[1], axis=1)
    case("gather_i32", "Gather", x, ints(1, 1, dtype=i32))
    case("shape", "Shape", x)
    case("shape_part", "Shape", x, start=1, end=-1)
    case("size", "Size", x)
    case("expand", "Expand", normal(3, 1), ints(2, 1, 4), constants=[1])
    case("tile", "Tile", x, ints(2, 1, 3), constants=[1])
    case("split", "Split", normal(6, 2), outputs=3, num_outputs=3)
    case("split_sizes", "Split", normal(2, 6), ints(1, 5), constants=[1], outputs=2, axis=1)
    case("split_uneven", "Split", normal(7, 2), outputs=3, num_outputs=3)
    case("split_11", "Split", normal(6, 2), opset=11, outputs=2, split=[4, 2])
    case("pad", "Pad", x, ints(0, 1, 2, 1, 0, 0), np.array(1.5, f32), constants=[1, 2])
    case("pad_zero", "Pad", x, ints(1, 0, 0, 0, 0, 1), constants=[1])
    case("pad_cut", "Pad", x, ints(0, -1, 0, 0, 1, -2), constants=[1])
    case("pad_reflect", "Pad", x, ints(0, 1, 2, 1, 2, 0), constants=[1], mode="reflect")
    case("pad_edge", "Pad", x, ints(1, 1, 0, 0, 2, 3), constants=[1], mode="edge")
    case("pad_wrap", "Pad", x, ints(0, 1, 0, 0, 2, 0), constants=[1], mode="wrap")
    case("pad_axes", "Pad", x, ints(1, 2), None, ints(1), constants=[1, 3])
    case("depthtospace", "DepthToSpace", normal(2, 8, 2, 3), blocksize=2)
    case("depthtospace_crd", "DepthToSpace", normal(2, 8, 2, 3), blocksize=2, mode="CRD")
    case("spacetodepth", "SpaceToDepth", normal(2, 3, 4, 6), blocksize=2)
    case("reshape_input", "Reshape", x, ints(4, -1))
    case("slice_inputs", "Slice", x, ints(0, 1), ints(1, 3))
    case("range_inputs", "Range", np.array(2, i32), np.array(9, i32), np.array(3, i32))
    case("expand_input", "Expand", normal(3, 1), ints(2, 1, 4))
    case("constant_of_shape", "ConstantOfShape", ints(2, 3), constants=[0],
         value=numpy_helper.from_array(np.array([7], i32)))
    case("constant_of_shape_zeros", "ConstantOfShape", ints(4), constants=[0])
    case("range", "Range", np.array(3), np.array(12), np.array(4), constants=[0, 1, 2])
    case("range_back", "Range", np.array(3, f32), np.array(0, f32), np.array(-0.5, f32), constants=[0, 1, 2])
    case("identity_constant", "Identity", x, constants=[0])


def reductions():
    x = normal(3, 4, 5)
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
               "ReduceLogSumExp"):
        case(op.lower(), op, x, ints(1), constants=[1])
        case(op.lower() + "_all", op, x, keepdims=0)
        case(op.lower() + "_12", op, x, opset=12, axes=[0, -1], keepdims=0)
    case("reducelogsum", "ReduceLogSum", np.abs(x), ints(0), constants=[1], keepdims=0)
    case("reducesum_noop", "ReduceSum", x, noop_with_empty_axes=1)
    case("reducesum_i32", "ReduceSum", ints(1, 2, 3, dtype=i32), keepdims=0)
    case("reducemean_i32", "ReduceMean", ints(1, 2, 4, dtype=i32), keepdims=0)
    for op in ("ArgMax", "ArgMin"):
        case(op.lower(), op, x, axis=1)
        case(op.lower() + "_last", op, np.array([[1, 3, 3, 0], [0, 0, 5, 5]], f32), axis=-1, keepdims=0, select_last_index=1)
    for op in ("Softmax", "LogSoftmax"):
        case(op.lower(), op, x)
        case(op.lower() + "_axis", op, x, axis=1)
        case(op.lower() + "_12", op, x, opset=12, axis=1)
        case(op.lower() + "_12_default", op, x, opset=12)
        case(op.lower() + "_12_last", op, x, opset=12, axis=2)
    parameters = [normal(4), normal(4), normal(4), np.abs(normal(4)) + f32(0.5)]
    case("batchnormalization", "BatchNormalization", normal(2, 4, 3, 3), *parameters, constants=[1, 2, 3, 4], epsilon=1e-3)
    at = lambda axis: np.array(axis, np.int64)
    case("cumsum", "CumSum", x, at(-1), constants=[1])
    case("cumsum_exclusive", "CumSum", x, at(0), constants=[1], exclusive=1)
    case("cumsum_reverse", "CumSum", np.arange(24, dtype=np.int32).reshape(2, 3, 4), at(1), constants=[1], reverse=1)
    case("cumsum_both", "CumSum", x.reshape(2, -1), np.array([1], np.int32), constants=[1], exclusive=1, reverse=1)
    case("batchnormalization_inputs", "BatchNormalization", normal(2, 4, 3, 3), *parameters)
    case("batchnormalization_flat", "BatchNormalization", normal(2, 4), *parameters, constants=[1, 2, 3, 4])
    case("layernormalization", "LayerNormalization", x, normal(5), normal(5), constants=[1, 2])
    case("layernormalization_axis", "LayerNormalization", x, normal(4, 5), axis=1, epsilon=1e-3)
    case("layernormalization_outputs", "LayerNormalization", x, normal(5), outputs=3)
    case("rmsnormalization", "RMSNormalization", x, normal(5), constants=[1], opset=23)
    case("groupnormalization", "GroupNormalization", normal(2, 6, 3, 3), normal(6), normal(6), constants=[1, 2], opset=21, num_groups=3)
    case("instancenormalization", "InstanceNormalization", normal(2, 3, 4, 4), normal(3), normal(3), constants=[1, 2])


def chains():
    node = helper.make_node
    x = normal(3, 2, 4)
    save("chain_relu", [node("Mul", ["a", "b"], ["ab"]), node("Add", ["ab", "c"], ["abc"]), node("Relu", ["abc"], ["y"])],
         {"a": normal(4, 5), "b": normal(4, 5), "c": normal(5)}, ["y"])
    save("chain_shapes",  # what exporters write for x.reshape(x.shape[0], -1), and a scale from a shape
         [node("Shape", ["x"], ["s"]), node("Constant", [], ["zero"], value_int=0), node("Gather", ["s", "zero"], ["n"]),
          node("Constant", [], ["axes"], value_ints=[0]), node("Unsqueeze", ["n", "axes"], ["n1"]),
          node("Constant", [], ["rest"], value_ints=[-1]), node("Concat", ["n1", "rest"], ["to"], axis=0),
          node("Reshape", ["x", "to"], ["flat"]), node("Cast", ["n"], ["nf"], to=TensorProto.FLOAT),
          node("Sqrt", ["nf"], ["root"]), node("Div", ["flat", "root"], ["y"])],
         {"x": x}, ["y"], open_axes={"x": {0: "batch"}})
    save("chain_shape_arithmetic",
         [node("Shape", ["x"], ["s"]), node("Slice", ["s", "one", "two"], ["d"]), node("Mul", ["d", "two"], ["d2"]),
          node("Sub", ["d2", "one"], ["d3"]), node("Add", ["d3", "one"], ["d4"]), node("Div", ["d4", "two"], ["d5"]),
          node("ReduceProd", ["s"], ["all"], keepdims=1), node("Div", ["all", "d5"], ["rest"]), node("Equal", ["rest", "d5"], ["same"]),
          node("Where", ["same", "one", "rest"], ["rest2"]), node("Concat", ["d5", "rest2"], ["to"], axis=0), node("Reshape", ["x", "to"], ["y"])],
         {"x": x}, ["y"], {"one": ints(1), "two": ints(2)})
    save("chain_unsorted_uses", [node("Exp", ["x"], ["e"]), node("Add", ["e", "e"], ["a"]), node("Mul", ["a", "e"], ["b"]), node("Sub", ["b", "x"], ["y"])],
         {"x": normal(3)}, ["y", "e"])
    save("chain_constant_weights",  # computed from initializers alone: once, while loading
         [node("Transpose", ["w"], ["wt"], perm=[1, 0]), node("Mul", ["wt", "k"], ["wk"]), node("MatMul", ["w", "w2"], ["ww"]),
          node("MatMul", ["x", "wk"], ["xw"]), node("Add", ["xw", "ww"], ["y"])],
         {"x": normal(3, 4)}, ["y"], {"w": normal(3, 4), "k": np.array(0.5, f32), "w2": normal(4, 3)})
    save("chain_constants_out", [node("Identity", ["c"], ["y"]), node("Relu", ["x"], ["z"])], {"x": normal(2)}, ["y", "z"], {"c": ints(1, 2, 3)})
    save("chain_attention",
         [node("MatMul", ["q", "k"], ["s"]), node("Mul", ["s", "scale"], ["s2"]), node("Add", ["s2", "mask"], ["s3"]),
          node("Softmax", ["s3"], ["p"], axis=-1), node("MatMul", ["p", "v"], ["y"])],
         {"q": normal(2, 3, 4), "k": normal(2, 4, 3), "v": normal(2, 3, 4), "mask": normal(3, 3)}, ["y"], {"scale": np.array(0.5, f32)})


def digits():
    """mnist-12 takes the picture scaled to [0, 1], as the model zoo says; the others are right with it too."""
    for model in ("mnist-12", "mnist_mlp_png_probs", "mnist_conv_fp16", "mnist_mlp_fp16"):
        session = ort.InferenceSession(str(DATA / f"models/{model}.onnx"), providers=["CPUExecutionProvider"])
        taken = session.get_inputs()[0]
        for digit in (0, 1):
            x = np.asarray(Image.open(DATA / f"models/{digit}.png").convert("L"), f32).reshape(1, 1, 28, 28) / 255
            x = x.astype(f16 if "16" in taken.type else f32)
            y, = session.run(None, {taken.name: x})
            assert y.argmax() == digit
            np.save(OUT / f"{model}.{digit}.in.npy", x)
            np.save(OUT / f"{model}.{digit}.out.npy", y)


def gathering():
    """Last, so that what is drawn before it stays."""
    x = normal(3, 4, 5)
    case("gatherelements", "GatherElements", x, rng.integers(-4, 4, (3, 6, 5)), axis=1)
    case("gatherelements_fewer", "GatherElements", x, rng.integers(0, 3, (4, 2, 3)).astype(i32))
    case("gatherelements_constant", "GatherElements", x, rng.integers(-5, 5, (3, 4, 2)), constants=[1], axis=-1)
    case("gathernd", "GatherND", x, ints(0, 1, 2, 3, 2, 0).reshape(3, 2))
    case("gathernd_whole", "GatherND", x, ints(0, 1, 2, -3, 2, 0).reshape(2, 3), constants=[1])
    case("gathernd_batch", "GatherND", x, rng.integers(0, 4, (3, 2, 1)), batch_dims=1)
    case("scatterelements", "ScatterElements", x, rng.permuted(np.tile(np.arange(4), (3, 5, 1)), axis=2).transpose(0, 2, 1)[:, :2],
         normal(3, 2, 5), axis=1)
    for name in ("add", "mul", "max", "min"):
        case(f"scatterelements_{name}", "ScatterElements", x, rng.integers(-3, 3, (6, 4, 5)), normal(6, 4, 5), reduction=name)
        case(f"scatternd_{name}", "ScatterND", x, ints(0, 1, 0, 1, 2, 3).reshape(3, 2), normal(3, 5), reduction=name)
    case("scatterelements_i64", "ScatterElements", ints(1, 2, 3), ints(2, -3), ints(8, 9), opset=13)
    case("scatternd", "ScatterND", x, ints(2, 0).reshape(2, 1), normal(2, 4, 5))
    case("scatternd_whole", "ScatterND", x, ints(2, 0, 1, 0, 3, 4).reshape(2, 3), normal(2), constants=[1], opset=16)
    case("einsum", "Einsum", normal(2, 3, 4), normal(5, 4), equation="bij, kj -> bik")
    case("einsum_diagonal", "Einsum", normal(3, 4, 3), equation="iji")
    case("einsum_three", "Einsum", normal(2, 3), normal(3, 4), normal(4), equation="...j,jk,k->...")
    case("topk", "TopK", x, ints(3), constants=[1], outputs=2)
    case("topk_least", "TopK", x, ints(2), constants=[1], outputs=2, axis=0, largest=0)
    case("topk_ties", "TopK", ints(3, 1, 3, 2, 1, 3), ints(4), constants=[1], outputs=2, axis=0, sorted=1)
    case("pad_i32", "Pad", np.arange(6, dtype=i32).reshape(2, 3), ints(1, 0, 0, 2), constants=[1])
    case("topk_10", "TopK", x, ints(1), constants=[1], outputs=2, opset=10, axis=1)


def low_bits():
    """Types of 8 bits and less, by way of float: to them and back, and as initializers."""
    x = np.concatenate([np.linspace(-20, 20, 41), [447, 449, 463, 464, 465, 57344, 61439, 1e6, 1e-3, 2e-3, 1e-5, np.inf, -np.inf,
                                                   np.nan, -0.0]]).astype(f32)
    def node(op, i, o, **attributes):
        return helper.make_node(op, i, o, **attributes)
    for kind, code in (("e4m3", TensorProto.FLOAT8E4M3FN), ("e5m2", TensorProto.FLOAT8E5M2)):
        for saturate in (0, 1):
            save(f"cast_{kind}_{saturate}", [node("Cast", ["x"], ["s"], to=code, saturate=saturate),
                                             node("Cast", ["s"], ["y"], to=TensorProto.FLOAT)], {"x": x}, ["y"], opset=21)
        save(f"cast_half_{kind}", [node("Cast", ["x"], ["s"], to=code), node("Cast", ["s"], ["y"], to=TensorProto.FLOAT16)],
             {"x": np.clip(x, -6e4, 6e4).astype(f16)}, ["y"], opset=21)
    for kind, code, t, low in (("i4", TensorProto.INT4, ml_dtypes.int4, -8), ("u4", TensorProto.UINT4, ml_dtypes.uint4, 0)):
        held = (np.arange(15) + low).astype(t).reshape(3, 5)
        save(f"initializer_{kind}", [node("Cast", ["w"], ["f"], to=TensorProto.FLOAT), node("Mul", ["x", "f"], ["y"])],
             {"x": normal(3, 5)}, ["y"], {"w": held}, opset=21)
        save(f"cast_{kind}", [node("Cast", ["x"], ["s"], to=code), node("Cast", ["s"], ["y"], to=TensorProto.FLOAT)],
             {"x": np.arange(low, low + 16).astype(f32)[:15]}, ["y"], opset=21)
        for axis, block, scales in ((1, 0, ()), (1, 0, (8,)), (0, 0, (4,)), (0, 2, (2, 8)), (1, 4, (4, 2))):
            w = rng.integers(low, low + 16, (4, 8)).astype(t)
            attributes = {"axis": axis} | ({"block_size": block} if block else {})
            save(f"dequantizelinear_{kind}_{axis}_{block}_{len(scales)}",
                 [node("DequantizeLinear", ["w", "s", "z"], ["f"], **attributes), node("MatMul", ["x", "f"], ["y"])], {"x": normal(3, 4)},
                 ["y"], {"w": w, "s": np.abs(normal(*scales)) + f32(0.1), "z": np.full(scales, low + 3).astype(t)}, opset=21,
                 fused=False)                    # it would take the activations to 8 bits
        save(f"matmul_{kind}", [node("Cast", ["w"], ["f"], to=TensorProto.FLOAT), node("MatMul", ["x", "f"], ["y"])],
             {"x": normal(2, 3)}, ["y"], {"w": held}, opset=21)
    case("dequantizelinear_u8", "DequantizeLinear", np.arange(12, dtype=u8).reshape(3, 4), np.array(0.5, f32), np.array(3, u8), opset=13)
    case("dequantizelinear_i32", "DequantizeLinear", ints(5, -7, 9, dtype=i32), np.array(0.25, f32), opset=10)


def quantising():
    """QuantizeLinear of a tensor, an axis and blocks. Nothing is drawn."""
    x = np.linspace(-9, 11, 32).astype(f32).reshape(4, 8)
    for kind, dtype, zero in (("u8", u8, 3), ("i8", np.int8, -2), ("u16", np.uint16, 3), ("i16", np.int16, -2)):
        case(f"quantizelinear_{kind}", "QuantizeLinear", x, np.array(0.5, f32), np.array(zero, dtype), opset=21)
    scales = np.array([0.01, 0.05, 0.25, 4], f32)
    case("quantizelinear_axis", "QuantizeLinear", x, scales, np.array([0, 1, -1, 7], np.int8), opset=13, axis=0)
    case("quantizelinear_blocks", "QuantizeLinear", x, np.stack([scales, scales * f32(2)], 1), np.zeros((4, 2), np.int8), opset=21,
         axis=1, block_size=4)


def of_package(*words):
    """The cases of the package onnx with these words in their names, but for those of sequences."""
    from onnx.backend.test.case.node import collect_testcases
    for each in collect_testcases(None):
        if not any(word in each.name for word in words):
            continue
        model, (feeds, results) = each.model, each.data_sets[0]
        if not all(isinstance(x, (np.ndarray, np.generic)) for x in (*feeds, *results)) or "opt" in each.name:
            continue
        for prefix, values, names in (("feed:", feeds, model.graph.input), ("expect:", results, model.graph.output)):
            for value, v in zip(values, names):
                model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), prefix + v.name))
        name = "onnx_" + each.name
        written.add(name)
        (OUT / "operators" / f"{name}.onnx").write_bytes(model.SerializeToString())


def quantised_products():
    """Products and convolutions of quantised integers, which draw numbers of their own."""
    of_package("matmulinteger", "convinteger", "qlinear", "dynamicquantizelinear")
    own = np.random.default_rng(11)
    def whole(dtype, *shape):                    # of 7 bits: the runtime's sums of pairs saturate in 16 beyond, on some processors
        return own.integers(np.iinfo(dtype).min // 2, np.iinfo(dtype).max // 2 + 1, shape).astype(dtype)
    i8 = np.int8
    case("matmulinteger", "MatMulInteger", whole(u8, 5, 33), whole(i8, 33, 7), np.array(131, u8), np.array(0, i8), constants=[1, 3])
    case("matmulinteger_columns", "MatMulInteger", whole(u8, 2, 5, 9), whole(i8, 9, 4), np.array(3, u8), whole(i8, 4), constants=[1, 3])
    case("matmulinteger_batch", "MatMulInteger", whole(u8, 3, 3, 9), whole(i8, 3, 9, 4), np.array(70, u8), constants=[1])
    case("matmulinteger_bare", "MatMulInteger", whole(u8, 17, 32), whole(u8, 32, 16))
    x, w = whole(u8, 2, 4, 9, 8), whole(u8, 6, 2, 3, 3)
    case("convinteger", "ConvInteger", x, w, np.array(7, u8), np.array(130, u8), constants=[1, 3], group=2, pads=[1, 0, 2, 1],
         strides=[2, 1])
    case("convinteger_line", "ConvInteger", whole(u8, 2, 3, 11), whole(u8, 4, 3, 3))
    def scale(*shape):
        return own.uniform(0.005, 0.02, shape).astype(f32)
    for kind, t, zero in (("u8", u8, 120), ("i8", i8, -3)):
        case(f"qlinearmatmul_{kind}", "QLinearMatMul", whole(t, 6, 40), scale(), np.array(zero, t), whole(t, 40, 5), scale(5),
             np.full(5, zero + 1, t), np.array(0.07, f32), np.array(zero + 2, t), constants=[3, 4, 5])
        bias = own.integers(-2000, 2000, 6).astype(i32)
        case(f"qlinearconv_{kind}", "QLinearConv", whole(t, 2, 4, 9, 8), scale(), np.array(zero, t), whole(i8, 6, 4, 3, 3), scale(6),
             np.zeros(6, i8), np.array(0.09, f32), np.array(zero, t), bias, constants=[3, 4, 5, 8], pads=[1, 1, 1, 1])
    case("dynamicquantizelinear", "DynamicQuantizeLinear", np.linspace(-3, 9, 40).astype(f32).reshape(5, 8), outputs=3)
    case("dynamicquantizelinear_zeros", "DynamicQuantizeLinear", np.zeros((2, 3), f32), outputs=3)


def control():
    """If, Loop and Scan: the cases of the package onnx, and more. Nothing is drawn."""
    of_package("_if", "loop", "scan")

    def value(name, type_, *dims):
        return helper.make_tensor_value_info(name, type_, dims)
    F, B, I = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
    node = helper.make_node
    x = np.linspace(-2, 3, 12).astype(f32).reshape(3, 4)
    one, three = np.array(1, f32), ints(3).reshape(())

    # Both graphs read values of the one around, one of them a constant.
    yes = helper.make_graph([node("Add", ["x", "w"], ["t"]), node("Relu", ["t"], ["u"])], "yes", [], [value("u", F, 3, 4)])
    no = helper.make_graph([node("Mul", ["x", "w"], ["v"])], "no", [], [value("v", F, 3, 4)])
    for at in (True, False):
        save(f"if_captured_{at}".lower(), [node("If", ["c"], ["y"], then_branch=yes, else_branch=no)],
             {"c": np.array(at), "x": x}, ["y"], {"w": np.arange(4, dtype=f32)})
    # Of another shape each: what is known decides, or a run.
    less = helper.make_graph([node("ReduceSum", ["x"], ["s"], keepdims=0)], "less", [], [value("s", F)])
    for name, initializers in (("if_shapes", {}), ("if_constant", {"c": np.array(False)})):
        save(name, [node("If", ["c"], ["y"], then_branch=yes, else_branch=less)],
             {"x": x} | ({} if initializers else {"c": np.array(False)}), ["y"], {"w": np.arange(4, dtype=f32)} | initializers)

    # v = v * 2 + i; stacked are its sums. A known number of steps, one of a run, and a bool that ends it.
    step = [node("Cast", ["i"], ["fi"], to=F), node("Add", ["v", "v"], ["w2"]), node("Add", ["w2", "fi"], ["vn"]),
            node("ReduceSum", ["vn"], ["row"], keepdims=0)]
    carried = [value("i", I), value("go", B), value("v", F, 3, 4)]
    gives = [value("gn", B), value("vn", F, 3, 4), value("row", F)]
    steady = helper.make_graph([*step, node("Identity", ["go"], ["gn"])], "steady", carried, gives)
    stopping = helper.make_graph([*step, node("Less", ["row", "limit"], ["gn"])], "stopping", carried, gives)
    for opset in (11, 16):
        save(f"loop_counted_{opset}", [node("Loop", ["n", "", "x"], ["y", "rows"], body=steady)], {"x": x}, ["y", "rows"],
             {"n": three}, opset=opset)
    save("loop_none", [node("Loop", ["n", "", "x"], ["y", "rows"], body=steady)], {"x": x}, ["y", "rows"],
         {"n": ints(0).reshape(())})
    save("loop_trips", [node("Loop", ["n", "", "x"], ["y", "rows"], body=steady)], {"x": x, "n": three}, ["y", "rows"])
    limit = {"limit": np.array(200, f32)}
    save("loop_until", [node("Loop", ["", "c", "x"], ["y"], body=helper.make_graph(
        [*step, node("Less", ["row", "limit"], ["gn"])], "b", carried, gives[:2]))], {"x": x, "c": np.array(True)}, ["y"], limit)
    save("loop_until_rows", [node("Loop", ["n", "c", "x"], ["y", "rows"], body=stopping)],
         {"x": x, "c": np.array(True), "n": ints(50).reshape(())}, ["y", "rows"], limit)
    save("loop_never", [node("Loop", ["", "c", "x"], ["y", "rows"], body=stopping)], {"x": x, "c": np.array(False)},
         ["y", "rows"], limit)
    # An If within a Loop, over values of both graphs around.
    add = helper.make_graph([node("Add", ["v", "b"], ["p"])], "add", [], [value("p", F, 3, 4)])
    sub = helper.make_graph([node("Sub", ["v", "x"], ["q"])], "sub", [], [value("q", F, 3, 4)])
    nested = helper.make_graph(
        [node("ReduceMax", ["v"], ["m"], keepdims=0), node("Less", ["m", "limit"], ["small"]),
         node("If", ["small"], ["vn"], then_branch=add, else_branch=sub), node("Identity", ["go"], ["gn"])],
        "nested", carried, gives[:2])
    save("loop_if", [node("Loop", ["n", "", "x"], ["y"], body=nested)], {"x": x}, ["y"],
         {"n": ints(7).reshape(()), "limit": np.array(6, f32), "b": np.arange(4, dtype=f32)})

    body = helper.make_graph(
        [node("Add", ["s", "a"], ["t"]), node("Mul", ["t", "b"], ["sn"]), node("Sub", ["a", "b"], ["d"])], "body",
        [value("s", F, 3), value("a", F, 3), value("b", F, 3)], [value("sn", F, 3), value("t", F, 3), value("d", F, 3)])
    other = np.linspace(0, 1, 12).astype(f32).reshape(4, 3)
    for name, attributes in (("scan_axes", {}), ("scan_back", {"scan_input_directions": [1, 0], "scan_output_directions": [0, 1]}),
                             ("scan_out", {"scan_output_axes": [1, -1], "scan_output_directions": [1, 0]})):
        save(name, [node("Scan", ["z", "x", "o"], ["y", "t", "d"], body=body, num_scan_inputs=2, scan_input_axes=[1, 0],
                         **attributes)], {"z": np.ones(3, f32), "x": x, "o": other}, ["y", "t", "d"], opset=16)


if __name__ == "__main__":
    (OUT / "operators").mkdir(parents=True, exist_ok=True)
    for old in (OUT / "operators").glob("*.onnx"):
        old.unlink()
    for write in (elementwise, windows, shapes, reductions, chains, digits, gathering, low_bits, control, quantising, quantised_products):
        write()
    print(len(written), "operator cases,", sum(f.stat().st_size for f in OUT.rglob("*") if f.is_file()), "bytes")
