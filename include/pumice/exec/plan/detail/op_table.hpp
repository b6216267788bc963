// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The ops that a plan's text names: found by name and text, as programs tell them apart.
#pragma once

#include <pumice/base/hash.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/tensor/random.hpp>

#include <nlohmann/json.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

using plan_json = nlohmann::ordered_json;

/// What two texts are compared by.
inline std::string digest_in_plan(std::string_view text) {
    std::string digest;
    append_hex(digest, hash_of(text));
    return digest;
}

class op_table {
public:
    /// The digest of each op's text, by what the plan calls the op.
    plan_json rows = plan_json::object();

    /// What a plan that is written calls an op: its name; a further one of that name has the digest
    /// of its text behind it.
    std::string add(const op_info& op) {
        const std::string text = digest_in_plan(op.body);
        std::string name(op.name);
        if (rows.contains(name) && rows[name] != text) append_text(name, {"#", text});
        rows[name] = text;
        return name;
    }
    /// What a plan that was read calls so, or null.
    const op_info* find(std::string_view name) const {
        for (const auto& [known, op] : found_)
            if (known == name) return op;
        return nullptr;
    }
    /// Finds the ops of all rows, the library's own and those `given`. Throws errc::bad_file, which
    /// says by what the caller gives them.
    void find_all(span<const op_info* const> given, std::string_view by) {
        for (const auto& [name, text] : rows.items())
            found_.push_back({name, &meant(name, text, given, by)});
    }

private:
    static const op_info& meant(std::string_view name, const plan_json& text,
                                span<const op_info* const> given, std::string_view by) {
        name = name.substr(0, name.find('#'));
        bool of_name = false;
        const auto is_it = [&](const op_info* op) {
            if (op->name != name) return false;
            of_name = true;
            return text == digest_in_plan(op->body);
        };
        for (const op_info* op : infos_of(all_ops{}))
            if (is_it(op)) return *op;
        if (is_it(&op_info_of<op::random_bits>)) return op_info_of<op::random_bits>;
        for (const op_info* op : given)
            if (is_it(op)) return *op;
        fail(errc::bad_file, "plan",
             {"the op `", name, of_name ? "` has another text here" : "` is not known here",
              "; put the one that was saved into ", by, "::ops"});
    }

    array_list<std::pair<std::string, const op_info*>> found_;
};

}}}  // namespace pumice::PUMICE_ABI::detail
