// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of the user's own: the entry point around their text (shaders/kernel.slang), how they are
// launched, and their host function.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/graph/custom_kernel.hpp>
#include <pumice/kernels/detail/rows.hpp>
#include <pumice/kernels/seconds.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// A call on its way to a launch: text and parameter block are written side by side.
class custom_kernel_launch {
public:
    explicit custom_kernel_launch(const custom_kernel_problem& p)
        : p_(p), call_(*p.call), how_(call_.what->how) {}

    /// Workgroups along each axis.
    std::array<std::int64_t, 3> groups() const {
        std::array<std::int64_t, 3> n{};
        for (std::size_t i = 0; i < 3; ++i) n[i] = (call_.threads[i] + group(i) - 1) / group(i);
        return n;
    }
    std::int64_t group(std::size_t axis) const {
        const auto i = static_cast<int>(axis);
        return i < how_.group.rank() ? how_.group[i] : 1;
    }
    /// A line of workgroups may be spread over two axes of the device's.
    bool is_line() const {
        return call_.threads[1] == 1 && call_.threads[2] == 1 && group(1) == 1 && group(2) == 1;
    }
    bool is_wide(const fused& f, const shape& domain) const {
        return needs_wide_index(f.leaves, domain) || needs_wide_index(f.outputs, domain);
    }
    /// Bytes of the outputs that nobody wants.
    std::int64_t scratch() const {
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < p_.outputs.size(); ++i)
            if (p_.outputs[i].buffer < 0) bytes += unwanted(i);
        return bytes;
    }

    launch make(const device_info& device) {
        launch l;
        parameter_block to(l, false, "pumice_block", &members_);
        grid(l, to, device);
        for (std::size_t i = 0; i < p_.inputs.size(); ++i) {
            const kernel_value& v = call_.inputs[i];
            if (how_.inputs[i].fused) program(l, to, "x", i, p_.inputs[i], v, "FusedInput");
            else memory(l, to, "x", i, p_.inputs[i].leaves[0], v, false);
        }
        std::int64_t behind = 0;
        for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
            const kernel_value& v = call_.outputs[i];
            if (how_.outputs[i].fused) {
                program(l, to, "y", i, p_.epilogue, v, "FusedOutput");
                continue;
            }
            operand o = p_.outputs[i];
            if (o.buffer < 0) {
                o = {-2, v.dtype, behind * 8 / info(v.dtype).bits, row_major_strides(v.shape)};
                behind += unwanted(i);
            }
            memory(l, to, "y", i, o, v, true);
        }
        for (std::size_t i = 0; i < call_.scalars.size(); ++i) number(to, i);
        finish(l);
        return l;
    }

private:
    std::int64_t unwanted(std::size_t output) const {
        const kernel_value& v = call_.outputs[output];
        return (byte_count(v.dtype, element_count(v.shape)) + 15) / 16 * 16;
    }

    void grid(launch& l, parameter_block& to, const device_info& device) {
        const std::array<std::int64_t, 3> n = groups();
        const std::int64_t width = is_line() ? spread(l, n[0], device) : 0;
        const auto& t = call_.threads;
        const shape threads{t[0], t[1], t[2]};
        to.add({{"Grid grid", "Grid", {{"uint count[3]", threads}, {"int width", width}}}});
        if (!is_line())
            for (std::size_t i = 0; i < 3; ++i) l.grid[i] = static_cast<std::uint32_t>(n[i]);
    }

    /// What the user's function is given for a member of the block.
    void argument(std::string_view as, std::string_view name, std::size_t i) {
        append_text(arguments_, {",\n        ", as, ">(&pumice_at.", name, i, ")"});
    }

    void memory(launch& l, parameter_block& to, std::string_view name, std::size_t i,
                const operand& o, const kernel_value& v, bool writes) {
        const std::string_view type = info(v.dtype).slang;
        to.add({{cat({"Place<", type, "> ", name, i}).c_str(),
                 "Place",
                 {{"E.Storage* data", block::address{o.buffer, byte_offset(v.dtype, o.offset)}},
                  {"int count", element_count(v.shape)},
                  {"int rank", v.shape.rank()},
                  {"int extent[8]", block::axes{v.shape, max_rank, 1}},
                  {"int step[8]", block::axes{o.steps, max_rank}}}}});
        argument(cat({writes ? "Output<" : "Input<", type}), name, i);
        l.accesses.push_back(range_of(o, v.shape, writes));
    }

    void program(launch& l, parameter_block& to, std::string_view name, std::size_t i, fused f,
                 const kernel_value& v, std::string_view as) {
        const bool wide = is_wide(f, v.shape);
        shape domain = v.shape;
        const int rank = collapse(domain, operands_of(f), 0, domain.rank());
        const std::string code = emitted_name(f.body->view()),
                          with = cat({code, ", ", index_type(wide), ", ", rank});
        argument(cat({as, "<", info(v.dtype).slang, ", ", with}), name, i);
        append_text(imports_, {"import ", code, ";\n"});
        l.programs.push_back(f.body);
        to.indices(wide);
        to.add({{cat({"ProgramPlace<", with, "> ", name, i}).c_str(),
                 "ProgramPlace",
                 {{"P.Args args", block::arguments{f, domain}},
                  {"Places<P, I, R> places", block::places{f, rank}},
                  {"Extents<I, R> extents", block::extents{domain, rank}},
                  {"int count", element_count(v.shape)},
                  {"int rank", v.shape.rank()},
                  {"int extent[8]", block::axes{v.shape, max_rank, 1}}}}});
        to.indices(false);
    }

    /// As programs have theirs, in eight bytes.
    void number(parameter_block& to, std::size_t i) {
        const scalar& s = call_.scalars[i];
        const std::string slang = cat({slang_name(info(s.type).arithmetic), " s", i});
        if (size_of(info(s.type).arithmetic) == 8) to.add({{slang.c_str(), block::bits{s.bits}}});
        else
            to.add({{slang.c_str(), static_cast<std::int32_t>(s.bits)},
                    {cat({"uint s", i, "_"}).c_str(), 0}});
        append_text(arguments_, {",\n        pumice_at.s", i});
    }

    void finish(launch& l) {
        std::string text = cat({"import element;\nimport kernel;\nimport program;\n", imports_});
        if (how_.checked) text += "public export static const bool checkedAccess = true;\n";
        for (const auto& [name, type] : call_.names)
            append_text(text, {"typealias ", name, " = ", info(type).slang, ";\n"});
        append_text(text, {"static const int groupX = ", group(0), ", groupY = ", group(1),
                           ", groupZ = ", group(2), ";\n"});
        append_text(text, {"#line 1 \"", call_.what->name, ".slang\"\n", call_.what->text, "\n"});
        append_text(text, {"#line 1 \"call of ", call_.what->name, "\"\n"});
        append_text(text, {"public struct pumice_block\n{\n", members_, "}\n"});
        text +=
            "[shader(\"compute\")] [numthreads(groupX, groupY, groupZ)]\npublic void "
            "pumice_run(uint3 pumice_group : SV_GroupID, uint3 pumice_local : SV_GroupThreadID, "
            "uniform pumice_block* pumice_at)\n{\n"
            "    int3 pumice_thread = pumice_at.grid.thread(pumice_group, pumice_local,\n"
            "        int3(groupX, groupY, groupZ));\n";
        if (!how_.whole_groups) text += "    if (!pumice_at.grid.has(pumice_thread)) return;\n";
        append_text(text, {"    ", call_.what->name, "(pumice_thread", arguments_, ");\n}\n"});
        l.module = cat({call_.what->name, "_"});
        append_hex(l.module, hash_of(text));
        l.entry = "pumice_run";
        l.text = std::make_shared<const std::string>(std::move(text));
    }

    const custom_kernel_problem& p_;
    const kernel_call& call_;
    const kernel_options& how_;
    std::string imports_, members_, arguments_;
};

inline support supports_types(const kernel_call& call, const device_info& device) {
    for (const auto* list : {&call.inputs, &call.outputs})
        for (const kernel_value& v : *list)
            if (!device.supports(v.dtype))
                return support::no({"the device has no ", to_string(v.dtype)});
    for (const scalar& s : call.scalars) {
        const arithmetic a = info(s.type).arithmetic;
        if ((a == arithmetic::f64 && !device.float64_arithmetic) ||
            ((a == arithmetic::i64 || a == arithmetic::u64) && !device.int64_arithmetic))
            return support::no({"the device has no ", to_string(s.type)});
    }
    return {};
}

/// The program with what it is given as one more operand, to run behind a host function.
inline program given_as_leaf(const program& p, std::size_t leaf) {
    program q = p;
    for (instruction& i : q.code)
        if (i.what == instruction::code::given) {
            i.what = instruction::code::leaf;
            i.index = static_cast<std::uint16_t>(leaf);
        }
    return q;
}

}  // namespace detail

/// The user's host function over dense arrays, with what is fused before and behind it.
inline void reference(const custom_kernel_problem& p, const host_buffers& buffers) {
    const kernel_call& call = *p.call;
    const kernel_options& how = call.what->how;
    if (!how.host)
        fail(
            errc::unsupported, cat({"kernel ", call.what->name}),
            {call.what->shader
                 ? "it is a Vulkan shader and needs a Vulkan device"
                 : "it is written in Slang and needs a Vulkan device; give it a `host` function to "
                   "run on the host device"});
    array_list<array_list<std::byte>> held;
    const auto fresh = [&](const kernel_value& v) {
        held.emplace_back(static_cast<std::size_t>(byte_count(v.dtype, element_count(v.shape))));
        return host_array{held.back().data(), v.dtype, 0, row_major_strides(v.shape)};
    };
    array_list<kernel_memory> inputs, outputs;
    for (std::size_t i = 0; i < p.inputs.size(); ++i) {
        const fused& f = p.inputs[i];
        const host_array dense[] = {fresh(call.inputs[i])};
        run_on_host(f.body->view(), call.inputs[i].shape, buffers.arrays(f.leaves),
                    buffers.scalars(f), dense);
        inputs.push_back({call.inputs[i], dense[0].data});
    }
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
        const bool stored = !how.outputs[i].fused && p.outputs[i].buffer >= 0;
        const host_array to = stored ? buffers.array(p.outputs[i]) : fresh(call.outputs[i]);
        outputs.push_back({call.outputs[i], to.data});
    }
    how.host({inputs, outputs, call.scalars, call.threads});
    if (!p.epilogue.body) return;
    array_list<host_array> leaves = buffers.arrays(p.epilogue.leaves);
    const program finish = detail::given_as_leaf(*p.epilogue.body, leaves.size());
    leaves.push_back({outputs[0].data, call.outputs[0].dtype, 0,
                      row_major_strides(call.outputs[0].shape)});
    run_on_host(finish.view(), call.outputs[0].shape, leaves, buffers.scalars(p.epilogue),
                buffers.arrays(p.epilogue.outputs));
}

/// The user's Slang with an entry point made for the call.
struct custom_kernel_slang {
    using problem_type = custom_kernel_problem;
    static constexpr std::string_view name = "kernel/own";
    static constexpr bool portable = true;

    static support supports(const custom_kernel_problem& p, const device_info& device) {
        const kernel_call& call = *p.call;
        if (call.what->shader) return support::no("it is a shader as it stands");
        if (support s = detail::supports_types(call, device); !s.yes) return s;
        const detail::custom_kernel_launch l(p);
        const auto check = [&](const fused& f, const shape& domain) {
            support s = supports_types(f, device);
            return s.yes ? supports_index(l.is_wide(f, domain), device) : s;
        };
        for (std::size_t i = 0; i < p.inputs.size(); ++i) {
            if (call.what->how.inputs[i].fused) {
                if (support s = check(p.inputs[i], call.inputs[i].shape); !s.yes) return s;
                continue;
            }
            operand o = p.inputs[i].leaves[0];
            o.offset = 0;  // part of the address
            if (needs_wide_index({o}, call.inputs[i].shape))
                return support::no({"the view that ", call.what->name, " reads as input ", i,
                                    " spans more than 2^31 elements"});
        }
        if (p.epilogue.body)
            if (support s = check(p.epilogue, call.outputs[0].shape); !s.yes) return s;
        const shape& group = call.what->how.group;
        const std::string& who = call.what->name;
        if (element_count(group) > device.max_workgroup_invocations)
            return support::no({who, " has workgroups of ", element_count(group),
                                " threads, the device takes ", device.max_workgroup_invocations});
        for (std::size_t i = 0; i < 3; ++i)
            if (l.group(i) > device.max_workgroup_size[i])
                return support::no({who, " has workgroups of ", l.group(i), " threads along axis ",
                                    i, ", the device takes ", device.max_workgroup_size[i]});
        if (!l.is_line())
            if (support s = supports_grid(who, l.groups(), device); !s.yes) return s;
        double bytes = 0;
        for (const auto* list : {&call.inputs, &call.outputs})
            for (const kernel_value& v : *list)
                bytes += static_cast<double>(byte_count(v.dtype, element_count(v.shape)));
        return support::in(seconds_to_move(device, bytes, 0.8, bytes));
    }
    static launch make(const custom_kernel_problem& p, const device_info& device) {
        return detail::custom_kernel_launch(p).make(device);
    }
    static array_list<launch> make_all(const custom_kernel_problem& p, const device_info& device) {
        return {make(p, device)};
    }
    static std::int64_t scratch(const custom_kernel_problem& p, const device_info&) {
        return detail::custom_kernel_launch(p).scratch();
    }
};

static_assert(kernel_type<custom_kernel_slang>);

}}  // namespace pumice::PUMICE_ABI
