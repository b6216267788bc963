// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Chains of adds on one element, recorded: what a kernel and a barrier cost. Names as in
// bench/peers/torch_ref.py.
#include <bench/support/measure.hpp>

namespace pm = pumice;

namespace {

void chain(const pm::context& home, const char* name, int length) {
    const float one[] = {1};
    const auto add = pm::compile([length](pm::any_tensor x, const pm::any_tensor& z) {
        for (int i = 0; i < length; ++i) x = x + z;
        return x;
    });
    const pm::any_tensor inputs[] = {
        pm::from_bytes(pm::dtype::f32, {1}, std::as_bytes(std::span(one)), home),
        pm::from_bytes(pm::dtype::f32, {1}, std::as_bytes(std::span(one)), home)};
    const pm::executable e = add.get(inputs[0], inputs[1]);
    const std::uint64_t before = home.stats().barriers;
    e.run(inputs);
    const std::uint64_t barriers = home.stats().barriers - before;
    bench::report(name, bench::measure(e, inputs), 0, 0, std::to_string(barriers) + " barriers");
}

}  // namespace

int main() try {
    const pm::context fused, unfused{pm::fusion::none{}};
    std::printf("{\"peer\":\"pumice\",\"mode\":\"info\",\"device\":\"%s\"}\n",
                fused.device().name.c_str());
    chain(fused, "chain_add_n1_f32", 1);
    chain(fused, "chain_add_n64_f32", 64);
    chain(fused, "chain_add_n1000_f32", 1000);
    chain(unfused, "chain_add_n1_f32_unfused", 1);
    chain(unfused, "chain_add_n64_f32_unfused", 64);
    chain(unfused, "chain_add_n1000_f32_unfused", 1000);
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
