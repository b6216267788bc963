# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""Files whose bytes, header, graph, tensors or size are at fault, with right ones beside them: (class, name, expected, bytes)."""
from operators import LEAST, MOST, floats, ints, number
from wire import *  # noqa: F403

MIB = 1 << 20


def relu(to="y", source="x", **values):
    return node("Relu", [source], [to], **values)


def small(opset=20, ir=9):
    """x -> Relu -> Add(w) -> y."""
    return model(graph([relu("r"), node("Add", ["r", "w"], ["y"], name="sum")], [value("x", [2, 3])], [value("y", [2, 3])],
                       [tensor("w", [3], [1.0, 2.0, 3.0])]), opset, ir)


def wire():
    def accept(name, file):
        return "wire", name, "accept", file

    def refuse(name, file):
        return "wire", name, "refuse", file

    whole = small()
    yield accept("whole", whole)
    yield accept("unknown fields", whole + field(1000, 7) + field(1001, "text") + field(1002, 1.0))
    for size in range(len(whole)):
        yield "cut", f"{size}", "refuse", whole[:size]
    for at in range(len(whole)):
        yield "flip", f"{at}", "either", whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1:]
    for at in range(0, len(whole), 3):
        yield "flip", f"{at} to 255", "either", whole[:at] + b"\xff" + whole[at + 1:]
    yield refuse("nothing", b"")
    for name, file in {"zeros": bytes(1000), "0xff": b"\xff" * 1000, "0x80": b"\x80" * 1000, "text": b"<html></html>" * 10, "zip": b"PK\3\4" + bytes(200),
                       "field 0": whole + b"\0", "group": whole + b"\x0b" * 100000 + b"\x0c" * 100000, "wire type 7": whole + b"\x0f\1",
                       "a length past the end": whole + b"\x3a\x7f", "a length of 2^63": whole + b"\x12" + varint(1 << 63),
                       "a length of 2^64 - 1": whole + b"\x12" + varint((1 << 64) - 1), "a length of 2^32": whole + b"\x12" + varint(1 << 32) + b"x",
                       "a varint of 11 bytes": whole + b"\x08" + b"\x80" * 10 + b"\1", "a varint without an end": whole + b"\x08" + b"\x80" * 9,
                       "two graphs": whole + field(7, graph([relu()])), "the graph as a number": field(1, 9) + field(7, 1)}.items():
        yield refuse(name, file)
    yield "wire", "a varint of 10 bytes for 9", "either", b"\x08" + b"\x89" + b"\x80" * 8 + b"\0" + whole[2:]
    nested = b""
    for _ in range(3000):
        nested = field(6, field(1, field(5, nested))) if len(nested) < 200000 else nested
    yield refuse("subgraphs 3000 deep", model(graph([node("If", ["x"], ["y"], attributes=[fields((1, "then_branch")) + nested + field(20, 5)])],
                                                    [value("x", [], BOOL)], [value("y")])))
    deep = fields((1, 1))
    for _ in range(3000):
        deep = field(4, field(1, deep))
    yield refuse("types 3000 deep", model(graph([relu()], [fields((1, "x"), (2, deep))], [value("y")])))
    yield refuse("packed numbers cut", model(graph([node("Transpose", ["x"], ["y"], attributes=[fields((1, "perm"), (8, b"\x80"))])],
                                                   [value("x", [2])], [value("y")])))
    yield accept("axes not packed", model(graph([node("Transpose", ["x"], ["y"], attributes=[fields((1, "perm"), (8, 1), (8, 0), (20, 7))])],
                                                [value("x", [2, 3])], [value("y")])))


def header():
    for opset in 1, 7, 13, 21, 22:
        yield "header", f"opset {opset}", "accept", model(graph([relu()], [value("x", [2])], [value("y", [2])]), opset)
    for opset in 0, -1, 1000, 1 << 31, 1 << 32, MOST, LEAST:
        yield "header", f"opset {opset}", "refuse", small(opset)
    yield "header", "no opset", "refuse", small(None)
    yield "header", "opset twice, one huge", "refuse", small() + field(8, fields((1, ""), (2, 1 << 40)))
    yield "header", "opset twice, unlike", "refuse", small() + field(8, fields((1, ""), (2, 12)))
    yield "header", "opset twice, by both names", "refuse", small() + field(8, fields((1, "ai.onnx"), (2, 12)))
    yield "header", "another domain besides", "accept", small() + field(8, fields((1, "com.example"), (2, 1)))
    for ir in 3, 7, 10:
        yield "header", f"ir {ir}", "accept", small(ir=ir)
    for ir in 0, -1, 1000, 1 << 31, 1 << 32 | 9, MOST, LEAST:
        yield "header", f"ir {ir}", "refuse", small(ir=ir)
    yield "header", "no graph", "refuse", field(1, 9) + field(8, fields((1, ""), (2, 20)))
    yield "header", "a graph of nothing", "refuse", model(b"")
    for domain in "com.example", "ai.onnx.ml", "\0", "a" * MIB:
        yield "header", f"node of domain {domain[:12]!r}", "refuse", single("Relu", V(2), domain=domain)
    yield "header", "node of domain ai.onnx", "accept", single("Relu", V(2), domain="ai.onnx")


def names():
    def say(expected, name, nodes, inputs=(value("x", [2]),), outputs=(value("y"),), initializers=(), extra=b""):
        return "graph", name, expected, model(graph(nodes, inputs, outputs, initializers, extra))

    yield say("accept", "as it should be", [relu()])
    yield say("accept", "in line", [relu("r"), relu("y", "r")])
    yield say("refuse", "out of order", [relu("y", "r"), relu("r")])
    yield say("refuse", "a cycle of one", [relu("y", "y")])
    yield say("refuse", "a cycle of two", [relu("y", "r"), relu("r", "y")])
    yield say("refuse", "a cycle that no output needs", [relu(), relu("a", "b"), relu("b", "a")])
    yield say("refuse", "a cycle of 50000", [relu("y")] + [relu(f"a{k}", f"a{(k + 1) % 50000}") for k in range(50000)])
    yield say("refuse", "nobody gives the input", [relu("y", "z")])
    yield say("refuse", "nobody gives the output", [relu("z")])
    yield say("refuse", "no output", [relu()], outputs=[])
    yield say("refuse", "the output twice", [relu()], outputs=[value("y"), value("y")])
    yield say("refuse", "nameless output", [relu()], outputs=[value("")])
    yield say("refuse", "nameless input", [relu()], [value("x", [2]), value("", [2])])
    yield say("refuse", "the input twice", [relu()], [value("x", [2]), value("x", [3])])
    yield say("refuse", "value given twice", [relu(), relu()])
    yield say("refuse", "value that is an input too", [relu("x"), relu()])
    yield say("refuse", "value that is an initializer too", [relu("w"), relu()], initializers=[tensor("w", [2], [1.0, 2.0])])
    yield say("refuse", "one node, one name for two outputs", [node("Split", ["x"], ["y", "y"], num_outputs=2)])
    yield say("accept", "an initializer as the default of an input", [node("Add", ["x", "w"], ["y"])], [value("x", [2]), value("w", [2])],
              initializers=[tensor("w", [2], [1.0, 2.0])])
    yield say("refuse", "a default of another shape", [node("Add", ["x", "w"], ["y"])], [value("x", [2]), value("w", [3])],
              initializers=[tensor("w", [2], [1.0, 2.0])])
    yield say("refuse", "a default of another type", [node("Add", ["x", "w"], ["y"])], [value("x", [2]), value("w", [2], INT64)],
              initializers=[tensor("w", [2], [1.0, 2.0])])
    yield say("accept", "an output that is an input", [], outputs=[value("x", [2])])
    yield say("accept", "an output that is an initializer", [], outputs=[value("w", [2])], initializers=[tensor("w", [2], [1.0, 2.0])])
    yield say("accept", "no inputs", [relu("y", "w")], [], initializers=[tensor("w", [2], [1.0, 2.0])])
    yield say("accept", "a node that no output needs", [relu(), relu("z")])
    yield say("refuse", "no operator", [node("", ["x"], ["y"])])
    yield say("refuse", "an operator of 1 MiB", [node("R" * MIB, ["x"], ["y"])])
    yield say("refuse", "operator with NUL", [node("Relu\0", ["x"], ["y"])])
    yield say("refuse", "operator not UTF-8", [node(b"\xff\xfe", ["x"], ["y"])])
    yield say("refuse", "operator of line ends", [node("a\nb\nc", ["x"], ["y"])])
    for name, text in {"NUL": "a\0b", "no UTF-8": b"\xff\xc0\x80", "1 MiB": "n" * MIB, "line ends": "a\nb"}.items():
        yield say("either", f"value named with {name}", [relu(text), relu("y", text)])
        yield say("either", f"node named with {name}", [relu("y", name=text)])
        yield say("either", f"output named with {name}", [relu(text)], outputs=[value(text)])
        yield say("refuse", f"unknown value named with {name}", [relu("y", text)])
        yield say("refuse", f"attribute named with {name}", [node("Relu", ["x"], ["y"], attributes=[fields((1, text), (3, 1), (20, 2))])])
    yield say("refuse", "sequence input", [relu()], [fields((1, "x"), (2, field(4, field(1, field(1, fields((1, 1)))))))])
    yield say("refuse", "input without a type", [relu()], [fields((1, "x"))])
    yield say("refuse", "output of another type", [relu()], outputs=[value("y", [2], INT64)])
    yield say("refuse", "output of another shape", [relu()], outputs=[value("y", [3])])
    yield say("refuse", "output of another rank", [relu()], outputs=[value("y", [2, 1])])
    yield say("refuse", "output declared in the unknown type 99", [relu()], outputs=[value("y", [2], 99)])
    for name, info in {"another shape": value("r", [3]), "another rank": value("r", [2, 1]), "another type": value("r", [2], INT64),
                       "a negative dimension": value("r", [-2])}.items():
        yield say("refuse", f"value_info of {name}", [relu("r"), relu("y", "r")], extra=field(13, info))
    yield say("accept", "value_info that agrees", [relu("r"), relu("y", "r")], extra=field(13, value("r", [2])))
    yield say("accept", "value_info of a symbol", [relu("r"), relu("y", "r")], extra=field(13, value("r", ["n"])))
    yield say("either", "value_info of no value", [relu()], extra=field(13, value("r", [2])))
    yield say("either", "value_info of an input, unlike", [relu()], extra=field(13, value("x", [3])))
    for type in [0, STRING, *range(14, 24), 26, 27, 99, -1, 1 << 30]:
        expected = "accept" if type in (16, 17, 19, 21, 22) else "refuse"  # bfloat16, float8e4m3fn, float8e5m2, uint4, int4
        yield say(expected, f"input of type {type}", [node("Identity", ["x"], ["y"])], [value("x", [2], type)], [value("y", None, type)])
    for dims in [-1], [-2], [LEAST], [MOST, 2], [1 << 32, 1 << 32], [1 << 62, 4], [MOST], [1] * 9, [1] * 100000, [0, MOST, MOST]:
        yield say("either" if dims in ([-1], [MOST], [0, MOST, MOST]) else "refuse", f"input of shape {str(dims)[:24]} of {len(dims)}", [relu()], [value("x", dims)])
    yield say("accept", "input of no shape", [relu()], [value("x")])
    yield say("accept", "input of symbols", [relu()], [value("x", ["n", "m"])])
    yield say("accept", "scalar input", [relu()], [value("x", [])])
    yield say("accept", "empty input", [relu()], [value("x", [0, 3])])
    yield say("accept", "eight axes", [relu()], [value("x", [1] * 7 + [2])])
    yield say("refuse", "sparse initializer", [relu()], extra=field(15, field(1, tensor("s", [1], [1.0])) + field(2, tensor("", [1], [0], INT64)) + packed(3, [4])))
    for op in "If", "Loop", "Scan":
        body = graph([relu("b")], [], [value("b")])
        yield say("refuse", f"operator {op}", [node(op, ["x"], ["y"], attributes=[fields((1, "body"), (6, body), (20, 5))])])
    for op in "StringConcat", "QLinearMatMul", "DynamicQuantizeLinear", "LSTM", "NonMaxSuppression", "Optional", "SequenceConstruct":
        yield say("refuse", f"operator {op}", [node(op, ["x"], ["y"])])


def attributes():
    def say(expected, name, *given):
        return "attribute", name, expected, model(graph([node("Flatten", ["x"], ["y"], attributes=given)], [value("x", [2, 3, 4])], [value("y")]))

    right = attribute("axis", 1)
    yield say("accept", "as it should be", right)
    yield say("accept", "without its type", fields((1, "axis"), (3, 1)))
    yield say("accept", "0 left out", fields((1, "axis"), (20, 2)))
    yield say("refuse", "twice", right, right)
    yield say("refuse", "unknown", attribute("axes", 1))
    yield say("refuse", "without a name", fields((3, 1), (20, 2)))
    yield say("refuse", "of the type real", attribute("axis", 1.0))
    yield say("refuse", "declared real, an integer", attribute("axis", 1, type=1))
    yield say("refuse", "declared of type 99", attribute("axis", 1, type=99))
    yield say("refuse", "declared of a negative type", attribute("axis", 1, type=-1))
    yield say("refuse", "two values", fields((1, "axis"), (2, 1.0), (3, 1), (20, 2)))
    yield say("refuse", "two values, a list too", fields((1, "axis"), (3, 1), (20, 2)) + packed(8, [1]))
    yield say("refuse", "a list", attribute("axis", [1]))
    yield say("refuse", "text", attribute("axis", "1"))
    yield say("refuse", "a tensor", attribute("axis", tensor("", [], [1], INT64)))
    yield say("refuse", "refers to a function's attribute", fields((1, "axis"), (20, 2), (21, "other")))
    yield say("refuse", "65 of them", *[attribute(f"a{k}", 1) for k in range(65)])
    yield say("refuse", "100000 of them", *[attribute(f"a{k}", 1) for k in range(100000)])
    for name, given in {"a tensor that lies": attribute("value", tensor("", [1 << 40], [1.0])), "a tensor of strings": attribute("value", tensor("", [1], type=STRING)),
                        "no value": None, "two values": None, "value_string": attribute("value_string", "x"), "sparse_value": fields((1, "sparse_value"), (22, b""), (20, 11)),
                        "value of an integer": attribute("value", 1), "a tensor cut": fields((1, "value"), (5, b"\x0a\x7f"), (20, 4))}.items():
        list = [attribute("value_int", 1), attribute("value_float", 1.0)] if name == "two values" else [given] if given else []
        yield "attribute", f"Constant of {name}", "refuse", single("Constant", attributes=list)
    yield "attribute", "Constant as it should be", "accept", single("Constant", value_floats=[1.0, 2.0])
    yield "attribute", "Constant of a tensor", "accept", single("Constant", value=tensor("", [2], [1.0, 2.0]))


def tensors():
    def say(expected, name, *given, type=FLOAT):
        return "tensor", name, expected, model(graph([node("Identity", ["w"], ["y"])], [], [value("y", None, type)], given))

    def typed(dims, type, *pairs):
        return packed(1, dims) + fields((2, type), (8, "w")) + b"".join(pairs)

    for type in CODES:
        yield say("accept", f"raw of type {type}", tensor("w", [2], [0, 1], type), type=type)
        yield say("refuse", f"raw of type {type}, a byte short", tensor("w", [2], type=type, data=raw(type, [0, 1])[:-1]), type=type)
        yield say("refuse", f"raw of type {type}, a byte more", tensor("w", [2], type=type, data=raw(type, [0, 1]) + b"\0"), type=type)
    bits = b"".join(struct.pack("<f", v) for v in (1.0, 2.0))
    yield say("accept", "float_data", typed([2], FLOAT, field(4, bits)))
    yield say("accept", "float_data not packed", typed([2], FLOAT, field(4, 1.0), field(4, 2.0)))
    yield say("accept", "int32_data of a bool", typed([2], BOOL, packed(5, [0, 1])), type=BOOL)
    yield say("accept", "int32_data of a half", typed([2], FLOAT16, packed(5, [0, 0x3c00])), type=FLOAT16)
    yield say("either", "int32_data of a half beyond 16 bits", typed([1], FLOAT16, packed(5, [1 << 20])), type=FLOAT16)
    yield say("either", "int32_data of an int8 beyond 8 bits", typed([1], INT8, packed(5, [300])), type=INT8)
    yield say("refuse", "float_data and raw_data", typed([2], FLOAT, field(4, bits), field(9, bits)))
    yield say("refuse", "float_data and int64_data", typed([2], FLOAT, field(4, bits), packed(7, [1, 2])))
    yield say("refuse", "raw_data twice, unlike", typed([2], FLOAT, field(9, bits), field(9, bits + bits)))
    yield say("refuse", "int64_data of a float", typed([2], FLOAT, packed(7, [1, 2])))
    yield say("refuse", "float_data of an int64", typed([2], INT64, field(4, bits)), type=INT64)
    yield say("refuse", "float_data too short", typed([3], FLOAT, field(4, bits)))
    yield say("refuse", "float_data too long", typed([1], FLOAT, field(4, bits)))
    yield say("refuse", "float_data of 7 bytes", typed([2], FLOAT, field(4, bits[:7])))
    yield say("refuse", "no data", typed([2], FLOAT))
    yield say("accept", "no data for no elements", typed([0, 3], FLOAT))
    yield say("refuse", "empty raw data for one element", typed([], FLOAT, field(9, b"")))
    yield say("refuse", "the name twice", tensor("w", [1], [1.0]), tensor("w", [1], [2.0]))
    yield say("refuse", "no name", tensor("w", [1], [1.0]), tensor("", [1], [2.0]))
    yield say("refuse", "segment", tensor("w", [1], [1.0], extra=field(3, fields((1, 0), (2, 1)))))
    for dims in [-1], [-2, -3], [LEAST], [2, -1], [MOST], [1 << 32, 1 << 32], [1 << 62, 4], [1 << 61, 8], [(1 << 63) // 3 + 1, 3], [1] * 9, [1] * 100000, [6, 0]:
        yield say("refuse", f"dims {str(dims)[:30]} of {len(dims)}", tensor("w", dims, [1.0] * 6))
    yield say("either", "dims that wrap beside 0", tensor("w", [MOST, MOST, 0], []))
    yield say("refuse", "strings", packed(1, [1]) + fields((2, STRING), (6, "text"), (8, "w")), type=STRING)
    for type in [0, 14, 15, *range(17, 24), 26, 27, 99, -1, (1 << 31) - 1]:
        yield say("refuse", f"type {type}", tensor("w", [1], type=type, data=bytes(16)), type=type)
    yield say("either", "bool that is 7", tensor("w", [2], type=BOOL, data=b"\7\1"), type=BOOL)
    yield say("accept", "NaN and infinities", tensor("w", [3], [float("nan"), float("inf"), -0.0]))


def functions():
    def function(name, nodes, inputs=("a",), outputs=("b",)):
        return field(25, fields((1, name)) + b"".join(field(4, i) for i in inputs) + b"".join(field(5, o) for o in outputs)
                     + b"".join(field(7, n) for n in nodes) + field(9, fields((1, ""), (2, 20))) + field(9, fields((1, "own"), (2, 1))) + field(10, "own"))

    def say(name, first, list, expected="refuse"):
        return "function", name, expected, model(graph([node(first, ["x"], ["y"], domain="own")], [value("x", [2])], [value("y")]),
                                                 extra=field(8, fields((1, "own"), (2, 1))) + b"".join(list))

    def call(name, to="b", source="a"):
        return node(name, [source], [to], domain="own")

    yield say("calls itself", "f", [function("f", [call("f")])])
    yield say("call one another", "f", [function("f", [call("g")]), function("g", [call("f")])])
    yield say("a chain of 3000", "f0", [function(f"f{k}", [call(f"f{k + 1}")]) for k in range(2999)] + [function("f2999", [relu("b", "a")])])
    yield say("2^28 nodes when in-lined", "f0", [function(f"f{k}", [call(f"f{k + 1}", "c"), call(f"f{k + 1}", "b", "c")]) for k in range(28)]
              + [function("f28", [relu("b", "a")])])
    yield say("one, in use", "f", [function("f", [relu("b", "a")])], "either")
    yield say("missing", "f", [])
    yield say("twice", "f", [function("f", [relu("b", "a")])] * 2)
    yield "function", "one that nobody calls", "either", small() + function("f", [relu("b", "a")])


def chains():
    """Long lines of one operator in small files: nearly all are right."""
    def say(name, file, expected="accept", kind="chain"):
        return kind, name, expected, file

    def deep(name, file):
        return say(name, file, kind="deep")

    for count in 5000, 60000:
        for op, dims, given, values in (("Identity", [2], [], {}), ("Relu", [2], [], {}), ("Neg", [2], [], {}), ("Transpose", [2, 3], [], {}), ("Reshape", [6], [ints(6)], {}),
                                        ("Flatten", [2, 3], [], {}), ("Squeeze", [2], [ints()], {}), ("Expand", [2], [ints(2)], {}), ("Slice", [2], [ints(0), ints(2)], {}),
                                        ("Slice", [3], [ints(-1), ints(LEAST), ints(0), ints(-1)], {}), ("Add", [2], [number(1.0)], {}), ("Mul", [2], [floats(1.0, 1.0)], {}),
                                        ("Tile", [2], [ints(1)], {}), ("Cast", [2], [], {"to": 1}), ("Clip", [2], [number(0.0)], {}), ("Split", [2], [ints(2)], {}),
                                        ("Gather", [2], [ints(1, 0)], {}), ("Softmax", [2], [], {}), ("ReduceSum", [1], [ints(0)], {}), ("Pad", [2], [ints(0, 0)], {}), ("Concat", [2], [], {"axis": 0}),
                                        ("Dropout", [2], [], {}), ("CumSum", [2], [number(0, INT64)], {})):
            if count == 60000 and op in ("Gather", "Softmax", "ReduceSum", "Pad", "Concat", "CumSum"):
                continue  # each is a kernel of its own
            yield (say if count == 5000 else deep)(f"{op} {count} of {len(dims)} axes, {len(given)} operands", chain(op, count, dims, *given, **values))
    pairs = ["x"] + [f"{k:x}" for k in range(30000)]
    squeezing = []
    for a, b in zip(pairs, pairs[1:]):
        squeezing += [node("Unsqueeze", [a, "axis"], [b + "u"]), node("Squeeze", [b + "u", "axis"], [b])]
    yield deep("Unsqueeze and Squeeze 30000", model(graph(squeezing, [value("x", [2])], [value(pairs[-1])], [tensor("axis", [1], [0], INT64)])))
    yield say("Add to itself 20", model(graph([node("Add", [f"a{k}", f"a{k}"], [f"a{k + 1}"]) for k in range(20)], [value("a0", [2])], [value("a20")])))
    yield say("Add to itself 5000", model(graph([node("Add", [f"a{k}", f"a{k}"], [f"a{k + 1}"]) for k in range(5000)], [value("a0", [2])], [value("a5000")])))
    yield say("Concat to itself 60", model(graph([node("Concat", [f"a{k}", f"a{k}"], [f"a{k + 1}"], axis=0) for k in range(60)], [value("a0", [2])], [value("a60")])), "refuse")
    yield deep("Concat of 10000", model(graph([node("Concat", ["x"] * 10000, ["y"], axis=0)], [value("x", [1])], [value("y")])))
    yield say("Sum of 10000", model(graph([node("Sum", ["x"] * 10000, ["y"])], [value("x", [1])], [value("y")])))
    yield deep("20000 outputs", model(graph([relu(f"{k:x}") for k in range(20000)], [value("x", [1])], [value(f"{k:x}") for k in range(20000)])))
    yield deep("20000 inputs", model(graph([relu("y", "i0")], [value(f"i{k}", [1]) for k in range(20000)], [value("y")])))
    yield deep("20000 initializers", model(graph([relu()], [value("x", [1])], [value("y")], [tensor(f"w{k}", [1], [1.0]) for k in range(20000)])))
    constants = [node("Constant", [], ["c0"], value_ints=[1])] + [node("Add", [f"c{k}", f"c{k}"], [f"c{k + 1}"]) for k in range(20000)]
    yield deep("20000 folded", model(graph(constants, [], [value("c20000", None, INT64)])))


def bombs():
    """Small files that ask for much memory or time."""
    def say(name, nodes, initializers=(), inputs=(value("x", [1]),), type=FLOAT, expected="refuse"):
        return "bomb", name, expected, model(graph(nodes, inputs, [value("y", None, type)], initializers))

    huge = tensor("s", [2], [1 << 21, 1 << 21], INT64)
    yield say("sum of 2^42 repeats", [node("Expand", ["x", "s"], ["e"]), node("ReduceSum", ["e"], ["y"], keepdims=0)], [huge], expected="either")
    yield say("sum of 2^42 repeats of a constant", [node("Expand", ["w", "s"], ["e"]), node("ReduceSum", ["e"], ["y"], keepdims=0)], [huge, tensor("w", [1], [1.0])], expected="either")
    for op in "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ArgMax", "Softmax", "TopK", "CumSum":
        more = {"TopK": ["k"], "CumSum": ["a"]}.get(op, [])
        yield say(f"{op} of 2^42 repeats", [node("Expand", ["x", "s"], ["e"]), node(op, ["e", *more], ["y"])], [huge, tensor("k", [1], [1], INT64), tensor("a", [], [0], INT64)],
                  type=INT64 if op == "ArgMax" else FLOAT, expected="either" if op.startswith("Reduce") else "refuse")
    yield say("product of 2^21 repeats", [node("Expand", ["x", "s"], ["e"]), node("MatMul", ["e", "e"], ["y"])], [huge])
    yield say("product of 2^18 repeats, one element kept", [node("Expand", ["x", "s"], ["e"]), node("MatMul", ["e", "e"], ["p"]), node("ReduceMax", ["p"], ["y"], keepdims=0)],
              [tensor("s", [2], [1 << 18, 1 << 18], INT64)])
    yield say("2^40 elements asked for", [node("Expand", ["x", "s"], ["y"])], [tensor("s", [1], [1 << 40], INT64)])
    yield say("2^40 elements added", [node("Expand", ["x", "s"], ["e"]), node("Add", ["e", "x"], ["y"])], [tensor("s", [1], [1 << 40], INT64)])
    yield say("2^31 elements added", [node("Expand", ["x", "s"], ["e"]), node("Add", ["e", "x"], ["y"])], [tensor("s", [1], [1 << 31], INT64)])
    yield say("constants of 2^31 elements", [node("ConstantOfShape", ["s"], ["e"]), node("Add", ["e", "e"], ["y"])], [tensor("s", [1], [1 << 31], INT64)])
    doubling = [node("Tile", [f"a{k}", "t"], [f"a{k + 1}"]) for k in range(40)]
    yield say("40 tiles by 2", [*doubling, node("Identity", ["a40"], ["y"])], [tensor("t", [1], [2], INT64)], [value("a0", [1])])
    yield say("60 tiles by 2 and a slice", [node("Tile", [f"a{k}", "t"], [f"a{k + 1}"]) for k in range(60)] + [node("Slice", ["a60", "z", "t"], ["y"])],
              [tensor("t", [1], [2], INT64), tensor("z", [1], [0], INT64)], [value("a0", [1])], expected="either")
    yield say("conv of a window of 2^30", [node("Expand", ["x", "s"], ["e"]), node("Expand", ["x", "t"], ["w"]), node("Conv", ["e", "w"], ["y"])],
              [tensor("s", [4], [1, 1, 32767, 32767], INT64), tensor("t", [4], [1, 1, 32767, 32767], INT64)])
    yield say("pool of a window of 2^30", [node("Expand", ["x", "s"], ["e"]), node("MaxPool", ["e"], ["y"], kernel_shape=[32767, 32767])],
              [tensor("s", [4], [1, 1, 32768, 32768], INT64)])
    yield say("einsum of 2^48 products", [node("Expand", ["x", "s"], ["e"]), node("Einsum", ["e", "e"], ["y"], equation="ij,kl->ik")], [tensor("s", [2], [1 << 12, 1 << 12], INT64)], expected="either")
    yield say("gather of 2^32", [node("Expand", ["i", "s"], ["e"]), node("Gather", ["x", "e"], ["y"])], [tensor("i", [1], [0], INT64), tensor("s", [1], [1 << 32], INT64)])
    yield say("pads of 2^34", [node("Pad", ["x", "p"], ["y"])], [tensor("p", [2], [0, 1 << 34], INT64)])
    yield say("200 folded tensors of 2^16", [node("ConstantOfShape", ["s"], [f"c{k}"]) for k in range(200)] + [node("Sum", [f"c{k}" for k in range(200)], ["y"])],
              [tensor("s", [1], [1 << 16], INT64)], expected="accept")
    yield say("20000 folded tensors of 2^16", [node("ConstantOfShape", ["s"], [f"c{k}"]) for k in range(20000)] + [node("Sum", [f"c{k}" for k in range(20000)], ["y"])],
              [tensor("s", [1], [1 << 16], INT64)], expected="either")
    yield say("20000 folded sums of 2^16", [node("ConstantOfShape", ["s"], ["c0"])] + [node("Add", [f"c{k}", "o"], [f"c{k + 1}"]) for k in range(20000)] + [node("Identity", ["c20000"], ["y"])],
              [tensor("s", [1], [1 << 16], INT64), tensor("o", [1], [1.0])], expected="either")
    yield say("a fold of a slice of 2^60", [node("Expand", ["w", "s"], ["e"]), node("Slice", ["e", "z", "t"], ["y"])],
              [tensor("w", [1], [1.0]), tensor("s", [1], [1 << 60], INT64), tensor("z", [1], [0], INT64), tensor("t", [1], [2], INT64)], expected="either")
    yield say("indices of 2^60", [node("Range", ["z", "m", "o"], ["y"])], [tensor("z", [], [0], INT64), tensor("m", [], [1 << 60], INT64), tensor("o", [], [1], INT64)], type=INT64)
    yield say("65536 reduced elements folded into 1, 300 times", [node("ConstantOfShape", ["s"], ["c"])] + [node("ReduceSum", ["c"], [f"r{k}"]) for k in range(300)]
              + [node("Sum", [f"r{k}" for k in range(300)], ["y"])], [tensor("s", [2], [256, 256], INT64)], expected="accept")


def cases():
    for part in wire, header, names, attributes, tensors, functions, chains, bombs:
        yield from part()
