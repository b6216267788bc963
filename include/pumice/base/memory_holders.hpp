// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Who holds most of some memory, for the errors that say there is no more.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/memory_role.hpp>
#include <pumice/base/text.hpp>

#include <string>
#include <utility>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// `weights "fc1.weight"`, or the role alone where there is no name.
inline std::string to_string(const memory_label& label) {
    if (label.name.empty()) return std::string(to_string(label.role));
    return cat({to_string(label.role), " \"", label.name.substr(0, 128), "\""});
}

/// Pieces of one role and name count together.
class memory_holders {
public:
    void add(const memory_label& label, std::uint64_t bytes) {
        for (holder& h : list_)
            if (h.label.role == label.role && h.label.name == label.name) {
                h.bytes += bytes;
                ++h.pieces;
                return;
            }
        list_.push_back({label, bytes, 1});
    }

    /// A line each for the ten that hold most, and one for the rest.
    void describe(std::vector<std::string>& lines) {
        constexpr std::size_t most = 10;
        const std::size_t shown = list_.size() < most ? list_.size() : most;
        for (std::size_t i = 0; i < shown; ++i) {
            std::size_t largest = i;
            for (std::size_t k = i + 1; k < list_.size(); ++k)
                if (list_[k].bytes > list_[largest].bytes) largest = k;
            std::swap(list_[i], list_[largest]);
            const holder& h = list_[i];
            std::string line = cat({"held by ", to_string(h.label), ": ", h.bytes, " bytes"});
            if (h.pieces > 1) append_text(line, {" in ", h.pieces, " pieces"});
            lines.push_back(std::move(line));
        }
        if (shown == list_.size()) return;
        std::uint64_t rest = 0;
        for (std::size_t i = shown; i < list_.size(); ++i) rest += list_[i].bytes;
        lines.push_back(cat({"held by ", list_.size() - shown, " others: ", rest,
                             " bytes together"}));
    }

private:
    struct holder {
        memory_label label;
        std::uint64_t bytes, pieces;
    };
    array_list<holder> list_;
};

}}  // namespace pumice::PUMICE_ABI
