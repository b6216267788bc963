# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""ONNX files written field by field, so that any may be wrong. Fields have the numbers of onnx.proto."""
import struct

FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64 = range(1, 14)
CODES = {FLOAT: "f", UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", INT32: "i", INT64: "q", BOOL: "?", FLOAT16: "e",
         DOUBLE: "d", UINT32: "I", UINT64: "Q"}


def varint(n):
    if 0 <= n < 128:
        return bytes((n,))
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def text(value):
    return value.encode() if isinstance(value, str) else value


def field(number, value):
    """A field by the type of its value: integers are varints, floats 32 bits, text and messages have a length before them."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(text(value))) + text(value)


def fields(*pairs):
    """A message of (number, value); values that are None are left out."""
    return b"".join(field(number, value) for number, value in pairs if value is not None)


def packed(number, values):
    return field(number, b"".join(map(varint, values)))


def raw(type, values):
    return struct.pack(f"<{len(values)}{CODES[type]}", *values)


def tensor(name, dims, values=None, type=FLOAT, data=None, extra=b""):
    """A TensorProto of raw data: `values` of its type, or the bytes `data`."""
    data = raw(type, values) if values is not None else data
    return packed(1, dims) + fields((2, type), (8, name)) + (field(9, data) if data is not None else b"") + extra


def attribute(name, value, type=None):
    """An AttributeProto; bytes are a TensorProto, a list is of integers or floats."""
    if isinstance(value, int):
        return fields((1, name), (3, value), (20, type or 2))
    if isinstance(value, float):
        return fields((1, name), (2, value), (20, type or 1))
    if isinstance(value, str):
        return fields((1, name), (4, value), (20, type or 3))
    if isinstance(value, bytes):
        return fields((1, name), (5, value), (20, type or 4))
    if value and isinstance(value[0], float):
        return fields((1, name)) + b"".join(field(7, v) for v in value) + field(20, type or 6)
    return fields((1, name)) + packed(8, value) + field(20, type or 7)


def node(op, inputs, outputs, name=None, domain=None, attributes=(), **values):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs)
            + fields((3, name), (4, op)) + b"".join(field(5, a) for a in attributes)
            + b"".join(field(5, attribute(k, v)) for k, v in values.items()) + fields((7, domain)))


def shape(dims):
    """A TensorShapeProto; text is a symbol."""
    return b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)


def value(name, dims=None, type=FLOAT):
    """A ValueInfoProto of a tensor, with no shape where dims is None."""
    return fields((1, name), (2, field(1, fields((1, type), (2, None if dims is None else shape(dims))))))


def graph(nodes, inputs=(), outputs=(), initializers=(), extra=b""):
    return (b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, t) for t in initializers)
            + b"".join(field(11, v) for v in inputs) + b"".join(field(12, v) for v in outputs) + extra)


def model(graph, opset=20, ir=9, extra=b""):
    imports = b"" if opset is None else field(8, fields((1, ""), (2, opset)))
    return fields((1, ir), (7, graph)) + imports + extra


class V:
    """An input of the graph."""
    def __init__(self, *dims, type=FLOAT):
        self.dims, self.type = dims, type


class C:
    """An initializer."""
    def __init__(self, dims, values, type=INT64):
        self.dims, self.values, self.type = dims, values, type


def single(op, *inputs, out=FLOAT, outputs=1, opset=20, ir=9, attributes=(), domain=None, **values):
    """A model of one node; an input that is None is left out."""
    names = ["" if i is None else f"x{k}" for k, i in enumerate(inputs)]
    results = [f"y{k}" for k in range(outputs)]
    return model(graph(
        [node(op, names, results, attributes=attributes, domain=domain, **values)],
        [value(n, i.dims, i.type) for n, i in zip(names, inputs) if isinstance(i, V)],
        [value(r, None, t) for r, t in zip(results, out if isinstance(out, list) else [out] * outputs)],
        [tensor(n, i.dims, i.values, i.type) for n, i in zip(names, inputs) if isinstance(i, C)]), opset, ir)


def chain(op, count, dims, *operands, start=FLOAT, opset=20, **values):
    """A model of `count` nodes in a line; `operands` are the constants that each node reads too."""
    names = [chr(ord("A") + k) for k in range(len(operands))]
    constants = b"".join(field(1, name) for name in names)
    rest = field(4, op) + b"".join(field(5, attribute(k, v)) for k, v in values.items())
    links = [b"x", *(b"%x" % k for k in range(count - 1)), b"y"]
    line = [field(1, a) + constants + field(2, b) + rest for a, b in zip(links, links[1:])]
    return model(graph(line, [value("x", dims, start)], [value("y", None, start)],
                       [tensor(n, c.dims, c.values, c.type) for n, c in zip(names, operands)]), opset)
