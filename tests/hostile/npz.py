# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""The .npz archives: (class, name, expected, bytes). tests/exchange/npz.cpp cuts and changes whole ones anywhere."""
import struct
import zlib

from npy import described, npy

BIG = 0xffffffff


def entry(name="a.npy", data=None, method=0, **lies):
    """One of an archive's; `lies` are fields of its row in the list: flags, method, crc, packed, size, header, extra, named."""
    data = npy() if data is None else data
    packed = data
    if method == 8:
        deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = deflater.compress(data) + deflater.flush()
    return {"name": name.encode() if isinstance(name, str) else name, "bytes": packed, "flags": 0, "method": method,
            "crc": zlib.crc32(data), "packed": len(packed), "size": len(data), "extra": b"", **lies}


def archive(*entries, before=b"", after=b"", comment=b"", **lies):
    """A whole one; `lies` are fields of its end: count, bytes, begin, disk, comment_size."""
    out, rows = before, []
    for e in entries:
        local = struct.pack("<IHHHHHIIIHH", 0x04034b50, 20, e["flags"], e["method"], 0, 33, e["crc"], e["packed"] & BIG, e["size"] & BIG,
                            len(e["name"]), 0) + e.get("named", e["name"])
        rows.append(struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 20, 20, e["flags"], e["method"], 0, 33, e["crc"], e["packed"] & BIG,
                                e["size"] & BIG, len(e["name"]), len(e["extra"]), 0, 0, 0, 0, e.get("header", len(out))) + e["name"] + e["extra"])
        out += local + e["bytes"]
    table = b"".join(rows)
    end = {"count": len(rows), "bytes": len(table), "begin": len(out), "disk": 0, "comment_size": len(comment), **lies}
    return out + table + struct.pack("<IHHHHIIH", 0x06054b50, end["disk"], 0, end["count"] & 0xffff, end["count"] & 0xffff, end["bytes"],
                                     end["begin"], end["comment_size"]) + comment + after


def archive64(*entries, **lies):
    """The same with its end's numbers in a record of 64 bits."""
    whole = archive(*entries)
    _, _, _, count, _, size, begin, _ = struct.unpack("<IHHHHIIH", whole[-22:])
    end = {"count": count, "bytes": size, "begin": begin, "at": len(whole) - 22, **lies}
    record = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, end["count"], end["count"], end["bytes"], end["begin"])
    locator = struct.pack("<IIQI", 0x07064b50, 0, end["at"], 1)
    return whole[:-22] + record + locator + struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xffff, 0xffff, BIG, BIG, 0)


def extra64(*numbers):
    return struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers)


def cases():
    def accept(name, file):
        return "npz", name, "accept", file

    def refuse(name, file):
        return "npz", name, "refuse", file

    for method in 0, 8:
        yield accept(f"one by method {method}", archive(entry(method=method)))
        yield accept(f"three by method {method}", archive(*(entry(f"{c}.npy", method=method) for c in "abc")))
    yield accept("none", archive())
    yield accept("with a comment", archive(entry(), comment=b"PK\5\6 no end"))
    yield accept("of 64 bits", archive64(entry()))
    yield accept("sizes of 64 bits", archive(entry(packed=BIG, size=BIG, extra=extra64(152, 152))))
    yield accept("with something that is no array", archive(entry(), entry("read.me", b"words")))
    for name in "../../etc/x.npy", "/etc/x.npy", "a/b.npy", "\\x.npy", "\u00fc.npy", ".npy", "a" * 60000 + ".npy":
        yield accept(f"name {name[:20]} of {len(name)}", archive(entry(name)))
    yield refuse("name with a zero", archive(entry("a\0b.npy")))
    yield refuse("name twice", archive(entry(), entry()))
    yield refuse("name that differs where it lies", archive(entry(named=b"b.npy")))
    yield refuse("no array in an array's entry", archive(entry(data=b"words")))
    yield refuse("array with a byte more", archive(entry(data=npy() + b"1")))
    yield refuse("array of objects", archive(entry(data=npy(described("|O")))))
    yield refuse("encrypted", archive(entry(flags=1)))
    for method in 1, 9, 12, 14, 93, 99, 65535:
        yield refuse(f"method {method}", archive(entry(method=method)))
    yield refuse("CRC", archive(entry(crc=1)))
    yield refuse("CRC, deflated", archive(entry(method=8, crc=1)))
    for packed in 0, 1, 40, 1 << 31, BIG:
        yield refuse(f"packed {packed}", archive(entry(packed=packed)))
        yield refuse(f"packed {packed}, deflated", archive(entry(method=8, packed=packed)))
    for size in 0, 1, 151, 153, 1 << 20, 1 << 31, BIG:
        yield refuse(f"size {size}", archive(entry(size=size)))
        yield refuse(f"size {size}, deflated", archive(entry(method=8, size=size)))
    for numbers in (1 << 63, 152), (152, 1 << 63), (BIG, BIG), ((1 << 64) - 1, (1 << 64) - 1), (152,), ():
        yield refuse(f"sizes of 64 bits {numbers}", archive(entry(packed=BIG, size=BIG, extra=extra64(*numbers))))
    for at in 1, 30, 1000, BIG - 1, BIG:
        yield refuse(f"header at {at}", archive(entry(header=at)))
    yield refuse("header at 2^64 - 1", archive(entry(header=BIG, extra=extra64((1 << 64) - 1))))
    # Many names for the same bytes, and one entry within another (Fifield, "A better zip bomb").
    yield refuse("entries that overlap", archive(*(entry(f"{i}.npy", header=0, named=b"0.npy") for i in range(8))))
    inner = archive(entry("b.npy"))
    yield refuse("an entry within another", archive(entry(data=inner), entry("b.npy", bytes=b"", header=30 + 5)))
    zeros = 1 << 28
    bomb = npy(described("|u1", shape=f"({zeros},)"), bytes(zeros))
    yield refuse("bomb beyond the limit of bytes", archive(entry(data=bomb, method=8)))
    small = entry("0.npy", npy(described("|u1", shape="(16777216,)"), bytes(1 << 24)), 8)
    yield accept("small bombs below the limit", archive(*({**small, "name": f"{i}.npy".encode()} for i in range(3))))
    yield refuse("small bombs beyond it together", archive(*({**small, "name": f"{i}.npy".encode()} for i in range(5))))
    yield refuse("bomb that claims little", archive(entry(data=bomb, method=8, size=152)))
    yield refuse("too many entries", archive(*(entry(f"{i}.npy") for i in range(65))))
    yield refuse("deflated noise", archive(entry(method=8, bytes=b"\xff" * 100, packed=100)))
    yield refuse("deflated with bytes behind", archive(entry(method=8, bytes=entry(method=8)["bytes"] + b"x" * 9,
                                                             packed=entry(method=8)["packed"] + 9)))
    for count in 0, 2, 64, 65, 65534:
        yield refuse(f"count {count}", archive(entry(), count=count))
    for field in "bytes", "begin":
        for value in 0, 1, 1000, 1 << 31, BIG:
            yield refuse(f"{field} {value} of the list", archive(entry(), **{field: value}))
            yield refuse(f"{field} {value} of the list, of 64 bits", archive64(entry(), **{field: value << 31}))
    for count in 0, 2, 1 << 32, (1 << 64) - 1:
        yield refuse(f"count {count} of 64 bits", archive64(entry(), count=count))
    for at in 0, 1, 1 << 63, (1 << 64) - 1:
        yield refuse(f"record of 64 bits at {at}", archive64(entry(), at=at))
    yield refuse("second of two disks", archive(entry(), disk=1))
    yield refuse("comment that is not there", archive(entry(), comment_size=5))
    yield refuse("bytes behind the end", archive(entry(), after=b"x"))
    yield refuse("bytes before the beginning", b"x" * 7 + archive(entry()))
    yield refuse("an array alone", npy())
    yield refuse("nothing", b"")
    yield refuse("70000 zeros", bytes(70000))
    yield refuse("ends without a list", b"PK\5\6" * 4000)
