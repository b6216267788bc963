# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX models that Pumice writes as VGF, each with its inputs and how far apart two right answers may be."""
import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


TYPES = {"f32": TensorProto.FLOAT, "i32": TensorProto.INT32, "i1": TensorProto.BOOL}
OPSET = 20


class Model:
    """Nodes added one by one. `ulps` and `scale` as a Program's."""

    def __init__(self, name, ulps=0, scale=None):
        self.name, self.ulps, self.scale = name, ulps, scale
        self.inputs_, self.nodes, self.weights, self.results = [], [], [], []

    def arg(self, *shape, kind="f32", low=-2, high=2):
        self.inputs_.append((f"x{len(self.inputs_)}", shape, kind, low, high))
        return self.inputs_[-1][0]

    def weight(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def give(self, *names, kind="f32"):
        self.results += [(n, kind) for n in names]
        return self

    def save(self, path):
        graph = helper.make_graph(
            self.nodes, self.name, [helper.make_tensor_value_info(n, TYPES[k], s) for n, s, k, _, _ in self.inputs_],
            [helper.make_tensor_value_info(n, TYPES[k], None) for n, k in self.results], self.weights)
        sets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.arm.VulkanCustomShader", 1)]
        onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=9), path)

    def inputs(self):
        rng = np.random.default_rng(len(self.name) + sum(map(ord, self.name)))
        made = []
        for _, shape, kind, low, high in self.inputs_:
            if kind == "f32":
                made.append((low + (high - low) * rng.random(shape)).astype(np.float32))
            else:
                made.append(rng.integers(low, high, shape, endpoint=True).astype(np.int32 if kind == "i32" else np.bool_))
        return made


def all_models(in_spirv, of_tensors):
    """Attributes of shaders that give 2 x + 1."""
    rng = np.random.default_rng(3)
    made = []

    def model(*how):
        made.append(Model(*how))
        return made[-1]

    def w(*shape):
        return rng.uniform(-1, 1, shape).astype(np.float32)

    m = model("arithmetic", 8, 8.0)
    x, y = m.arg(3, 4, 5), m.arg(4, 1)
    d = m.node("Div", m.node("Sub", m.node("Mul", x, y), x), m.node("Add", m.node("Abs", y), m.weight(np.float32(1))))
    m.give(d, m.node("Max", d, x), m.node("Min", d, x), m.node("Neg", d))

    for group in (("Exp", "Tanh", "Sigmoid", "Erf"), ("Relu", "LeakyRelu", "Elu", "HardSwish"), ("Softplus", "Gelu", "Sin", "Mish"),
                  ("Floor", "Ceil", "Sign", "HardSigmoid")):
        m = model("_".join(group).lower(), 32, 2.0)
        x = m.arg(5, 7, low=-3, high=3)
        m.give(*(m.node(op, x) for op in group))

    m = model("roots", 16, 4.0)
    x = m.arg(4, 9, low=0.1, high=9)
    m.give(m.node("Sqrt", x), m.node("Log", x), m.node("Reciprocal", x), m.node("Pow", x, m.weight(np.float32(1.5))))

    m = model("choices")
    x, y, c = m.arg(4, 5), m.arg(4, 5), m.arg(4, 1, kind="i1", low=0, high=1)
    less = m.node("Less", x, y)
    m.give(m.node("Where", c, x, y), m.node("Where", m.node("And", less, c), y, x))
    m.give(less, m.node("Equal", x, x), m.node("Not", c), kind="i1")

    m = model("clip_cast")
    x = m.arg(6, 6, low=-9, high=9)
    m.give(m.node("Clip", x, m.weight(np.float32(-1)), m.weight(np.float32(2.5))))
    m.give(m.node("Cast", x, to=TensorProto.INT32), kind="i32")

    m = model("integers")
    x, y = m.arg(4, 5, kind="i32", low=-99, high=99), m.arg(4, 5, kind="i32", low=1, high=9)
    m.give(m.node("Add", x, y), m.node("Mul", x, y), m.node("Div", x, y), m.node("ReduceSum", x, keepdims=0), kind="i32")

    m = model("reductions", 64, 60.0)
    x, last = m.arg(3, 4, 5), m.weight(np.array([2], np.int64))
    m.give(m.node("ReduceSum", x, last, keepdims=1), m.node("ReduceMean", x, m.weight(np.array([0, 1], np.int64)), keepdims=0),
           m.node("ReduceMax", x, last, keepdims=0), m.node("ReduceMin", x, keepdims=0), m.node("ReduceLogSumExp", x, last))

    m = model("softmax", 64, 4.0)
    x = m.arg(6, 11)
    m.give(m.node("Softmax", x, axis=-1), m.node("LogSoftmax", x, axis=0))

    m = model("layer_norm", 64, 4.0)
    x = m.arg(5, 24)
    m.give(m.node("LayerNormalization", x, m.weight(w(24)), m.weight(w(24)), axis=-1))

    m = model("matmul", 16, 120.0)
    x, y = m.arg(2, 3, 6, 31), m.arg(3, 31, 4)
    m.give(m.node("MatMul", x, y), m.node("MatMul", x, m.weight(w(31))))

    m = model("gemm", 16, 120.0)
    m.give(m.node("Gemm", m.arg(5, 17), m.weight(w(8, 17)), m.weight(w(8)), transB=1, alpha=0.5))

    m = model("conv", 16, 54.0)
    x = m.arg(2, 3, 9, 8)
    a = m.node("Conv", x, m.weight(w(6, 3, 3, 3)), m.weight(w(6)), pads=[1, 1, 1, 1], strides=[2, 2])
    m.give(m.node("Relu", a))

    m = model("conv_dilated", 16, 40.0)
    m.give(m.node("Conv", m.arg(1, 4, 12, 11), m.weight(w(5, 4, 3, 2)), dilations=[2, 3], pads=[2, 0, 1, 3]))

    m = model("conv_groups", 16, 40.0)
    x = m.arg(1, 6, 7, 8)
    m.give(m.node("Conv", x, m.weight(w(6, 1, 3, 3)), group=6, pads=[1, 1, 1, 1]),
           m.node("Conv", x, m.weight(w(12, 1, 3, 3)), group=6), m.node("Conv", x, m.weight(w(4, 3, 3, 3)), m.weight(w(4)), group=2))

    m = model("pools", 8, 2.0)
    x = m.arg(1, 3, 9, 8)
    m.give(m.node("MaxPool", x, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0]),
           m.node("AveragePool", x, kernel_shape=[3, 3], strides=[1, 2], pads=[1, 1, 1, 1]),
           m.node("AveragePool", x, kernel_shape=[2, 2], pads=[1, 1, 0, 0], count_include_pad=1), m.node("GlobalAveragePool", x),
           m.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 3], ceil_mode=1))

    m = model("layouts")
    x, y = m.arg(3, 4, 6), m.arg(3, 2, 6)
    c = m.node("Concat", x, y, axis=1)

    def ints(*v):
        return m.weight(np.array(v, np.int64))

    m.give(m.node("Transpose", x, perm=[2, 0, 1]), m.node("Reshape", m.node("Transpose", c, perm=[1, 0, 2]), ints(9, 12)),
           m.node("Slice", c, ints(5, 1), ints(0, 6), ints(1, 2), ints(-2, 2)),
           m.node("Pad", x, ints(0, 1, 0, 2, 0, 1), m.weight(np.float32(1.5))), m.node("Expand", y, ints(2, 3, 2, 6)),
           m.node("Tile", x, ints(1, 2, 2)), m.node("Squeeze", m.node("Unsqueeze", x, ints(1)), ints(1)))

    m = model("gather")
    x = m.arg(5, 7, 3)
    m.give(m.node("Gather", x, m.weight(np.array([[3, 0], [-1, 6]], np.int64)), axis=1), m.node("Gather", x, m.arg(4, kind="i32", low=0, high=4)))

    m = model("batch_norm", 32, 8.0)
    x = m.arg(2, 4, 5, 5)
    m.give(m.node("BatchNormalization", x, m.weight(w(4)), m.weight(w(4)), m.weight(w(4)), m.weight(w(4) ** 2 + np.float32(0.5))))

    m = model("network", 64, 1.0)
    x = m.arg(1, 1, 12, 12)
    a = m.node("Relu", m.node("Conv", x, m.weight(w(8, 1, 3, 3)), m.weight(w(8)), pads=[1, 1, 1, 1]))
    a = m.node("MaxPool", a, kernel_shape=[2, 2], strides=[2, 2])
    a = m.node("Flatten", m.node("Relu", m.node("Conv", a, m.weight(w(12, 8, 3, 3)), m.weight(w(12)))))
    m.give(m.node("Softmax", m.node("Gemm", a, m.weight(w(10, 192) / np.float32(16)), m.weight(w(10)), transB=1)))

    m = model("shader_between", 16, 4.0)
    x, y = m.arg(3, 4, 5), m.arg(3, 4, 5)
    s = m.node("Twice", m.node("Add", x, y), domain="com.arm.VulkanCustomShader", implementation_attrs=json.dumps(in_spirv))
    m.give(m.node("Sub", s, x))

    m = model("shader_of_tensors", 16, 4.0)
    x = m.arg(3, 4, 5)
    s = m.node("Twice", m.node("Abs", x), domain="com.arm.VulkanCustomShader", implementation_attrs=json.dumps(of_tensors))
    m.give(m.node("Sub", s, x))
    return made


def refused():
    """One that TOSA has nothing for, and one that it has."""
    summed, plain = Model("running_sums"), Model("plain")
    summed.give(summed.node("CumSum", summed.arg(3, 4), summed.weight(np.array(1, np.int64))))
    return summed, plain.give(plain.node("Relu", plain.arg(3, 4)))
