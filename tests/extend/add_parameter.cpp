// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How to add a parameter to a kernel: its row (parameter.txt) in the table that is both the block
// and the struct in Slang. The kernel may then read it. Here the struct is put into the text with
// the kernel; those of shaders/ are written by PUMICE_GOLDEN_WRITE=1
// (tests/exec/parameter_blocks.cpp).
#include <tests/device/kernel_harness.hpp>

#include <pumice/kernels/elementwise.hpp>

namespace {

struct elementwise_in_steps {
    using problem_type = pumice::elementwise_problem;
    static constexpr std::string_view name = "elementwise/in_steps";
    static constexpr bool portable = true;
    static constexpr int groups = 3, threads = 256;
    static constexpr const char* text = R"(
[shader("compute")] [numthreads(256, 1, 1)]
public void in_steps<P : IProgram>(uint3 id : SV_DispatchThreadID, uniform InStepsParams<P>* p)
{
    let q = *p;
    for (int i = int(id.x); i < q.count; i += q.step)
    {
        int o[P.operands];
        [ForceUnroll] for (int k = 0; k < P.operands; ++k) o[k] = i;
        P.Given none;
        P.store<int>(q.args, o, P.eval(q.args, P.load<int>(q.args, o), none));
    }
}
)";

    static pumice::support supports(const problem_type& p, const pumice::device_info& device) {
        if (pumice::support s = pumice::supports_types(p.body, device); !s.yes) return s;
        return pumice::support::in(1e-5);
    }
    static pumice::launch make(const problem_type& p, const pumice::device_info&) {
        pumice::launch l("in_steps", "in_steps", {pumice::emitted_name(p.body.body->view())},
                         {&p.body});
        l.grid = {groups, 1, 1};
        std::string members;
        pumice::write_block(l, false, "InStepsParams",
                            {{"P.Args args", pumice::block::arguments{p.body, p.domain}},
#include "parameter.txt"
                             {"int count", pumice::element_count(p.domain)}},
                            &members);
        l.text = std::make_shared<const std::string>(
            pumice::cat({"module in_steps;\nimport element;\nimport program;\n"
                         "public struct InStepsParams<P : IProgram>\n{\n",
                         members, "}\n", text}));
        return l;
    }
};
static_assert(pumice::kernel_type<elementwise_in_steps>);

}  // namespace

TEST_CASE("extend: a parameter is a row of its kernel's table, in the block and in the struct") {
    using namespace test;
    for (const auto& m : machines()) {
        tally count("a parameter more on " + m->info().name);
        dice d(62);
        for (const std::int64_t n : {1, 767, 768, 769, 5000}) {
            workspace w(d);
            maker make;
            const std::uint16_t x = make.leaf(w.input(dtype::f32, {n}, placing::dense));
            const operand out = w.output(dtype::f32, {n}, placing::dense);
            const auto body = make.build({make.apply<op::add>(x, make.value(scalar(2.5f)))}, {out});
            const elementwise_problem p{{n}, body};
            const launch l = elementwise_in_steps::make(p, m->info());
            CHECK(l.text->find("    public int step;\n    public int count;\n") != l.text->npos);
            check<elementwise_in_steps>(*m, p, w, {{out, {n}}}, {tolerance{}}, std::to_string(n),
                                        count);
        }
        CHECK(count.ran > 0);
    }
}
