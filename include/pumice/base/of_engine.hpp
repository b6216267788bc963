// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Function templates that the front declares and the engine defines: each file compiles those that
// it uses.
#pragma once

#include <pumice/base/error.hpp>

// A program of front headers alone links without them, where the linker knows weak names.
#if defined(__ELF__)
#define PUMICE_OF_ENGINE [[gnu::weak]]
#else
#define PUMICE_OF_ENGINE
#endif

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

[[noreturn]] inline void throw_not_compiled() {
    throw error(errc::no_engine, "eval",
                "no file of this program has compiled what this needs of the engine",
                {"include <pumice/engine.hpp> in one source file: it compiles all of the engine, "
                 "and <pumice.hpp> what its own file uses"});
}

/// The function, where a file of the program defines it; else throws errc::no_engine.
template <class F>
F* of_engine(F* f) {
    F* volatile const seen = f;  // a compiler takes for granted that a function has an address
    if (!seen) throw_not_compiled();
    return seen;
}

}}}  // namespace pumice::PUMICE_ABI::detail
