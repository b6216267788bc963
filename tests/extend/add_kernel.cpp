// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How to add a kernel: its Slang (add_kernel.slang) and this struct. In the library the Slang lies
// in shaders/, and the kernel is chosen once its name stands in a list of exec/problem_kind.hpp.
// The checks come with the harness.
#include <tests/device/kernel_harness.hpp>

#include <pumice/kernels/elementwise.hpp>

namespace {

struct elementwise_grid_stride {
    using problem_type = pumice::elementwise_problem;
    static constexpr std::string_view name = "elementwise/grid_stride";
    static constexpr bool portable = true;
    static constexpr int groups = 3, threads = 256;

    static pumice::support supports(const problem_type& p, const pumice::device_info& device) {
        for (const auto* operands : {&p.body.leaves, &p.body.outputs})
            for (const pumice::operand& o : *operands)
                if (o.buffer < 0 || o.offset != 0 || o.steps != pumice::row_major_strides(p.domain))
                    return pumice::support::no("an operand is not contiguous from its start");
        if (pumice::element_count(p.domain) > 1 << 30)
            return pumice::support::no("more than 2^30 elements");
        if (pumice::support s = pumice::supports_types(p.body, device); !s.yes) return s;
        return pumice::support::in(pumice::seconds_to_move(device,
                                                           pumice::bytes_of(p.body, p.domain), 1,
                                                           groups * threads));
    }
    static pumice::launch make(const problem_type& p, const pumice::device_info&) {
        pumice::launch l;
        l.module = "add_kernel";
        l.entry = "grid_stride";
        l.arguments = {pumice::emitted_name(p.body.body->view())};
        l.programs = {p.body.body};
        l.grid = {groups, 1, 1};
        pumice::write_block(l, false, "GridStrideParams",
                            {{"P.Args args", pumice::block::arguments{p.body, p.domain}},
                             {"int count", pumice::element_count(p.domain)},
                             {"int step", groups * threads}});
        return l;
    }
};
static_assert(pumice::kernel_type<elementwise_grid_stride>);

}  // namespace

TEST_CASE("extend: a kernel of one's own agrees with its reference") {
    using namespace test;
    for (const auto& m : machines()) {
        tally count("grid stride on " + m->info().name);
        dice d(61);
        for (int i = 0; i < samples(30); ++i) {
            const dtype type = all_dtypes[d.in(0, 12)];
            const shape domain = random_shape(d, static_cast<int>(d.in(0, 4)), 5000);
            workspace w(d);
            maker make;
            const placing layout = d.chance(0.2) ? placing::any : placing::dense;
            const std::uint16_t x = make.leaf(w.input(type, domain, layout)),
                                y = make.leaf(w.input(dtype::boolean, domain, placing::dense));
            const operand out = w.output(type, domain, placing::dense);
            const auto body =
                make.build({make.apply<op::where>(y, x, make.value(scalar(type, 3)))}, {out});
            check<elementwise_grid_stride>(*m, {domain, body}, w, {{out, domain}}, {tolerance{}},
                                           std::string(to_string(type)) + to_string(domain), count);
        }
        CHECK(count.ran > 0);
    }
}
