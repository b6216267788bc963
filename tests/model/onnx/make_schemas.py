#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""Writes include/pumice/model/onnx/detail/schemas.hpp from the onnx package: for each operator that Pumice has, what each
operator set gives it. With --check: compares instead. The operators are read from expr/ops.hpp and model/onnx/ops.hpp."""
import pathlib
import re
import sys

import onnx
from onnx import defs

TOP = pathlib.Path(__file__).resolve().parents[3] / "include/pumice"
FILE = TOP / "model/onnx/detail/schemas.hpp"
LETTER = {"FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "FLOATS": "F", "INTS": "I",
          "STRINGS": "S", "TENSORS": "T", "GRAPHS": "G", "SPARSE_TENSOR": "p"}


def operators():
    ops = (TOP / "expr/ops.hpp").read_text()
    rows = (TOP / "model/onnx/ops.hpp").read_text()
    names = set(re.findall(r'"([A-Z][A-Za-z0-9]+)(?: [a-z_]+=[^"]*)?"', ops))
    names |= set(re.findall(r'op_row\{"([A-Za-z0-9]+)"', rows))
    return sorted(names)


def signature(s):
    if s.deprecated:
        return 'op_schema::withdrawn, 0, 0, ""'
    attributes = " ".join(f"{n}:{LETTER[a.type.name]}{'!' if a.required else ''}"
                          for n, a in sorted(s.attributes.items()))
    most = [min(n, 1 << 20) for n in (s.max_input, s.max_output)]
    return f'{s.min_input}, {most[0]}, {most[1]}, "{attributes}"'


def text():
    history = {}
    for s in defs.get_all_schemas_with_history():
        if s.domain == "":
            history.setdefault(s.name, []).append(s)
    rows = []
    for name in operators():
        last = None
        for s in sorted(history.get(name, []), key=lambda s: s.since_version):
            if signature(s) != last:
                last = signature(s)
                rows.append(f'    op_schema{{"{name}", {s.since_version}, {last}}},')
    return f"""// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What each operator set gives each operator: inputs, outputs, attributes. Written by
// tests/model/onnx/make_schemas.py.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace pumice {{ inline namespace PUMICE_ABI {{ namespace onnx {{

/// The newest operator set and IR version that are known here.
inline constexpr std::int64_t newest_opset = {defs.onnx_opset_version()}, newest_ir = {onnx.IR_VERSION};

/// An operator from operator set `since` on. An attribute is its name and a letter for its type, as
/// in `axes:I`; those that must be there end in '!'.
struct op_schema {{
    static constexpr int withdrawn = -1;  // as least: ONNX took it out of this operator set

    std::string_view name;
    int since, least, most, outputs;
    std::string_view attributes;
}};

// clang-format off
inline constexpr std::array op_schemas{{
{chr(10).join(rows)}
}};
// clang-format on

/// The operator as operator set `opset` has it, or null where that is older; the oldest where it is
/// 0.
constexpr const op_schema* schema_of(std::string_view name, std::int64_t opset) noexcept {{
    const auto first =
        std::lower_bound(op_schemas.begin(), op_schemas.end(), name,
                         [](const op_schema& s, std::string_view n) {{ return s.name < n; }});
    const op_schema* found = nullptr;
    for (auto at = first; at != op_schemas.end() && at->name == name; ++at)
        if (at->since <= opset || (opset == 0 && at == first)) found = &*at;
    return found;
}}

}}}}}}  // namespace pumice::PUMICE_ABI::onnx
"""


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if FILE.read_text() == text() else f"{FILE} is not what {__file__} writes")
    FILE.write_text(text())
