# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of TOSA as MLIR text, each with its inputs and how far apart two right answers may be."""
import base64
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

NUMPY = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i1": np.bool_}
EPS = {"f32": 2.0 ** -23, "f16": 2.0 ** -10}


def tensor(shape, kind):
    return "tensor<" + "".join(f"{n}x" for n in shape) + kind + ">"


class Program:
    """A function of MLIR, written operation by operation. `ulps` is what the results may differ by, in units of the last
    place of the greatest magnitude that their elements are made of: `scale`, or else their own."""

    def __init__(self, name, ulps=0, scale=None):
        self.name, self.ulps, self.scale = name, ulps, scale
        self.args, self.lines, self.results, self.count = [], [], [], 0

    def fresh(self, kind):
        self.count += 1
        return (f"%v{self.count}", kind)

    def arg(self, shape, kind="f32", low=-2.0, high=2.0):
        self.args.append((shape, kind, low, high))
        return (f"%a{len(self.args) - 1}", tensor(shape, kind))

    def const(self, values, kind="f32", shape=None):
        values = np.asarray(values)
        shape = values.shape if shape is None else shape
        text = json.dumps(values.tolist()) if values.shape else str(values.tolist())
        made = self.fresh(tensor(shape, kind))
        self.lines.append(f'{made[0]} = "tosa.const"() {{values = dense<{text}> : {made[1]}}} : () -> {made[1]}')
        return made

    def shape(self, *dims):
        made = self.fresh(f"!tosa.shape<{len(dims)}>")
        self.lines.append(f'{made[0]} = "tosa.const_shape"() {{values = dense<{list(dims)}> : tensor<{len(dims)}xindex>}} '
                          f": () -> {made[1]}")
        return made

    def op(self, name, operands, shape, kind="f32", **attributes):
        made = self.fresh(tensor(shape, kind))
        text = ", ".join(f"{k} = {v}" for k, v in attributes.items())
        self.lines.append(f'{made[0]} = "tosa.{name}"({", ".join(o[0] for o in operands)}) {{{text}}} : '
                          f'({", ".join(o[1] for o in operands)}) -> {made[1]}')
        return made

    def give(self, *results):
        self.results += results
        return self

    def text(self):
        args = ", ".join(f"%a{i}: {tensor(s, k)}" for i, (s, k, _, _) in enumerate(self.args))
        types = ", ".join(r[1] for r in self.results)
        return (f"func.func @main({args}) -> ({types}) {{\n  " + "\n  ".join(self.lines) +
                f"\n  return {', '.join(r[0] for r in self.results)} : {types}\n}}\n")

    def inputs(self):
        rng = np.random.default_rng(len(self.name) + sum(map(ord, self.name)))
        made = []
        for shape, kind, low, high in self.args:
            if kind == "i1":
                made.append(rng.integers(0, 2, shape).astype(np.bool_))
            elif kind.startswith("i"):
                made.append(rng.integers(int(low), int(high), shape, endpoint=True).astype(NUMPY[kind]))
            else:
                made.append((low + (high - low) * rng.random(shape)).astype(NUMPY[kind]))
        return made


def ints(*values):
    return f"array<i64: {', '.join(map(str, values))}>"


def i32(value):
    return f"{value} : i32"


programs = []


def program(name, ulps=0, scale=None):
    p = Program(name, ulps, scale)
    programs.append(p)
    return p


def log2(n):
    return max(float(np.log2(n)), 1.0)


S = (3, 4, 5)


def elementwise():
    p = program("arithmetic", 2)
    x, y, z = p.arg(S), p.arg((3, 1, 5)), p.arg((1, 4, 1), "f32", 0.5, 2)
    shift = p.const([0], "i8")
    a, m = p.op("add", [x, y], S), p.op("mul", [x, z, shift], S)
    s = p.op("sub", [a, m], S)
    p.give(s, p.op("maximum", [s, y], S, nan_mode="#tosa.nan_mode<PROPAGATE>"), p.op("minimum", [s, x], S, nan_mode="#tosa.nan_mode<PROPAGATE>"))

    for names, low, high, ulps in ((("exp", "tanh", "sigmoid", "erf"), -3, 3, 16), (("sin", "cos"), -3, 3, 16),
                                   (("log", "reciprocal", "rsqrt"), 0.1, 4, 16), (("abs", "ceil", "floor"), -3, 3, 0)):
        p = program("_".join(names), ulps, 1.0 if ulps else None)
        x = p.arg(S, "f32", low, high)
        p.give(*(p.op(name, [x], S) for name in names))

    p = program("pow_negate", 16)
    x, y, z = p.arg(S, "f32", 0.5, 3), p.arg(S), p.const([0.0])
    p.give(p.op("pow", [x, y], S), p.op("negate", [y, z, z], S))

    p = program("clamp")
    x, k = p.arg(S), p.arg(S, "i8", -128, 127)
    p.give(p.op("clamp", [x], S, min_val="-0.5 : f32", max_val="1.25 : f32", nan_mode="#tosa.nan_mode<PROPAGATE>"),
           p.op("clamp", [k], S, "i8", min_val="-7 : i8", max_val="100 : i8", nan_mode="#tosa.nan_mode<PROPAGATE>"))

    p = program("compare_select")
    x, y, c = p.arg(S, "i32", -3, 3), p.arg(S, "i32", -3, 3), p.arg((1, 4, 1), "i1")
    f, g = p.arg(S), p.arg(S)
    greater = p.op("greater", [f, g], S, "i1")
    p.give(p.op("equal", [x, y], S, "i1"), p.op("greater_equal", [x, y], S, "i1"),
           p.op("select", [c, f, g], S), p.op("select", [greater, x, y], S, "i32"))

    p = program("logic")
    x, y = p.arg(S, "i1"), p.arg((1, 4, 5), "i1")
    p.give(*(p.op("logical_" + n, [x, y], S, "i1") for n in ("and", "or", "xor")), p.op("logical_not", [x], S, "i1"))

    p = program("bits")
    x, y = p.arg(S, "i32", -2 ** 31, 2 ** 31 - 1), p.arg(S, "i32", -2 ** 31, 2 ** 31 - 1)
    p.give(*(p.op("bitwise_" + n, [x, y], S, "i32") for n in ("and", "or", "xor")),
           p.op("bitwise_not", [x], S, "i32"), p.op("clz", [x], S, "i32"))

    p = program("shifts")
    x, by = p.arg(S, "i32", -2 ** 31, 2 ** 31 - 1), p.arg(S, "i32", 1, 31)
    p.give(p.op("logical_left_shift", [x, by], S, "i32"), p.op("logical_right_shift", [x, by], S, "i32"),
           p.op("arithmetic_right_shift", [x, by], S, "i32", round="false"),
           p.op("arithmetic_right_shift", [x, by], S, "i32", round="true"))

    p = program("integers")
    x, y, k = p.arg(S, "i32", -10 ** 6, 10 ** 6), p.arg(S, "i32", 1, 1000), p.arg(S, "i8", -128, 127)
    none, half, z = p.const([0], "i8"), p.const([9], "i8"), p.const([0], "i8")
    p.give(p.op("add", [x, y], S, "i32"), p.op("mul", [x, y, none], S, "i32"), p.op("mul", [x, y, half], S, "i32"),
           p.op("intdiv", [x, y], S, "i32"), p.op("mul", [k, k, none], S, "i32"), p.op("negate", [k, z, z], S, "i8"),
           p.op("abs", [x], S, "i32"))

    p = program("table")
    x, t = p.arg(S, "i8", -128, 127), p.const([(i * 37) % 256 - 128 for i in range(256)], "i8")
    p.give(p.op("table", [x, t], S, "i8"))

    p = program("casts")
    f, k, b = p.arg(S, "f32", -200, 200), p.arg(S, "i32", -100, 100), p.arg(S, "i1")
    p.give(p.op("cast", [f], S, "i32"), p.op("cast", [k], S), p.op("cast", [k], S, "i8"), p.op("cast", [f], S, "f16"),
           p.op("cast", [b], S, "i32"), p.op("cast", [k], S, "i1"), p.op("cast", [f], S, "i8"))

    p = program("half", 4)
    x, y = p.arg(S, "f16"), p.arg(S, "f16")
    p.give(p.op("add", [x, y], S, "f16"), p.op("tanh", [x], S, "f16"))

    p = program("rescale")
    x, k = p.arg(S, "i32", -10 ** 6, 10 ** 6), p.arg(S, "i8", -128, 127)
    zero, z8, out = p.const([0], "i32"), p.const([-3], "i8"), p.const([5], "i8")
    m, s = p.const([1518500250], "i32"), p.const([42], "i8")
    how = dict(scale32="true", per_channel="false", input_unsigned="false", output_unsigned="false")
    p.give(p.op("rescale", [x, m, s, zero, out], S, "i8", rounding_mode="#tosa.rounding_mode<SINGLE_ROUND>", **how),
           p.op("rescale", [x, m, s, zero, out], S, "i8", rounding_mode="#tosa.rounding_mode<DOUBLE_ROUND>", **how),
           p.op("rescale", [k, m, p.const([30], "i8"), z8, zero], S, "i32", rounding_mode="#tosa.rounding_mode<SINGLE_ROUND>", **how))


def reductions():
    p = program("sums", 4 * log2(60), 2.0 * 60)
    x = p.arg(S)
    a = p.op("reduce_sum", [x], (3, 1, 5), axis=i32(1))
    p.give(a, p.op("reduce_sum", [a], (3, 1, 1), axis=i32(2)), p.op("reduce_product", [x], (1, 4, 5), axis=i32(0)))

    p = program("extrema")
    x, k, b = p.arg(S), p.arg(S, "i32", -50, 50), p.arg(S, "i1")
    p.give(p.op("reduce_max", [x], (1, 4, 5), axis=i32(0), nan_mode="#tosa.nan_mode<PROPAGATE>"),
           p.op("reduce_min", [k], (3, 4, 1), "i32", axis=i32(2), nan_mode="#tosa.nan_mode<PROPAGATE>"),
           p.op("reduce_sum", [k], (3, 4, 1), "i32", axis=i32(2)),
           p.op("reduce_all", [b], (3, 1, 5), "i1", axis=i32(1)), p.op("reduce_any", [b], (3, 4, 1), "i1", axis=i32(2)),
           p.op("argmax", [x], (3, 4), "i32", axis=i32(2), nan_mode="#tosa.nan_mode<PROPAGATE>"))

    p = program("softmax", 32, 1.0)
    x, shift = p.arg((6, 17)), p.const([0], "i8")
    top = p.op("reduce_max", [x], (6, 1), axis=i32(1), nan_mode="#tosa.nan_mode<PROPAGATE>")
    e = p.op("exp", [p.op("sub", [x, top], (6, 17))], (6, 17))
    r = p.op("reciprocal", [p.op("reduce_sum", [e], (6, 1), axis=i32(1))], (6, 1))
    p.give(p.op("mul", [e, r, shift], (6, 17)))


def windows():
    rng = np.random.default_rng(7)

    def weights(*shape):
        return np.round(rng.uniform(-1, 1, shape), 3).astype(np.float32)

    z, acc = [0.0], {"acc_type": "f32"}
    for name, shape, kernel, out, pads, stride, dilation in (
            ("conv2d", (1, 9, 8, 3), (5, 3, 3, 3), (1, 9, 8, 5), (1, 1, 1, 1), (1, 1), (1, 1)),
            ("conv2d_strided", (2, 11, 8, 4), (6, 3, 2, 4), (2, 5, 4, 6), (0, 0, 0, 0), (2, 2), (1, 1)),
            ("conv2d_dilated", (1, 10, 10, 2), (3, 3, 3, 2), (1, 7, 8, 3), (1, 0, 2, 0), (1, 1), (2, 2)),
            ("conv2d_pointwise", (1, 6, 7, 16), (24, 1, 1, 16), (1, 6, 7, 24), (0, 0, 0, 0), (1, 1), (1, 1))):
        terms = kernel[1] * kernel[2] * kernel[3]
        p = program(name, 4 * log2(terms), 2.0 * terms)
        x, w, b, zero = p.arg(shape), p.const(weights(*kernel)), p.const(weights(kernel[0])), p.const(z)
        p.give(p.op("conv2d", [x, w, b, zero, zero], out, pad=ints(*pads), stride=ints(*stride), dilation=ints(*dilation),
                    **acc))

    for name, multiplier, channels in (("depthwise", 1, 6), ("depthwise_multiplied", 2, 3)):
        p = program(name, 4 * log2(9), 2.0 * 9)
        x, w = p.arg((1, 8, 7, channels)), p.const(weights(3, 3, channels, multiplier))
        b, zero = p.const(weights(channels * multiplier)), p.const(z)
        p.give(p.op("depthwise_conv2d", [x, w, b, zero, zero], (1, 8, 7, channels * multiplier), pad=ints(1, 1, 1, 1),
                    stride=ints(1, 1), dilation=ints(1, 1), **acc))

    p = program("transpose_conv2d", 4 * log2(36), 2.0 * 36)
    x, w, b, zero = p.arg((1, 5, 4, 4)), p.const(weights(3, 3, 3, 4)), p.const(weights(3)), p.const(z)
    p.give(p.op("transpose_conv2d", [x, w, b, zero, zero], (1, 11, 9, 3), out_pad=ints(0, 0, 0, 0), stride=ints(2, 2), **acc))

    p = program("conv2d_quantised")
    k = rng.integers(-127, 127, (4, 3, 3, 3))
    x, w, b = p.arg((1, 6, 6, 3), "i8", -128, 127), p.const(k, "i8"), p.const([100, -5, 0, 7], "i32")
    zx, zw, zero = p.const([-3], "i8"), p.const([0], "i8"), p.const([0], "i32")
    y = p.op("conv2d", [x, w, b, zx, zw], (1, 6, 6, 4), "i32", pad=ints(1, 1, 1, 1), stride=ints(1, 1), dilation=ints(1, 1),
             acc_type="i32")
    m, s = p.const([1518500250, 1073741824, 1610612736, 1200000000], "i32"), p.const([40, 39, 41, 40], "i8")
    p.give(y, p.op("rescale", [y, m, s, zero, zx], (1, 6, 6, 4), "i8", scale32="true", rounding_mode="#tosa.rounding_mode<SINGLE_ROUND>",
                   per_channel="true", input_unsigned="false", output_unsigned="false"))

    p = program("matmul", 4 * log2(31), 4.0 * 31)
    a, b, zero = p.arg((2, 13, 31)), p.arg((2, 31, 9)), p.const(z)
    p.give(p.op("matmul", [a, b, zero, zero], (2, 13, 9)))

    p = program("matmul_quantised")
    a, b = p.arg((2, 5, 40), "i8", -128, 127), p.arg((2, 40, 6), "i8", -128, 127)
    p.give(p.op("matmul", [a, b, p.const([3], "i8"), p.const([-4], "i8")], (2, 5, 6), "i32"))

    p = program("max_pool2d")
    x, k = p.arg((1, 9, 8, 3)), p.arg((1, 8, 8, 2), "i8", -128, 127)
    p.give(p.op("max_pool2d", [x], (1, 4, 4, 3), kernel=ints(3, 2), stride=ints(2, 2), pad=ints(0, 0, 0, 0),
                nan_mode="#tosa.nan_mode<PROPAGATE>"),
           p.op("max_pool2d", [k], (1, 8, 8, 2), "i8", kernel=ints(3, 3), stride=ints(1, 1), pad=ints(1, 1, 1, 1),
                nan_mode="#tosa.nan_mode<PROPAGATE>"))

    p = program("avg_pool2d", 4 * log2(9), 2.0)
    x, zero = p.arg((1, 8, 8, 3)), p.const(z)
    p.give(p.op("avg_pool2d", [x, zero, zero], (1, 8, 8, 3), kernel=ints(3, 3), stride=ints(1, 1), pad=ints(1, 1, 1, 1),
                **acc))

    p = program("avg_pool2d_quantised")
    x, zx, zy = p.arg((1, 8, 8, 3), "i8", -128, 127), p.const([5], "i8"), p.const([-2], "i8")
    p.give(p.op("avg_pool2d", [x, zx, zy], (1, 4, 4, 3), "i8", kernel=ints(3, 3), stride=ints(2, 2), pad=ints(1, 0, 1, 0),
                acc_type="i32"))


def layouts():
    p = program("reshape_transpose")
    x = p.arg(S)
    r = p.op("reshape", [x, p.shape(5, 12)], (5, 12))
    t = p.op("transpose", [x], (5, 3, 4), perms="array<i32: 2, 0, 1>")
    p.give(r, t, p.op("reshape", [t, p.shape(60)], (60,)))

    p = program("concat_slice")
    x, y = p.arg(S), p.arg((3, 2, 5))
    c = p.op("concat", [x, y, x], (3, 10, 5), axis=i32(1))
    p.give(c, p.op("slice", [c, p.shape(1, 3, 0), p.shape(2, 5, 4)], (2, 5, 4)))

    p = program("pad_tile_reverse")
    x = p.arg(S)
    q = p.op("pad", [x, p.shape(1, 0, 0, 2, 3, 1), p.const([1.5])], (4, 6, 9))
    p.give(q, p.op("tile", [x, p.shape(2, 1, 3)], (6, 4, 15)), p.op("reverse", [x], S, axis=i32(2)))

    p = program("gather_scatter")
    v, i, u = p.arg((2, 7, 3)), p.arg((2, 5), "i32", 0, 6), p.arg((2, 3, 3))
    places = p.const([[4, 0, 6], [1, 5, 2]], "i32")
    p.give(p.op("gather", [v, i], (2, 5, 3)), p.op("scatter", [v, places, u], (2, 7, 3)))

    p = program("resize", 16, 2.0)
    x = p.arg((1, 5, 6, 2))
    how = [p.shape(4, 2, 4, 2), p.shape(0, 0), p.shape(0, 0)]
    p.give(p.op("resize", [x, *how], (1, 9, 11, 2), mode="#tosa.resize_mode<BILINEAR>"),
           p.op("resize", [x, *how], (1, 9, 11, 2), mode="#tosa.resize_mode<NEAREST_NEIGHBOR>"))


TWICE = """#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < x.length()) y[i] = 2.0 * x[i] + 1.0; }
"""

TWICE_OF_TENSORS = """#version 450
#extension GL_ARM_tensors : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(set = 0, binding = 0) uniform tensorARM<float, 3> x;
layout(set = 1, binding = 3) writeonly uniform tensorARM<float, 3> y;
void main() {
    uint at[3] = uint[](gl_WorkGroupID.x, gl_WorkGroupID.y, gl_WorkGroupID.z);
    float v;
    tensorReadARM(x, at, v);
    tensorWriteARM(y, at, 2.0 * v + 1.0);
}
"""


def twice(language, code, groups=(2, 1, 1)):
    """Attributes of a shader operator that gives 2 x + 1."""
    attributes = {"entry_point": "main", "workgroup_sizes": list(groups), "shader_language": language, "shader_code": code}
    for which, binding in (("input_0", 0), ("output_0", 1)):
        attributes |= {f"{which}_binding": binding, f"{which}_descriptorset": 0, f"{which}_vkformat": "VK_FORMAT_R32_SFLOAT",
                       f"{which}_vkdescriptortype": "VK_DESCRIPTOR_TYPE_STORAGE_BUFFER"}
    return attributes


def compiled(glslc, text):
    """SPIR-V in base64."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "twice.comp", Path(folder) / "twice.spv"
        source.write_text(text)
        subprocess.run([glslc, "--input", source, "--output", made], check=True, stdout=subprocess.DEVNULL)
        return base64.b64encode(made.read_bytes()).decode()


def twice_in_spirv(glslc):
    return twice("SPIR-V", compiled(glslc, TWICE))


def twice_of_tensors(glslc):
    """The same by a shader that sees tensors (VK_ARM_tensors) of the shape S."""
    attributes = twice("SPIR-V", compiled(glslc, TWICE_OF_TENSORS), S)
    return attributes | {"input_0_vkdescriptortype": "VK_DESCRIPTOR_TYPE_TENSOR_ARM", "output_0_binding": 3,
                         "output_0_descriptorset": 1, "output_0_vkdescriptortype": "VK_DESCRIPTOR_TYPE_TENSOR_ARM"}


def custom(attributes):
    return dict(operator_name='"Twice"', domain_name='"com.arm.VulkanCustomShader"',
                implementation_attrs=json.dumps(json.dumps(attributes)))


def shaders(glslc):
    how = custom(twice_in_spirv(glslc))
    p = program("shader_between", 16, 4.0)
    x, y = p.arg(S), p.arg(S)
    a = p.op("add", [x, y], S)
    p.give(p.op("sub", [p.op("custom", [a], S, **how), x], S))
    p = program("shader_chain", 2, 8.0)
    x = p.arg(S)
    p.give(p.op("custom", [p.op("custom", [x], S, **how)], S, **how))
    p = program("shader_of_tensors", 16, 4.0)
    x, y = p.arg(S), p.arg(S)
    a = p.op("add", [x, y], S)
    p.give(p.op("sub", [p.op("custom", [a], S, **custom(twice_of_tensors(glslc))), x], S))


def shader_text():
    """In GLSL, which the file keeps as text; the scenario runner would have it substituted."""
    p = Program("shader_text")
    x = p.arg(S)
    return p.give(p.op("custom", [x], S, **custom(twice("GLSL", TWICE))))


def refused():
    """A program that Pumice does not take, and the word for it."""
    p = Program("conv3d")
    x, w, b, z = p.arg((1, 4, 4, 4, 2)), p.const(np.ones((3, 2, 2, 2, 2))), p.const([0.0] * 3), p.const([0.0])
    return p.give(p.op("conv3d", [x, w, b, z, z], (1, 3, 3, 3, 3), pad=ints(0, 0, 0, 0, 0, 0), stride=ints(1, 1, 1),
                       dilation=ints(1, 1, 1), acc_type="f32")), "CONV3D"


def all_programs(glslc):
    programs.clear()
    for part in (elementwise, reductions, windows, layouts):
        part()
    shaders(glslc)
    return programs
