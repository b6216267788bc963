// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// shaders/element.slang on every device: what is stored is what was loaded, and casts are exact.
#include "support.hpp"

#include <pumice/core/scalar.hpp>
#include <pumice/exec/vulkan/float_controls.hpp>
#include <pumice/vk/command_cache.hpp>

#include <tests/support/skip.hpp>

#include <cmath>
#include <random>

using namespace pumice;
namespace vulkan = pumice::vulkan;

namespace {

/// A device with what it takes to run a kernel once.
struct device_under_test {
    std::shared_ptr<vulkan::queue> queue;
    vulkan::memory memory;
    vulkan::pipeline_factory pipelines;

    explicit device_under_test(std::shared_ptr<vulkan::device> device)
        : queue(std::make_shared<vulkan::queue>(device)), memory(queue), pipelines(device) {}

    const device_info& info() const { return queue->device()->info(); }

    /// Runs `code` over `threads` with the buffers' addresses and `n` as parameters; the buffers
    /// are read and written.
    void run(const spirv_code& code, std::vector<std::string*> buffers, std::int32_t n,
             std::uint32_t threads) {
        const vulkan::constant keeps{keeps_half_subnormals, info().preserves_denorm16};
        const auto kernel = pipelines.create(with_float_controls(code.words, info()), "test",
                                             {.constants = {&keeps, 1}});
        std::vector<vulkan::allocation> held;
        std::string block;
        for (const std::string* b : buffers) {
            held.push_back(memory.allocate(b->size(), vulkan::memory_usage::download));
            std::memcpy(held.back().mapped, b->data(), b->size());
            memory.flush(held.back(), 0, b->size());
            block.append(reinterpret_cast<const char*>(&held.back().device_address), 8);
        }
        block.append(reinterpret_cast<const char*>(&n), 4);
        held.push_back(memory.allocate(block.size(), vulkan::memory_usage::parameters));
        std::memcpy(held.back().mapped, block.data(), block.size());
        memory.flush(held.back(), 0, block.size());
        vulkan::commands c(queue->device());
        c.begin();
        c.bind(*kernel);
        c.push(held.back().device_address);
        c.dispatch((threads + 63) / 64);
        c.barrier(vulkan::scope::compute, vulkan::scope::host);
        c.end();
        queue->wait(queue->submit(c.handle()));
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            memory.invalidate(held[i], 0, buffers[i]->size());
            std::memcpy(buffers[i]->data(), held[i].mapped, buffers[i]->size());
        }
        for (const auto& a : held) memory.free(a);
    }
};

/// Calls `f` with each usable device; the case is skipped when there is none.
template <class F>
void on_every_device(F&& f) {
    std::shared_ptr<vulkan::instance> instance;
    try {
        instance = vulkan::instance::create({});
    } catch (const error& e) {
        PUMICE_SKIP("device", e.what());
    }
    int seen = 0;
    for (const vulkan::candidate& c : instance->candidates()) {
        if (!c.refusals.empty()) continue;
        device_under_test d(vulkan::device::create(instance, c, {}));
        CAPTURE(d.info().name);
        f(d);
        ++seen;
    }
    if (seen == 0) PUMICE_SKIP("device", "no Vulkan device");
}

kernel_service& service() {
    static test::folder cache;
    static kernel_service s([] {
        service_options o;
        for (library_module& m : test::library())
            if (m.name == "element") o.modules.push_back(std::move(m));
        o.cache_folder = cache.path;
        return o;
    }());
    return s;
}

kernel_request request(const std::string& name, const std::string& text) {
    return {name, "run", {}, {{name, text}}};
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
T value_at(const std::string& bytes, std::size_t i) {
    return detail::load_element<T>(reinterpret_cast<const std::byte*>(bytes.data()),
                                   static_cast<std::int64_t>(i));
}
template <class T>
constexpr std::size_t bits_of = static_cast<std::size_t>(info(dtype_of<T>).bits);

/// Values at which casts go wrong: ends of ranges, ties, subnormals, infinities, NaN; then any
/// bits.
template <class T>
std::vector<T> interesting() {
    std::mt19937_64 bits(7);
    std::vector<T> v;
    if constexpr (std::is_same_v<T, bool>) {
        return v;  // a vector of bool has no storage; see bytes_for
    } else if constexpr (packed_element<T>) {
        return v;  // nor have elements that share bytes
    } else if constexpr (sizeof(T) <= 2) {
        for (unsigned i = 0; i < (sizeof(T) == 1 ? 256u : 65536u); ++i) {
            T value;
            std::memcpy(static_cast<void*>(&value), &i, sizeof(T));
            v.push_back(value);
        }
    } else if constexpr (std::is_floating_point_v<T>) {
        const auto around = [&v](double x) {
            const T y = static_cast<T>(x);
            for (T s : {T(1), T(-1)})
                for (T z : {y, std::nextafter(y, T(0)), std::nextafter(y, T(INFINITY))})
                    v.push_back(s * z);
        };
        for (int e = -30; e <= 70; ++e) around(std::ldexp(1.0, e)), around(std::ldexp(1.5, e));
        for (int i = 0; i < 300; ++i) around(i), around(i + 0.5);
        for (unsigned h = 0; h < 0x7c00; h += 3) {  // f16 values and the ties between them
            const double a = detail::half_to_float(static_cast<std::uint16_t>(h));
            const double b = detail::half_to_float(static_cast<std::uint16_t>(h + 1));
            if (h < 0x7bff) around(a), around((a + b) / 2);
        }
        around(65519.0), around(65520.0), around(3.4e38), around(3.3961775e38);
        for (double x : {32767.0, 32768.0, 65535.0, 2147483647.0, 4294967295.0, 9.3e18, 1.9e19})
            around(x);
        for (T x : {T(INFINITY), -T(INFINITY), std::numeric_limits<T>::quiet_NaN(), T(0), T(-0.0)})
            v.push_back(x);
        for (int i = 0; i < 4000; ++i)
            v.push_back(static_cast<T>(static_cast<double>(bits()) *
                                       std::ldexp(1, static_cast<int>(bits() % 120) - 110)));
    } else {
        for (unsigned e = 0; e < sizeof(T) * 8; ++e)
            for (int d = -2; d <= 2; ++d) {
                v.push_back(static_cast<T>((std::uint64_t{1} << e) +
                                           static_cast<std::uint64_t>(d)));
                v.push_back(static_cast<T>(~(std::uint64_t{1} << e) +
                                           static_cast<std::uint64_t>(d)));
            }
        for (int i = 0; i < 4000; ++i) v.push_back(static_cast<T>(bits() >> (bits() % 64)));
    }
    return v;
}

/// The element values of a type as they lie in memory, a multiple of 16 of them.
std::string bytes_for(dtype type) {
    return visit(type, [](auto zero) {
        using T = decltype(zero);
        std::string b;
        if constexpr (std::is_same_v<T, bool>) b.assign("\0\1\1\0\0\0\1\1", 8);
        else if constexpr (packed_element<T>)
            for (int i = 0; i < 256; ++i) b += static_cast<char>(i);
        else b = bytes_of(interesting<T>());
        b.resize((b.size() * 8 / bits_of<T> + 15) / 16 * 2 * bits_of<T>, '\0');
        return b;
    });
}

/// The cast as core/element says it.
template <class To, class From>
To cast(From from) {
    if constexpr (converts_by_float<From>) {
        return cast<To>(static_cast<float>(from));
    } else if constexpr (packed_element<From> || packed_element<To>) {
        return convert<To>(from);
    } else if constexpr (std::is_same_v<To, bool>) {
        return from != From(0);
    } else if constexpr (converts_by_float<To>) {
        // No value of these tests rounds twice on its way through float, but for the doubles
        if constexpr (std::is_same_v<From, double>) {
            float f = static_cast<float>(from);
            if (static_cast<double>(f) != from && (std::bit_cast<std::uint32_t>(f) & 1u) == 0)
                f = std::nextafter(f, static_cast<double>(f) < from ? INFINITY : -INFINITY);
            return To(f);
        } else {
            return To(static_cast<float>(from));
        }
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        using limits = std::numeric_limits<To>;
        if (from != from) return 0;
        if (from >= std::ldexp(From(1), limits::digits)) return limits::max();
        if (from <= static_cast<From>(limits::min())) return limits::min();
        return static_cast<To>(from);
    } else {
        return static_cast<To>(from);
    }
}

/// How many elements differ; NaN equals NaN, and a float that went through a driver's conversion
/// may have been flushed where it was subnormal.
template <class To>
std::size_t differences(const std::string& got, const std::string& expected, std::size_t& first) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < expected.size() * 8 / bits_of<To>; ++i) {
        const To a = value_at<To>(got, i), b = value_at<To>(expected, i);
        bool same = std::memcmp(&a, &b, sizeof(To)) == 0;
        if constexpr (is_floating(dtype_of<To>)) {
            const auto x = static_cast<double>(a), y = static_cast<double>(b);
            same = same || (x != x && y != y);
            if constexpr (sizeof(To) >= 4) same = same || (x == 0 && std::fabs(y) < 1.2e-38);
        }
        if (!same && count++ == 0) first = i;
    }
    return count;
}

}  // namespace

TEST_CASE("elements come back as they were, one, four, eight and sixteen at a time") {
    on_every_device([](device_under_test& d) {
        for (const dtype_info& row : dtype_table) {
            const auto type = static_cast<dtype>(&row - dtype_table.data());
            if (!d.info().supports(type)) continue;
            CAPTURE(row.name);
            const std::string e(row.slang), name = "move_" + e;
            const auto code = service().get(
                request(name,
                        "import element;\n"
                        "public struct Params { public " +
                            e + ".Storage* x; public " + e + ".Storage* y; public " + e +
                            ".Storage* z; public int n; }\n"
                            "[shader(\"compute\")] [numthreads(64, 1, 1)]\n"
                            "public void run(uint3 t : SV_DispatchThreadID, uniform Params* p)\n"
                            "{\n"
                            "    let q = *p;\n"
                            "    int i = int(t.x) * 16;\n"
                            "    if (i >= q.n) return;\n"
                            "    " +
                            e + ".Arith eight[8], four[4];\n    " + e +
                            ".loadRun<int, 8>(q.x, i, eight);\n    " + e +
                            ".storeRun<int, 8>(q.y, i, eight);\n    " + e +
                            ".loadRun<int64_t, 4>(q.x, int64_t(i + 8), four);\n    " + e +
                            ".storeRun<int64_t, 4>(q.y, int64_t(i + 8), four);\n"
                            "    for (int k = 12; k < 16; ++k) " +
                            e + ".store(q.y, i + k, " + e + ".load(q.x, int64_t(i + k)));\n    " +
                            e + ".Arith sixteen[16];\n    " + e +
                            ".loadRun<int, 16>(q.x, i, sixteen);\n    " + e +
                            ".storeRun<int, 16>(q.z, i, sixteen);\n"
                            "}\n"));
            std::string x = bytes_for(type), y(x.size(), '\x55'), z = y;
            const auto n =
                static_cast<std::int32_t>(x.size() * 8 / static_cast<std::size_t>(row.bits));
            d.run(*code, {&x, &y, &z}, n, static_cast<std::uint32_t>(n) / 16);
            std::size_t first = 0;
            for (const std::string* got : {&y, &z}) {
                const std::size_t wrong = visit(type, [&](auto zero) {
                    return differences<decltype(zero)>(*got, x, first);
                });
                CAPTURE(first);
                CHECK(wrong == 0);
            }
        }
    });
}

TEST_CASE("casts saturate, wrap and round as they should, from every type to every type") {
    on_every_device([](device_under_test& d) {
        for (const dtype_info& from : dtype_table) {
            const auto type = static_cast<dtype>(&from - dtype_table.data());
            if (!d.info().supports(type)) continue;
            CAPTURE(from.name);
            const std::string e(from.slang);
            std::string fields, lines;
            std::vector<dtype> targets;
            std::vector<std::string> results;
            std::string x = bytes_for(type);
            const std::size_t n = x.size() * 8 / static_cast<std::size_t>(from.bits);
            for (const dtype_info& to : dtype_table) {
                const auto target = static_cast<dtype>(&to - dtype_table.data());
                if (!d.info().supports(target)) continue;
                const std::string t(to.slang);
                fields += "public " + t + ".Storage* y_" + t + "; ";
                lines += "    " + t + ".store(q.y_" + t + ", i, " + t + ".from(v));\n";
                targets.push_back(target);
                results.emplace_back(n * static_cast<std::size_t>(to.bits) / 8, '\x55');
            }
            const auto code = service().get(
                request("casts_" + e,
                        "import element;\n"
                        "public struct Params { public " +
                            e + ".Storage* x; " + fields +
                            "public int n; }\n"
                            "[shader(\"compute\")] [numthreads(64, 1, 1)]\n"
                            "public void run(uint3 t : SV_DispatchThreadID, uniform Params* p)\n"
                            "{\n"
                            "    let q = *p;\n"
                            "    int i = int(t.x);\n"
                            "    if (i >= q.n) return;\n"
                            "    let v = " +
                            e + ".load(q.x, i);\n" + lines + "}\n"));
            std::vector<std::string*> buffers{&x};
            for (std::string& r : results) buffers.push_back(&r);
            d.run(*code, buffers, static_cast<std::int32_t>(n), static_cast<std::uint32_t>(n));
            for (std::size_t k = 0; k < targets.size(); ++k) {
                CAPTURE(to_string(targets[k]));
                std::size_t first = 0;
                std::string note;
                const std::size_t wrong = visit(type, [&](auto a) {
                    return visit(targets[k], [&](auto b) {
                        using From = decltype(a);
                        using To = decltype(b);
                        std::string expected(n * bits_of<To> / 8, '\0');
                        for (std::size_t i = 0; i < n; ++i)
                            detail::store_element(reinterpret_cast<std::byte*>(expected.data()),
                                                  static_cast<std::int64_t>(i),
                                                  cast<To>(value_at<From>(x, i)));
                        const std::size_t count = differences<To>(results[k], expected, first);
                        const auto show = [](auto value) {
                            return std::to_string(convert<double>(value));
                        };
                        note = "x " + show(value_at<From>(x, first)) + " gave " +
                               show(value_at<To>(results[k], first)) + " for " +
                               show(value_at<To>(expected, first));
                        return count;
                    });
                });
                CAPTURE(first);
                CAPTURE(note);
                CHECK(wrong == 0);
            }
        }
    });
}
