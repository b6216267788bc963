// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A page about a recorded graph: what it runs, in which memory, and how long that takes. No other
// header includes this one.
#pragma once

#include <pumice/base/escape.hpp>
#include <pumice/base/replaced_file.hpp>
#include <pumice/exec/draw_memory_plan.hpp>
#include <pumice/exec/plan/plan.hpp>
#include <pumice/tensor/compile.hpp>
#include <pumice/tensor/profile.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// What a page shows of a run beside the plan: its events, and what it added to the counters of
/// `stats()`.
struct measured_run {
    profile times;
    statistics counted;
};

namespace detail {

/// With one digit behind the point.
inline std::string tenths(double value) {
    const auto n = static_cast<std::int64_t>(value * 10 + 0.5);
    return cat({n / 10, ".", n % 10});
}

class report_writer {
public:
    report_writer(const executable& e, const measured_run* run)
        : e_(e), p_(e.planned()), run_(run), engine_(*e.where().get()) {
        for (std::size_t i = 0; i < p_.steps.size(); ++i) {
            records_.push_back(engine_.kernel_of(p_, i));
            measured_.push_back(-1);
        }
        find_edges();
        if (run_) find_times();
    }

    std::string page() {
        open("h1", escape_xml(cat({"Pumice on ", engine_.device().name})));
        totals();
        open("h2", "Plan");
        note(
            "A box is a step, in the order in which steps run; a line says that one reads what "
            "another makes. The tables have the same numbers.");
        draw_plan();
        list_steps();
        open("h2", "Memory");
        const memory_use m = e_.memory();
        if (m.bytes > 0)
            note(cat({"Between the kernels ", m.bytes, " bytes; ", m.unshared,
                      " if no two values "
                      "shared memory; ",
                      m.least, " are needed at one moment."}));
        else note("Values over the steps, as they would lie in one piece of memory.");
        const std::string svg = e_.memory_svg();
        text_ += svg.empty() ? memory_of_values() : svg;
        if (run_) {
            open("h2", "Times");
            draw_times();
            draw_events();
        }
        open("h2", "Kernels, and why");
        text_ += "<pre>";
        const std::string why = e_.explain();
        for (std::size_t begin = 0; begin < why.size();) {
            const std::size_t end = std::min(why.find('\n', begin), why.size());
            append_text(text_,
                        {escape_xml(std::string_view(why).substr(begin, end - begin)), "\n"});
            begin = end + 1;
        }
        text_ += "</pre>\n";
        return cat({head, text_, "</body></html>\n"});
    }

private:
    static constexpr const char* head =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Pumice</title>\n"
        "<style>body{font:14px sans-serif;margin:2em;max-width:1240px}table{border-collapse:"
        "collapse}td,th{border:1px solid #bbb;padding:2px 8px;text-align:left;font-weight:normal}"
        "th{background:#eee}td.n{text-align:right}svg{max-width:100%;height:auto}"
        "pre{overflow:auto}</style></head><body>\n";

    static std::size_t at(int v) { return static_cast<std::size_t>(v); }
    void open(const char* tag, const std::string& title) {
        append_text(text_, {"<", tag, ">", title, "</", tag, ">\n"});
    }
    void note(const std::string& words) { append_text(text_, {"<p>", words, "</p>\n"}); }
    void cell(const std::string& words) {
        append_text(text_, {"<td>", escape_xml(words), "</td>"});
    }
    void number(const std::string& n) { append_text(text_, {"<td class=\"n\">", n, "</td>"}); }

    static bool makes(const plan_step& s, int v) {
        return std::find(s.outputs.begin(), s.outputs.end(), v) != s.outputs.end();
    }
    std::string name_of(int v) const {
        const node_label& own = p_.at(v).label;
        return own ? std::string(own.name().empty() ? own.origin() : own.name()) : cat({"%", v});
    }
    std::string kernel(std::size_t i) const { return records_[i] ? records_[i]->kernel : "a step"; }
    std::string ops(std::size_t i) const { return records_[i] ? records_[i]->fused : ""; }
    std::string what(std::size_t i) const {
        return cat({kernel(i), ops(i).empty() ? "" : ": ", ops(i)});
    }
    std::int64_t bytes(std::size_t i) const {
        std::int64_t n = 0;
        for (const int v : p_.steps[i].buffers) n += p_.at(v).bytes();
        return n;
    }

    /// Which steps read what others make, and how many lie before each on the longest way.
    void find_edges() {
        array_list<array_list<std::size_t>> writers(p_.values.size());
        for (std::size_t i = 0; i < p_.steps.size(); ++i) {
            const plan_step& s = p_.steps[i];
            int level = 0;
            for (const int v : s.buffers) {
                if (makes(s, v)) continue;
                for (const std::size_t from : writers[at(p_.root(v))]) {
                    edges_.push_back({from, i});
                    level = std::max(level, levels_[from] + 1);
                }
            }
            levels_.push_back(level);
            for (const int v : s.outputs) writers[at(p_.root(v))].push_back(i);
        }
    }

    /// A step's events have its kernel's name and origin. Those of several such steps come in the
    /// order of the steps where each has as many; else each gets its share of all.
    void find_times() {
        for (std::size_t i = 0; i < p_.steps.size(); ++i) {
            if (measured_[i] >= 0 || !records_[i]) continue;
            const kernel_record& r = *records_[i];
            array_list<std::size_t> same;
            for (std::size_t k = i; k < p_.steps.size(); ++k)
                if (records_[k] && records_[k]->kernel == r.kernel &&
                    records_[k]->fused == r.fused && records_[k]->origin == r.origin)
                    same.push_back(k);
            const std::string name = cat({r.kernel, r.fused.empty() ? "" : ": ", r.fused});
            array_list<double> times;
            double all = 0;
            for (const profile_event& e : run_->times.events)
                if (e.track != 0 && e.name == name && e.origin == r.origin) {
                    times.push_back(e.duration_us);
                    all += e.duration_us;
                }
            const bool fits = !times.empty() && times.size() % same.size() == 0;
            for (std::size_t k = 0; k < same.size(); ++k) {
                double& to = measured_[same[k]];
                to = fits || times.empty() ? 0 : all / static_cast<double>(same.size());
                for (std::size_t n = times.size() / same.size(), j = 0; fits && j < n; ++j)
                    to += times[k * n + j];
                if (times.empty()) to = -1;
            }
        }
    }

    void totals() {
        double expected = 0, measured = 0;
        std::int64_t dispatches = 0, moved = 0;
        for (std::size_t i = 0; i < p_.steps.size(); ++i) {
            if (records_[i]) dispatches += records_[i]->dispatches;
            if (records_[i]) expected += records_[i]->seconds * 1e6;
            if (measured_[i] > 0) measured += measured_[i];
            moved += bytes(i);
        }
        text_ += "<table>\n";
        const auto row = [&](const char* name, const std::string& n) {
            append_text(text_, {"<tr><th>", name, "</th><td class=\"n\">", n, "</td></tr>\n"});
        };
        row("steps", cat({p_.steps.size()}));
        row("kernels planned", cat({dispatches}));
        row("bytes of operands", cat({moved}));
        row("µs expected", tenths(expected));
        if (run_) {
            const statistics& c = run_->counted;
            row("µs measured", tenths(measured));
            row("dispatches", cat({c.dispatches}));
            row("host kernels", cat({c.host_kernels}));
            row("submits", cat({c.submits}));
            row("bytes written", cat({c.written_bytes}));
            row("bytes uploaded", cat({c.uploaded_bytes}));
            row("bytes downloaded", cat({c.downloaded_bytes}));
            row("device bytes in use", cat({c.device_bytes}));
            row("device bytes at most", cat({c.device_bytes_peak}));
        }
        text_ += "</table>\n";
    }

    void list_steps() {
        text_ +=
            "<table>\n<tr><th>step</th><th>kernel</th><th>ops</th><th>configuration</th>"
            "<th>makes</th><th>bytes</th><th>µs expected</th><th>µs measured</th><th>of</th>"
            "</tr>\n";
        for (std::size_t i = 0; i < p_.steps.size(); ++i) {
            const plan_step& s = p_.steps[i];
            std::string made;
            for (const int v : s.outputs)
                append_text(made, {made.empty() ? "" : "; ", name_of(v), " ",
                                   to_string(p_.at(v).type), " ", to_string(p_.at(v).extent)});
            text_ += "<tr>";
            number(cat({i}));
            cell(kernel(i));
            cell(ops(i));
            cell(records_[i] ? records_[i]->configuration : "");
            cell(made);
            number(cat({bytes(i)}));
            number(records_[i] && records_[i]->seconds > 0 ? tenths(records_[i]->seconds * 1e6)
                                                           : "");
            number(measured_[i] >= 0 ? tenths(measured_[i]) : "");
            cell(origin_of(s));
            text_ += "</tr>\n";
        }
        text_ += "</table>\n";
    }

    static std::string picture(std::int64_t width, std::int64_t height) {
        return cat({"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", width, " ", height,
                    "\" width=\"", width, "\" height=\"", height,
                    "\" font-family=\"sans-serif\" font-size=\"11\">\n"});
    }
    /// A rectangle with words that show where it is pointed at, and as many as it has room for.
    void box(std::int64_t x, std::int64_t y, std::int64_t w, std::int64_t h, std::size_t hue,
             std::string_view shown, const std::string& told) {
        append_text(text_, {"<g><title>", escape_xml(told), "</title><rect x=\"", x, "\" y=\"", y,
                            "\" width=\"", std::max<std::int64_t>(w, 1), "\" height=\"", h,
                            "\" fill=\"hsl(", hue * 137 % 360, ",60%,80%)\" stroke=\"#444\"/>"});
        const auto room = static_cast<std::size_t>(std::max<std::int64_t>(w / 7, 0));
        if (room > 3 && !shown.empty())
            append_text(text_, {"<text x=\"", x + 4, "\" y=\"", y + h / 2 + 4, "\">",
                                escape_xml(shown.size() > room
                                               ? cat({std::string(shown.substr(0, room - 1)), "…"})
                                               : std::string(shown)),
                                "</text>"});
        text_ += "</g>\n";
    }

    /// Of what stands before the slash: the same for all kernels of a family.
    static std::size_t hue_of(std::string_view kernel) {
        std::size_t sum = 0;
        for (const char c : kernel.substr(0, kernel.find('/')))
            sum = sum * 31 + static_cast<unsigned char>(c);
        return sum % 360;
    }

    void draw_plan() {
        constexpr std::int64_t w = 230, h = 30, across = 250, down = 56;
        array_list<std::int64_t> used;  // boxes of each level
        array_list<std::int64_t> column;
        std::int64_t widest = 1;
        for (const int level : levels_) {
            if (used.size() <= at(level)) used.resize(at(level) + 1, 0);
            column.push_back(used[at(level)]++);
            widest = std::max(widest, used[at(level)]);
        }
        text_ += picture(widest * across, static_cast<std::int64_t>(used.size()) * down);
        for (const edge& e : edges_)
            append_text(text_,
                        {"<line x1=\"", column[e.from] * across + w / 2, "\" y1=\"",
                         levels_[e.from] * down + h, "\" x2=\"", column[e.to] * across + w / 2,
                         "\" y2=\"", levels_[e.to] * down, "\" stroke=\"#888\"/>\n"});
        for (std::size_t i = 0; i < p_.steps.size(); ++i)
            box(column[i] * across, levels_[i] * down, w, h, hue_of(kernel(i)),
                cat({i, " ", what(i)}),
                cat({what(i), ", ", bytes(i), " bytes ", origin_of(p_.steps[i])}));
        text_ += "</svg>\n";
    }

    std::string memory_of_values() const {
        array_list<planned_buffer> buffers;
        array_list<int> number(p_.values.size(), -1);
        for (std::size_t v = 0; v < p_.values.size(); ++v) {
            const plan_value& value = p_.values[v];
            if (value.alias >= 0 || value.is_given() || value.made_by < 0) continue;
            number[v] = static_cast<int>(buffers.size());
            buffers.push_back({value.bytes(), static_cast<int>(p_.steps.size()),
                               value.role == value_role::output
                                   ? static_cast<int>(p_.steps.size()) - 1
                                   : 0,
                               -1, name_of(static_cast<int>(v))});
        }
        for (std::size_t i = 0; i < p_.steps.size(); ++i)
            for (const int v : p_.steps[i].buffers) {
                const int n = number[at(p_.root(v))];
                if (n < 0) continue;
                planned_buffer& b = buffers[at(n)];
                b.first = std::min(b.first, static_cast<int>(i));
                b.last = std::max(b.last, static_cast<int>(i));
            }
        return to_svg(plan_memory(buffers), buffers);
    }

    void draw_times() {
        double most = 0.1;
        for (std::size_t i = 0; i < p_.steps.size(); ++i)
            most = std::max({most, measured_[i], records_[i] ? records_[i]->seconds * 1e6 : 0});
        note("Of each step the time that was expected, pale, and below it the one measured.");
        text_ += picture(1200, static_cast<std::int64_t>(p_.steps.size()) * 26);
        for (std::size_t i = 0; i < p_.steps.size(); ++i) {
            const double expected = records_[i] ? records_[i]->seconds * 1e6 : 0;
            const auto bar = [&](double us, std::int64_t y, const char* fill) {
                append_text(text_, {"<rect x=\"300\" y=\"", y, "\" width=\"",
                                    static_cast<std::int64_t>(us / most * 800),
                                    "\" height=\"9\" "
                                    "fill=\"",
                                    fill, "\"/>"});
            };
            const auto y = static_cast<std::int64_t>(i) * 26;
            append_text(text_, {"<text x=\"0\" y=\"", y + 14, "\">",
                                escape_xml(cat({i, " ", kernel(i)})), "</text>"});
            if (expected > 0) bar(expected, y + 2, "#bcd");
            if (measured_[i] < 0) continue;
            bar(measured_[i], y + 11, "#357");
            append_text(text_, {"<text x=\"1110\" y=\"", y + 18, "\">", tenths(measured_[i]),
                                " µs</text>\n"});
        }
        text_ += "</svg>\n";
    }

    void draw_events() {
        constexpr std::size_t most = 4096;  // more than that are thinner than a line
        const profile& t = run_->times;
        double end = 1;
        for (const profile_event& e : t.events) end = std::max(end, e.begin_us + e.duration_us);
        note(cat({"The run over time, ", tenths(end), " µs."}));
        text_ += picture(1200, static_cast<std::int64_t>(t.tracks.size()) * 40);
        for (std::size_t i = 0; i < t.tracks.size(); ++i)
            append_text(text_, {"<text x=\"0\" y=\"", static_cast<std::int64_t>(i) * 40 + 12, "\">",
                                escape_xml(t.tracks[i]), "</text>\n"});
        for (std::size_t i = 0; i < t.events.size() && i < most; ++i) {
            const profile_event& e = t.events[i];
            const auto x = [&](double us) { return static_cast<std::int64_t>(us / end * 1200); };
            box(x(e.begin_us), e.track * 40 + 16, x(e.duration_us), 20, hue_of(e.name), e.name,
                cat({e.name, ", ", tenths(e.duration_us), " µs ", e.origin}));
        }
        text_ += "</svg>\n";
        if (t.events.size() > most) note(cat({t.events.size() - most, " more are not drawn."}));
    }

    struct edge {
        std::size_t from, to;
    };
    const executable& e_;
    const plan& p_;
    const measured_run* run_;
    const engine& engine_;
    array_list<std::shared_ptr<const kernel_record>> records_;
    array_list<double> measured_;  // of each step in µs; -1: not known
    array_list<edge> edges_;
    array_list<int> levels_;
    std::string text_;
};

/// What a run added to the counters; of memory, what there is after it.
inline statistics added(const statistics& before, statistics after) {
    after.dispatches -= before.dispatches;
    after.host_kernels -= before.host_kernels;
    after.submits -= before.submits;
    after.written_bytes -= before.written_bytes;
    after.uploaded_bytes -= before.uploaded_bytes;
    after.downloaded_bytes -= before.downloaded_bytes;
    return after;
}

}  // namespace detail

/// Runs a recorded graph three times: to have all compiled, to be counted, and under a profile,
/// where the context's device has a clock.
inline measured_run measure_run(const executable& e, span<const any_tensor> inputs) {
    const auto once = [&] {
        std::vector<any_tensor> results(e.outputs().size());
        e.run_into(results, inputs).wait();
    };
    once();
    measured_run r;
    const statistics before = e.where().stats();
    once();
    r.counted = detail::added(before, e.where().stats());
    try {
        profiler timing(e.where());
        once();
        r.times = timing.finish();
    } catch (const error& err) {
        if (err.code() != errc::unsupported) throw;
    }
    return r;
}

/// The page as HTML, with nothing from elsewhere. Throws errc::unsupported in an engine that has no
/// plans.
inline std::string report_page(const executable& e, const measured_run* run = nullptr) {
    return detail::report_writer(e, run).page();
}

/// Writes a page (HTML, self-contained) of what a recorded graph runs: its plan as a picture and
/// step by step, its memory over time, what a run of it with these inputs counts and takes, and why
/// each kernel was chosen. A compiled function's is `f.get(x)`, a model's `m.compile()`. Runs it
/// three times. Throws errc::io_failed where the file cannot be written.
inline void report(const executable& e, span<const any_tensor> inputs,
                   const std::filesystem::path& file) {
    const measured_run run = measure_run(e, inputs);
    detail::replaced_file out(file);
    out.stream << report_page(e, &run);
    out.finish("report");
}
/// The same of all that a lazy tensor needs, which is recorded for it; the tensor stays lazy.
/// Throws errc::invalid_argument where it has its values already.
inline void report(const any_tensor& x, const std::filesystem::path& file) {
    if (x.get()->realised())
        fail(
            errc::invalid_argument, "report",
            {"the tensor has its values already; report it before, or the function that makes it"});
    report(trace(context(x.get()->owner), {},
                 [&](span<const any_tensor>) { return std::vector<any_tensor>{x}; }),
           {}, file);
}

}}  // namespace pumice::PUMICE_ABI
