// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Loops for the vectors that the processor has, in programs that are compiled for any processor.
#pragma once

#include <pumice/base/config.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__AVX2__)
#define PUMICE_WIDE 1
/// Without fused multiply-add, so the results are those of narrow vectors.
template <class Loop, class... Arguments>
[[gnu::target("avx2")]] auto call_wide(const Loop& loop, Arguments... arguments) {
    return loop(arguments...);
}
#endif

/// loop(arguments...), by 256-bit vectors where the processor has them. Pre: the call is always
/// inlined.
template <class Loop, class... Arguments>
auto run_wide(const Loop& loop, Arguments... arguments) {
#ifdef PUMICE_WIDE
    if (__builtin_cpu_supports("avx2")) return call_wide(loop, arguments...);
#endif
    return loop(arguments...);
}

}}}  // namespace pumice::PUMICE_ABI::detail
