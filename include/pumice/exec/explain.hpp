// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a step became, as text.
#pragma once

#include <pumice/exec/select.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A line of the kernel, its result's shape and its ops; below it, indented, where it runs, for
/// what of the program, what it is expected to take, and which kernels were rejected, and why.
inline std::string to_text(const kernel_record& r, const shape& extent) {
    std::string text =
        cat({r.kernel, " ", to_string(extent), (r.fused.empty() ? "" : ": " + r.fused), "\n"});
    if (!r.place.empty()) append_text(text, {"  on ", r.place, "\n"});
    if (!r.origin.empty()) append_text(text, {"  for ", r.origin, "\n"});
    if (r.seconds > 0) append_text(text, {"  ", expected_text(r.seconds, r.configuration), "\n"});
    for (const std::string& why : r.rejected) append_text(text, {"  not ", why, "\n"});
    return text;
}

/// Each line two columns further in.
inline std::string indented(std::string_view text) {
    std::string r;
    bool begins = true;
    for (const char c : text) {
        if (begins) r += "  ";
        r += c;
        begins = c == '\n';
    }
    return r;
}

/// "1 submit", "3 submits".
inline std::string counted(int n, const char* what, const char* several) {
    return cat({n, " ", what, n == 1 ? "" : several});
}

}}  // namespace pumice::PUMICE_ABI
