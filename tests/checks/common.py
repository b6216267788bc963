# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""What the checks share: the tree, the compilers, a tally whose last line tests/run.sh adds up."""
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
LAYERS = {"base": 0, "core": 1, "expr": 2, "graph": 3, "policy": 4, "tensor": 5, "kernels": 6, "vk": 7, "slang": 7,
          "host": 7, "exec": 8, "model": 9, "package": 9, "exchange": 9,
          "runner": 10}
LIGHT = 5          # the last layer of the front
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]


def skips():
    """The names of tests/skips.txt that may be skipped in the run PUMICE_TEST_RUN, as tests/main.cpp reads them."""
    run = os.environ.get("PUMICE_TEST_RUN")
    rows = [line.split() for line in (ROOT / "tests/skips.txt").read_text().splitlines()]
    rows = [row for row in rows if len(row) > 1 and not row[0].startswith("#")]
    return {row[0] for row in rows if not run or row[1] == "any" or run in row[1].split(",")}


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, what, fault):
        """Counts one test case; `fault` says what is wrong with it, and is empty where nothing is."""
        if fault:
            print(f"FAILED: {what}: {fault}", flush=True)
            self.failed += 1
        else:
            self.passed += 1

    def skip(self, name, reason):
        if name in skips():
            print(f"skipped {name}: {reason}", flush=True)
            self.skipped += 1
        else:
            self.check(f"skip of {name} ({reason})", "not listed in tests/skips.txt")

    def end(self):
        if self.passed + self.failed + self.skipped == 0:
            self.check(Path(sys.argv[0]).name, "found nothing to check")
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        sys.exit(1 if self.failed else 0)


def headers():
    """Every public header with its folder of the layer table, or None for those at the top."""
    found = sorted(INCLUDE.rglob("*.hpp"))
    return [(path, path.relative_to(INCLUDE / "pumice").parts[0] if len(path.relative_to(INCLUDE).parts) > 2 else None)
            for path in found]


def layer(path):
    """The layer of a header given as it is included, such as pumice/vk/queue.hpp; what stands on all of them is 10."""
    parts = Path(path).parts
    if len(parts) > 2:
        return LAYERS[parts[1]]
    return {"pumice/version.hpp": -1, "pumice/shaders.hpp": 1, "pumice/front.hpp": LIGHT}.get(str(path), 10)


def compilers():
    """g++ and the newest clang++ that can compile the C++20 of its library; CXX_GCC and CXX_CLANG name others."""
    found = {"g++": os.environ.get("CXX_GCC") or shutil.which("g++")}
    names = [f"clang++-{version}" for version in range(30, 15, -1)] + ["clang++"]
    found["clang++"] = os.environ.get("CXX_CLANG") or next(filter(None, map(shutil.which, names)), None)
    return {name: path for name, path in found.items() if path}


def include_flags():
    """The flags with which a file that includes Pumice compiles, without CMake."""
    generated = ROOT / "build/checks/include"
    subprocess.run(["cmake", f"-DFROM={ROOT}/shaders", f"-DTO={generated}/pumice/shaders.hpp", "-P",
                    ROOT / "cmake/embed.cmake"], check=True)
    flags = ["-std=c++20", f"-I{INCLUDE}", f"-I{generated}"]
    for folder in ("usr/include", "usr/include/eigen3", "usr/include/stb", "slang/include", "ml_sdk/include"):
        if (ROOT / ".deps" / folder).is_dir():
            flags += ["-isystem", str(ROOT / ".deps" / folder)]
    return flags


def run(command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **options)


def precompile(header, compiler, flags, folder):
    """Parses a header once for what includes it first: the option with which a compiler, "g++" or "clang++", finds it so.
    None where it does not compile, which whoever includes it then says."""
    path = Path(folder) / f"{header.replace('/', '_')}.{compiler}"
    path.write_text(f"#include <{header}>\n")
    if run([compilers()[compiler], *flags, "-x", "c++-header", path, "-o", f"{path}.gch"]).returncode:
        return []
    return ["-include", path, "-Winvalid-pch"] if compiler == "g++" else ["-include-pch", f"{path}.gch"]


def each(function, items):
    """Calls `function` for all items, as many at once as there are processors; the results in order."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, items))
