// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A memory plan as text and as a picture.
#pragma once

#include <pumice/base/escape.hpp>
#include <pumice/exec/memory_plan.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {
/// Whether the plan gave buffer `i` the memory that it may take over.
inline bool took_over(const memory_plan& plan, span<const planned_buffer> buffers, std::size_t i) {
    const planned_buffer& b = buffers[i];
    if (b.in_place_of < 0 || b.bytes == 0) return false;
    const auto from = static_cast<std::size_t>(b.in_place_of);
    return buffers[from].last == b.first && plan.offsets[from] == plan.offsets[i];
}
}  // namespace detail

/// A row a buffer, then the totals.
inline std::string to_string(const memory_plan& plan, span<const planned_buffer> buffers) {
    array_list<std::vector<std::string>> rows{{"offset", "bytes", "moments", "buffer"}};
    array_list<std::size_t> widths;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const planned_buffer& b = buffers[i];
        rows.push_back({cat({plan.offsets[i]}), cat({b.bytes}), cat({b.first, "-", b.last}),
                        b.name.empty() ? cat({"#", i}) : b.name});
        if (detail::took_over(plan, buffers, i))
            append_text(rows.back()[3], {" (in place of #", b.in_place_of, ")"});
    }
    for (std::size_t column = 0; column < 3; ++column) {
        std::size_t width = 0;
        for (const auto& row : rows) width = std::max(width, row[column].size());
        widths.push_back(width);
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t column = 0; column < 3; ++column) {
            text.append(widths[column] - row[column].size(), ' ');
            append_text(text, {row[column], "  "});
        }
        append_text(text, {row[3], "\n"});
    }
    append_text(text, {plan.size, " bytes for ", buffers.size(), " buffers; unshared ", plan.sum,
                       ", needed at once ", plan.bound, "\n"});
    return text;
}

/// Memory over time as a picture: moments run to the right, offsets upwards.
inline std::string to_svg(const memory_plan& plan, span<const planned_buffer> buffers) {
    constexpr double width = 1200, height = 600;
    double begin = 0, end = 1;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        begin = i == 0 ? buffers[i].first : std::min<double>(begin, buffers[i].first);
        end = i == 0 ? buffers[i].last + 1.0 : std::max(end, buffers[i].last + 1.0);
    }
    const double per_moment = width / (end - begin),
                 per_byte = height / static_cast<double>(std::max<std::int64_t>(plan.size, 1));
    // Hundredths of a pixel are exact enough, and whole numbers print the same everywhere.
    const auto hundredths = [](double pixels) { return static_cast<std::int64_t>(pixels * 100); };
    std::string text =
        cat({"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", hundredths(width), " ",
             hundredths(height), "\" width=\"", static_cast<int>(width), "\" height=\"",
             static_cast<int>(height), "\" font-family=\"sans-serif\" font-size=\"1200\">\n<title>",
             plan.size, " bytes; unshared ", plan.sum, ", needed at once ", plan.bound,
             "</title>\n"});
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const planned_buffer& b = buffers[i];
        // A buffer that takes over another's memory is drawn from the moment after.
        const double from = b.first + (detail::took_over(plan, buffers, i) ? 1.0 : 0.0),
                     to = b.last + 1.0;
        if (b.bytes == 0 || from >= to) continue;
        const std::string name = escape_xml(b.name.empty() ? cat({"#", i}) : b.name);
        const std::int64_t x = hundredths((from - begin) * per_moment),
                           w = hundredths((to - from) * per_moment),
                           h = hundredths(static_cast<double>(b.bytes) * per_byte),
                           y = hundredths(height -
                                          static_cast<double>(plan.offsets[i]) * per_byte) -
                               h;
        append_text(text, {"<g><title>",
                           name,
                           ": ",
                           b.bytes,
                           " bytes at ",
                           plan.offsets[i],
                           ", moments ",
                           b.first,
                           "-",
                           b.last,
                           "</title><rect x=\"",
                           x,
                           "\" y=\"",
                           y,
                           "\" width=\"",
                           w,
                           "\" height=\"",
                           h,
                           "\" fill=\"hsl(",
                           i * 137 % 360,
                           ",60%,75%)\" stroke=\"#444\" stroke-width=\"20\"/>"});
        if (h >= 1400 &&
            w >= 700 * static_cast<std::int64_t>(std::min<std::size_t>(name.size(), 1000)))
            append_text(text, {"<text x=\"", x + 300, "\" y=\"", y + 1200, "\">", name, "</text>"});
        text += "</g>\n";
    }
    return text + "</svg>\n";
}

}}  // namespace pumice::PUMICE_ABI
