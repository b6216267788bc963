// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of slang/: a folder that vanishes, requests to compile, the library's
// modules.
#pragma once

#include <pumice/shaders.hpp>
#include <pumice/slang/service.hpp>

#include <doctest/doctest.h>

namespace test {

namespace fs = std::filesystem;

/// A folder of its own, removed with all that is in it.
struct folder {
    fs::path path = fs::temp_directory_path() / ("pumice-" + pumice::detail::unique_name());

    folder() { fs::create_directories(path); }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }

    /// All files below it.
    std::vector<fs::path> files() const {
        std::vector<fs::path> found;
        for (const auto& e : fs::recursive_directory_iterator(path))
            if (e.is_regular_file()) found.push_back(e.path());
        return found;
    }
};

/// The modules of shaders/.
inline pumice::array_list<pumice::library_module> library() {
    pumice::array_list<pumice::library_module> modules;
    for (const pumice::shader_source& s : pumice::shader_sources) {
        modules.push_back({std::string(s.name), {}});
        for (std::string_view piece : s.pieces) modules.back().source += piece;
    }
    return modules;
}

/// A small library of one generic kernel, so that a compilation takes little.
inline pumice::array_list<pumice::library_module> small_library() {
    return {{"fill", R"(module fill;
public interface IValue { static uint value(uint i); }
[shader("compute")] [numthreads(64, 1, 1)]
public void run<V : IValue, let STEP : int>(uint3 t : SV_DispatchThreadID, uniform uint* p)
{
    p[t.x] = V.value(t.x) + STEP;
}
)"}};
}

/// A kernel of the small library: p[i] = i * factor + step.
inline pumice::kernel_request small_request(int factor = 3, int step = 1) {
    const std::string name = "times_" + std::to_string(factor);
    return {"fill",
            "run",
            {name, std::to_string(step)},
            {{name, "import fill;\npublic struct " + name +
                        " : IValue { public static uint value(uint i) { return i * " +
                        std::to_string(factor) + "; } }\n"}}};
}

inline pumice::service_options options_in(const fs::path& cache) {
    pumice::service_options o;
    o.modules = small_library();
    o.cache_folder = cache;
    return o;
}

inline bool is_spirv(const pumice::spirv_code& code) {
    return code.words.size() > 20 && code.words[0] == 0x07230203u;
}

}  // namespace test
