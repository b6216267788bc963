# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""A model of one input and one output from Python, by ctypes alone: 13_runner.py LIBRARY MODEL."""
import ctypes
import sys


class Info(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p),
                ("layout", ctypes.c_char_p), ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 8),
                ("bytes", ctypes.c_size_t), ("quantization_count", ctypes.c_size_t),
                ("scale", ctypes.POINTER(ctypes.c_float)), ("zero_point", ctypes.POINTER(ctypes.c_int64))]


pumice = ctypes.CDLL(sys.argv[1])
pumice.pumice_last_error.restype = ctypes.c_char_p
CHOSEN, OK = 2, 0


def call(name, *arguments):
    if getattr(pumice, name)(*arguments) != OK:
        raise RuntimeError(pumice.pumice_last_error().decode())


runner, x, y = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
call("pumice_runner_load", b"best", sys.argv[2].encode(), None, ctypes.byref(runner))
image, scores = Info(ctypes.sizeof(Info)), Info(ctypes.sizeof(Info))
call("pumice_runner_input", runner, ctypes.c_size_t(0), CHOSEN, ctypes.byref(image))
call("pumice_runner_output", runner, ctypes.c_size_t(0), CHOSEN, ctypes.byref(scores))
print(image.name.decode(), image.dtype.decode(), image.shape[:image.rank])

pixels = (ctypes.c_float * (image.bytes // 4))()
digits = (ctypes.c_float * (scores.bytes // 4))()
call("pumice_tensor_wrap", runner, image.name, pixels, ctypes.byref(x))
call("pumice_tensor_wrap", runner, scores.name, digits, ctypes.byref(y))
one = ctypes.c_size_t(1)
call("pumice_runner_execute", runner, ctypes.byref(x), one, ctypes.byref(y), one)
print("ok,", sum(v != 0 for v in digits), "scores")

for tensor in (x, y):
    pumice.pumice_tensor_destroy(tensor)
pumice.pumice_runner_destroy(runner)
