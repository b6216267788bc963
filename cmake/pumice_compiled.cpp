// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The one source of pumice::compiled: the engine, and the host code of the library's ops, which a file that includes the
// front alone only names. (A user's own op has its host code from <pumice/expr/host.hpp>.)
#include <pumice/engine.hpp>
#include <pumice/expr/host.hpp>
#include <pumice/front.hpp>

#include <array>

namespace pumice::inline PUMICE_ABI::detail {

template <class... Ops, class... More>
constexpr auto host_blocks(op_list<Ops...>, op_list<More...>) {
    return std::array{&host_block<Ops>..., &host_block<More>...};
}
using library_ops = decltype(host_blocks(all_ops{}, op_list<op::random_bits>{}));
extern const library_ops compiled_host_blocks;
const library_ops compiled_host_blocks = host_blocks(all_ops{}, op_list<op::random_bits>{});

}  // namespace pumice::inline PUMICE_ABI::detail
