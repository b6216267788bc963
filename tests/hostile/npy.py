# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""The .npy files: (class, name, expected, bytes)."""
import struct


def npy(header="{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data=bytes(24), version=1, length=None, pad=True):
    text = header.encode() if isinstance(header, str) else header
    before = 10 if version == 1 else 12
    if pad:
        text += b" " * (-(before + len(text) + 1) % 64) + b"\n"
    length = len(text) if length is None else length
    size = struct.pack("<H" if version == 1 else "<I", length & (0xffff if version == 1 else 0xffffffff))
    return b"\x93NUMPY" + bytes([version & 255, 0]) + size + text + data


def described(descr="<f4", order="False", shape="(2, 3)"):
    return f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"


def cases():
    def accept(name, file):
        return "npy", name, "accept", file

    def refuse(name, file):
        return "npy", name, "refuse", file

    def either(name, file):
        return "npy", name, "either", file

    whole = npy()
    for version in 1, 2, 3:
        yield accept(f"version {version}", npy(version=version))
    for version in 0, 4, 255:
        yield refuse(f"version {version}", npy(version=version))
    for code, size in {"<f8": 8, "<f2": 2, "<V2": 2, "|i1": 1, "<i2": 2, "<i4": 4, "<i8": 8, "|u1": 1, "<u2": 2, "<u4": 4, "<u8": 8,
                       "|b1": 1}.items():
        yield accept(f"type {code[1:]}", npy(described(code), bytes(6 * size)))
        yield refuse(f"type {code[1:]} cut by a byte", npy(described(code), bytes(6 * size - 1)))
        yield refuse(f"type {code[1:]} with a byte more", npy(described(code), bytes(6 * size + 1)))
    for code in ">f4", "=f4", "<c8", "<c16", "|O", "|S4", "<U4", "<M8", "<V3", "<f16", "<f", "f4", "", "<f4' 'x", "\0f4":
        yield refuse(f"type {code!r}".replace("\\", "").replace("/", ""), npy(described(code)))
    yield refuse("structured type", npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }"))
    yield accept("scalar", npy(described(shape="()"), bytes(4)))
    yield accept("one axis", npy(described(shape="(6,)")))
    yield accept("empty", npy(described(shape="(0, 3)"), b""))
    yield accept("eight axes", npy(described(shape="(1, 1, 1, 1, 1, 1, 2, 3)")))
    yield refuse("nine axes", npy(described(shape="(1, 1, 1, 1, 1, 1, 1, 2, 3)")))
    yield accept("column-major", npy(described(order="True")))
    yield accept("column-major, empty", npy(described(order="True", shape="(4, 0, 3)"), b""))
    yield accept("column-major, eight axes", npy(described(order="True", shape="(1, 3, 1, 1, 1, 1, 2, 1)")))
    yield accept("bools of any byte", npy(described("|b1"), b"\0\1\2\x80\xff\3"))
    for order in "true", "Truer", "0", "'False'", "", "None", "Falsehood":
        yield refuse(f"order {order}", npy(described(order=order)))
    for shape in ("(3, 3)", "(2, 2)", "(-2, -3)", "(2, -3)", "(-1,)", "(6.0,)", "(0x6,)", "(1e1,)", "(2 3)", "(2; 3)", "2, 3", "[2, 3]",
                  "(2, 3", "", "(2,, 3)", "(,)", "(None,)", "(9223372036854775808,)", "(18446744073709551622,)",
                  "(4294967296, 4294967296)", "(4611686018427387904, 4)", "(2, 9223372036854775807, 3)",
                  "(3074457345618258603, 2, 4)", "(9223372036854775807,)", "(4611686018427387905, 2, 3)", "(2, 3, 4)",
                  "(6" + "," * 100 + ")", "(" * 1000, "(2, (3))", "(2, 3" + "9" * 5000 + ")"):
        yield refuse(f"shape {shape[:24]} of {len(shape)}", npy(described(shape=shape)))
    for shape in "(9223372036854775807, 0, 9223372036854775807)", "(4294967296, 4294967296, 0)":
        yield either(f"empty shape {shape}", npy(described(shape=shape), b""))
    yield either("shape long", npy(described(shape="(2L, 3L)")))
    for key in "descr", "fortran_order", "shape":
        yield refuse(f"without {key}", npy(described().replace(key, "other")))
        yield refuse(f"{key} without a value", npy(f"{{'{key}'"))
        yield either(f"{key} twice", npy(described()[:-1] + f"'{key}': 0}}"))
    for length in 0, 1, 64, 200, 65535:
        yield refuse(f"header length {length}", npy(length=length))
    for length in 1 << 16, 1 << 31, (1 << 32) - 1, (1 << 32) - 12:
        yield refuse(f"header length {length} of version 2", npy(version=2, length=length))
    yield accept("header not padded", npy(pad=False))
    yield either("header of 60000 blanks", npy(described() + " " * 60000))
    yield refuse("header of NUL", npy(bytes(100)))
    yield refuse("header of 0xff", npy(b"\xff" * 100))
    yield refuse("nothing", b"")
    yield refuse("magic only", b"\x93NUMPY")
    yield refuse("other magic", b"\x94NUMPY" + whole[6:])
    yield refuse("a zip archive", b"PK\3\4" + whole)
    for size in range(len(whole)):
        yield "npy cut", f"{size}", "refuse", whole[:size]
    for at in range(len(whole) - 24):
        yield "npy flip", f"{at}", "either", whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1:]
