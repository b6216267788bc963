// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan as JSON: written, and read by another process. Needs nlohmann/json; no other header
// includes this one.
#pragma once

#include <pumice/exec/plan/detail/plan_coder.hpp>
#include <pumice/exec/plan/verify.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// 1 had one text for each name of an op, so that of two ops of one name it lost one.
inline constexpr int plan_version = 2;

/// Names may be of any bytes, JSON is UTF-8.
inline constexpr auto json_bytes = plan_json::error_handler_t::replace;

/// A section of the file: an element a line.
inline void append_section(std::string& to, const char* name, const plan_json& list) {
    append_text(to, {",\n\"", name, "\": ["});
    const char* before = "\n ";
    for (const plan_json& each : list) {
        append_text(to, {before, each.dump(-1, ' ', false, json_bytes)});
        before = ",\n ";
    }
    to += "]";
}

}  // namespace detail

/// The plan as JSON text, a value and a step on each line. Tensors are not part of a plan: their
/// types, shapes and places are.
inline std::string to_json(const plan& p) {
    if (p.range)
        fail(errc::unsupported, "plan",
             {"a plan for varying extents has no text, and no package; that of one extent has"});
    using json = detail::plan_json;
    detail::plan_coder<false> coder;
    json values, steps, givings, numbers, programs = json::array();
    coder.code(values, p.values, "values");
    coder.code(steps, p.steps, "steps");
    coder.code(givings, p.givings, "givings");
    coder.code(numbers, p.numbers, "numbers");
    for (const std::shared_ptr<const program>& each : coder.programs) {
        programs.emplace_back();
        coder.code_program(programs.back(), *each);
    }
    std::string text =
        cat({"{\"plan\": ", detail::plan_version, ",\n\"ops\": ", coder.ops.rows.dump(),
             ",\n\"kernels\": ", coder.kernels.dump()});
    detail::append_section(text, "programs", programs);
    detail::append_section(text, "numbers", numbers);
    detail::append_section(text, "values", values);
    detail::append_section(text, "steps", steps);
    detail::append_section(text, "givings", givings);
    return text + "}\n";
}

/// The plan that `to_json` wrote, verified. Throws errc::bad_file for text that is none or of
/// another version, and for ops and kernels of whose name and text there is none among `names` and
/// the library's own; errc::invalid_argument for a plan that breaks the rules of plans.
inline plan plan_from_json(std::string_view text, const plan_names& names = {}) {
    using json = detail::plan_json;
    detail::plan_coder<true> coder(names);
    json file = json::parse(text, nullptr, false);
    if (!file.is_object() || !file.contains("plan")) coder.fault({"the text is no plan in JSON"});
    if (file["plan"] != detail::plan_version)
        coder.fault({"the plan is of version ", file["plan"].dump(), ", version ",
                     detail::plan_version, " is known; write it anew"});
    for (const char* section :
         {"ops", "kernels", "programs", "numbers", "values", "steps", "givings"})
        if (!file.contains(section)) coder.fault({"there is no `", section, "`"});
    coder.ops.rows = std::move(file["ops"]);
    coder.kernels = std::move(file["kernels"]);
    coder.find_names();
    for (json& each : coder.wanted(file["programs"].is_array(), file["programs"], "programs")) {
        const auto made = std::make_shared<program>();
        coder.code_program(each, *made);
        coder.programs.push_back(made);
    }
    plan p;
    coder.code(file["numbers"], p.numbers, "numbers");
    coder.code(file["values"], p.values, "values");
    coder.code(file["steps"], p.steps, "steps");
    coder.code(file["givings"], p.givings, "givings");
    p.list_values();
    find_decisions(p);
    verify(p);
    return p;
}

}}  // namespace pumice::PUMICE_ABI
