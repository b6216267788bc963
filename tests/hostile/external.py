# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""Models whose data lies in other files, and those files: (class, name, expected, bytes)."""
import os

from wire import *  # noqa: F403


def lay_out(folder):
    """The files that the models name: 24 bytes of floats, and what is no plain file."""
    data = raw(FLOAT, [1.0] * 6)
    for name in "data.bin", "a/data.bin", "../outside.bin":
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / "empty.bin").write_bytes(b"")
    (folder / "linked.bin").write_bytes(data)
    for name, make in {"hard.bin": lambda p: os.link(folder / "linked.bin", p), "symbolic.bin": lambda p: p.symlink_to("data.bin"),
                       "outside": lambda p: p.symlink_to(".."), "inside": lambda p: p.symlink_to("a"), "zero": lambda p: p.symlink_to("/dev/zero"),
                       "loop": lambda p: p.symlink_to("loop"), "fifo": os.mkfifo, "folder": os.mkdir}.items():
        if not os.path.lexists(folder / name):
            make(folder / name)


def cases():
    def say(expected, name, *entries, dims=(2, 3), type=FLOAT, extra=b"", location=1):
        message = b"".join(field(13, fields((1, key), (2, value))) for key, value in entries)
        held = packed(1, dims) + fields((2, type), (8, "w")) + message + field(14, location) + extra
        return "external", name, expected, model(graph([node("Identity", ["w"], ["y"])], [], [value("y", None, type)], [held]))

    def at(name):
        return "location", name

    yield say("accept", "as it should be", at("data.bin"))
    yield say("accept", "offset and length", at("data.bin"), ("offset", "8"), ("length", "16"), dims=[4])
    yield say("accept", "in a folder", at("a/data.bin"))
    yield say("either", "by way of .", at("./data.bin"))
    yield say("either", "checksum", at("data.bin"), ("checksum", "0" * 40))
    yield say("accept", "nothing of an empty file", at("empty.bin"), dims=[0])
    for name in ("../outside.bin", "a/../data.bin", "a/../../outside.bin", "/etc/passwd", "/dev/zero", "/dev/stdin", "/proc/self/mem", "../../../../../../../../dev/zero", "zero",
                 "symbolic.bin", "outside/outside.bin", "inside/data.bin", "hard.bin", "fifo", "folder", "folder/", "a", ".", "..", "", "/", "//data.bin", "data.bin/",
                 "data.bin/x", "missing.bin", "loop", "loop/x", "data.bin\0", "\0", "a\\..\\data.bin", "C:\\data.bin", "file:///etc/passwd", "n" * 300, "n/" * 3000,
                 "n" * (1 << 20), "~/data.bin", "$HOME", "empty.bin", " data.bin", b"\xff\xfe.bin"):
        yield say("refuse", f"location {name[:30]!r} of {len(name)}".replace("\\", ""), at(name))
    for key, texts in {"offset": ("-1", "1", "24", "25", "9223372036854775807", "9223372036854775808", "18446744073709551600", "0x0", " 0", "0 ", "1e1", "0.0", "+0", "\0", "9" * 100000),
                       "length": ("-1", "0", "23", "25", "9223372036854775807", "18446744073709551640", "24.0", "24x", "0x18", " 24")}.items():
        for text in texts:
            yield say("refuse", f"{key} {text[:24]!r} of {len(text)}".replace("\\", ""), at("data.bin"), (key, text))
    yield say("refuse", "offset and length that wrap", at("data.bin"), ("offset", "9223372036854775800"), ("length", "24"))
    yield say("refuse", "no location", ("offset", "0"))
    yield say("refuse", "nothing told")
    yield say("refuse", "location twice", at("data.bin"), at("../outside.bin"))
    yield say("refuse", "location twice, alike", at("data.bin"), at("data.bin"))
    yield say("refuse", "offset twice", at("data.bin"), ("offset", "0"), ("offset", "4"))
    yield say("either", "unknown keys", at("data.bin"), ("basepath", "/"), ("__class__", "x"), ("", ""))
    yield say("either", "100000 keys", at("data.bin"), *[("k", "")] * 100000)
    yield say("refuse", "raw data too", at("data.bin"), extra=field(9, bytes(24)))
    yield say("refuse", "float_data too", at("data.bin"), extra=field(4, bytes(24)))
    yield say("refuse", "keys of data that lies here", at("data.bin"), location=0)
    yield say("refuse", "location 2", at("data.bin"), location=2)
    yield say("refuse", "shape larger than the file", at("data.bin"), dims=[1 << 40])
    yield say("refuse", "shape that wraps", at("data.bin"), dims=[1 << 62, 8, 3])
    yield say("refuse", "strings", at("data.bin"), type=STRING)
    outside = packed(1, [6]) + fields((2, FLOAT)) + field(13, fields((1, "location"), (2, "../outside.bin"))) + field(14, 1)
    yield "external", "a constant outside", "refuse", single("Constant", attributes=[attribute("value", outside)])
    inside = packed(1, [6]) + fields((2, FLOAT)) + field(13, fields((1, "location"), (2, "data.bin"))) + field(14, 1)
    yield "external", "a constant inside", "accept", single("Constant", attributes=[attribute("value", inside)])
