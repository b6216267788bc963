// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// libFuzzer's target for .npz archives: any bytes are entries of as many bytes as they say, or are
// refused by a pumice::error.
#include <pumice/exchange/detail/zip_reader.hpp>

#include <cstdlib>

#include <sys/mman.h>

namespace pm = pumice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const int file = ::memfd_create("npz", 0);
    if (file < 0 || ::ftruncate(file, 0) != 0 ||
        ::pwrite(file, data, size, 0) != static_cast<::ssize_t>(size))
        std::abort();
    try {
        const pm::detail::zip_reader archive(pm::input_file::open("/proc/self/fd/" +
                                                                  std::to_string(file)),
                                             64);
        for (std::size_t i = 0; i < archive.entries().size(); ++i) {
            const pm::detail::zip_entry& e = archive.entries()[i];
            if (e.size <= 1 << 20 && archive.read(i).size() != e.size) std::abort();
        }
    } catch (const pm::error&) {
    }
    return 0;
}
