// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Megakernels: kernels of a recording that have one workgroup each and depend on each other as one
// dispatch, whose workgroup goes through them in order (shaders/megakernel.slang).
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/hash.hpp>
#include <pumice/exec/kernel_requests.hpp>
#include <pumice/exec/plan/dispatch_list.hpp>
#include <pumice/exec/vulkan/recorder.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

namespace pumice { inline namespace PUMICE_ABI {

struct megakernel {
    array_list<std::size_t> parts;  // dispatches, in their order
    launch what;
    kernel_record record;
};

/// Dispatches in an order in which megakernels stand for their parts: the j-th is called by the
/// number behind those of all dispatches, plus j.
struct joined_order {
    array_list<placed_item> items;
    array_list<stage> stages;  // with places in `items`
    array_list<megakernel> megakernels;

    /// Those that an item stands for.
    span<const std::size_t> dispatches_at(std::size_t place, const dispatch_list& list) const {
        const std::size_t& number = items[place].index;
        if (number < list.size()) return {&number, 1};
        const array_list<std::size_t>& parts = megakernels[number - list.size()].parts;
        return {parts.data(), parts.size()};
    }
};

/// Kernels: each is code in it, which Slang and the driver compile.
inline constexpr std::size_t most_parts_of_megakernel = 16;

namespace detail {

/// Whether a launch may be part of a megakernel at all.
inline bool may_join(const launch& l) {
    return l.threads > 0 && l.grid == std::array<std::uint32_t, 3>{1, 1, 1};
}
/// Whether a launch can be behind others that ask for workgroups and subgroups of these sizes; from
/// then on it asks for its own too.
inline bool joins(const launch& l, int threads, int& subgroup) {
    if (!may_join(l) || l.threads != threads) return false;
    if (l.subgroup_size == 0 || l.subgroup_size == subgroup) return true;
    if (subgroup != 0) return false;
    subgroup = l.subgroup_size;
    return true;
}

/// Its text: imports, since the arguments of a kernel name types of what its module imports, and
/// the calls of the kernels.
class megakernel_text {
public:
    explicit megakernel_text(const array_list<library_module>& library) : library_(library) {
        add_import("megakernel");
    }
    /// The call of another kernel.
    void add(const launch& l) {
        add_import(l.module);
        for (const auto& p : l.programs) name(emitted_name(p->view()));
        append_text(calls_, {count_ > 0 ? "    next();\n    " : "    ", l.entry, "<"});
        for (std::size_t i = 0; i < l.arguments.size(); ++i)
            append_text(calls_, {i > 0 ? ", " : "", l.arguments[i]});
        append_text(calls_, {">(uint3(0), thread, blockOf(p, ", count_, "));\n"});
        ++count_;
    }
    std::string whole(int threads) const {
        return cat({imports_, "\n[shader(\"compute\")] [numthreads(", threads,
                    ", 1, 1)]\nvoid together(uint thread : SV_GroupIndex, uniform Megakernel<",
                    count_, ">* p)\n{\n", calls_, "}\n"});
    }

private:
    bool name(const std::string& module) {
        if (std::find(named_.begin(), named_.end(), module) != named_.end()) return false;
        named_.push_back(module);
        append_text(imports_, {"import ", module, ";\n"});
        return true;
    }
    void add_import(const std::string& module) {
        constexpr std::string_view line = "\nimport ";
        if (!name(module)) return;
        for (const library_module& m : library_)
            for (std::size_t at = 0;
                 m.name == module && (at = m.source.find(line, at)) != std::string::npos;) {
                at += line.size();
                add_import(m.source.substr(at, m.source.find(';', at) - at));
            }
    }

    const array_list<library_module>& library_;
    array_list<std::string> named_;
    std::string imports_, calls_;
    int count_ = 0;
};

/// Of dispatches in their order.
inline megakernel join(const dispatch_list& list, span<const placed_item> parts,
                       const array_list<library_module>& library) {
    megakernel made;
    launch& l = made.what;
    kernel_record& r = made.record;
    r.kernel = "megakernel";
    megakernel_text text(library);
    for (const placed_item& item : parts) {
        const launch& part = *list.launches()[item.index];
        text.add(part);
        made.parts.push_back(item.index);
        l.threads = part.threads;
        l.subgroup_size = std::max(l.subgroup_size, part.subgroup_size);
        l.programs.append(part.programs.begin(), part.programs.end());
        l.accesses.append(part.accesses.begin(), part.accesses.end());
        const kernel_record& of = *list.record(list.step_of(item.index));
        append_text(r.fused,
                    {r.fused.empty() ? "" : "; ", of.fused.empty() ? of.kernel : of.fused});
        if (made.parts.size() == 1) r.origin = of.origin;
        else if (r.origin != of.origin) r.origin.clear();
    }
    l.text = std::make_shared<const std::string>(text.whole(l.threads));
    l.module = "megakernel_";
    append_hex(l.module, hash_of(*l.text));
    l.entry = "together";
    l.parameters.resize(8 * parts.size());
    return made;
}

}  // namespace detail

/// Where kernels of one workgroup follow each other, each between two barriers, up to `parts`
/// become one, which is expected to take no longer than `seconds`. Kernels without a barrier
/// between them stay apart: the device may run them at once.
inline joined_order join_small(const dispatch_list& list, const array_list<placed_item>& order,
                               std::size_t parts, double seconds) {
    const auto launch_at = [&](std::size_t place) -> const launch& {
        return *list.launches()[order[place].index];
    };
    const auto seconds_at = [&](std::size_t place) {
        return list.record(list.step_of(order[place].index))->seconds;
    };
    std::optional<array_list<library_module>> library;
    joined_order made;
    for (const stage& s : list.stages()) {
        const auto is_alone = [&](std::size_t place) {
            return (place == s.first || order[place].barrier) &&
                   (place + 1 == s.last || order[place + 1].barrier);
        };
        stage placed = s;
        placed.first = made.items.size();
        for (std::size_t i = s.first; i < s.last;) {
            std::size_t end = i + 1;
            const launch& first = launch_at(i);
            if (int subgroup = first.subgroup_size; is_alone(i) && detail::may_join(first))
                for (double expected = seconds_at(i); end < s.last && end - i < parts; ++end)
                    if (!is_alone(end) || (expected += seconds_at(end)) > seconds ||
                        !detail::joins(launch_at(end), first.threads, subgroup))
                        break;
            if (end - i == 1) {
                made.items.push_back(order[i]);
            } else {
                if (!library) library = shader_library();
                made.items.push_back({list.size() + made.megakernels.size(), order[i].barrier});
                made.megakernels.push_back(detail::join(list, {order.data() + i, end - i},
                                                        *library));
            }
            i = end;
        }
        placed.last = made.items.size();
        made.stages.push_back(placed);
    }
    return made;
}

/// Compiles an order by `compile(refused)`, which sets that flag where it throws for a megakernel.
/// Kernels are joined where the policies say so; they share what a workgroup may have, so that
/// fewer may fit where many do not. Nobody can stop a megakernel: without a submit budget it takes
/// a millisecond at most.
template <class Compile>
void join_and_compile(joined_order& order, const dispatch_list& list, const policy_set& policies,
                      Compile&& compile) {
    if (!policies.megakernels) {
        std::atomic<bool> refused = false;
        return compile(refused);
    }
    const array_list<placed_item> apart = order.items;
    const double seconds = policies.submit_budget > 0 ? policies.submit_budget : 1e-3;
    for (std::size_t most = most_parts_of_megakernel;; most /= 2) {
        order = join_small(list, apart, most, seconds);  // of 1: none
        std::atomic<bool> refused = false;
        try {
            return compile(refused);
        } catch (const error& e) {
            if (!refused) throw;
            write_log(severity::warning, cat({"of megakernels of up to ", most,
                                              " kernels one is refused: ", e.what()}));
            if (e.code() == errc::no_slang) most = 2;  // a pack may have the kernels
        }
    }
}

/// Writes its parameter block; `at` says where those of the launches lie, and it `own`.
inline void write_places(megakernel& m, const array_list<std::uint64_t>& at, std::uint64_t own) {
    for (std::size_t k = 0; k < m.parts.size(); ++k) {
        const auto apart = static_cast<std::int64_t>(at[m.parts[k]] - own);
        std::memcpy(m.what.parameters.data() + 8 * k, &apart, sizeof apart);
    }
}

/// "one dispatch: add; add", a line each.
inline std::string to_string(const array_list<megakernel>& list) {
    std::string text;
    for (const megakernel& m : list)
        append_text(text, {"one dispatch of ", m.parts.size(), " kernels: ", m.record.fused, "\n"});
    return text;
}

}}  // namespace pumice::PUMICE_ABI
