// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A compiled function or a model in one mapped file, or in a folder: what runs, its signature, its
// weights and its kernels.
#pragma once

#include <pumice/base/expected.hpp>
#include <pumice/base/of_engine.hpp>
#include <pumice/graph/custom_kernel.hpp>
#include <pumice/tensor/compile.hpp>

#include <concepts>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// An input or output. Where it stands for real numbers these are scale * (stored - zero_point), of
/// the tensor or along `axis`.
struct package_value {
    std::string name;
    pumice::dtype dtype = pumice::dtype::f32;
    pumice::shape shape = {};
    std::vector<float> scale = {};
    std::vector<std::int64_t> zero_point = {};
    std::optional<std::int64_t> axis = {};
};

enum class package_form : std::uint8_t {
    file,   // one
    folder  // package.index, and partition_0/ with graph.json, weights.bin and the kernels
};

struct package_options {
    std::string name = "model";
    /// Names of an executable's values; "input0" and "output0" where there are fewer.
    std::vector<std::string> inputs = {}, outputs = {};
    /// Kernels of the device that it was compiled on come along, where that is one of Vulkan's.
    bool own_kernels = true;
    /// And those that it takes on these.
    std::vector<device_info> devices = {};
    package_form form = package_form::file;
};

/// What a plan names that is the program's: elementwise ops of its own, which are found by name and
/// text, and kernels in place of those that the package has, for their function on the host.
struct package_names {
    std::vector<const op_info*> ops = {};
    std::vector<std::shared_ptr<const custom_kernel>> kernels = {};
};

/// What there is of a package but its values.
struct package_contents {
    std::string name;
    std::vector<package_value> inputs, outputs;
    std::vector<std::string> devices;        // that it has kernels for
    std::vector<std::string> compute_nodes;  // kernels that the model brings, by name
    std::int64_t weight_bytes = 0;
};

namespace detail {

struct loaded_package {
    package_contents contents;
    executable recorded;
};

template <int = 0>
PUMICE_OF_ENGINE void save_package(const std::filesystem::path& to, const executable& e,
                                   const package_contents& signature,
                                   const package_options& options);
template <int = 0>
PUMICE_OF_ENGINE loaded_package load_package(const std::filesystem::path& from, const context& home,
                                             const package_names& names);
template <int = 0>
PUMICE_OF_ENGINE package_contents look_into_package(const std::filesystem::path& from, bool whole);
template <int = 0>
PUMICE_OF_ENGINE bool has_package_magic(const std::filesystem::path& from);

inline void name_values(std::vector<package_value>& to, span<const executable::value> values,
                        span<const std::string> names, std::string_view otherwise) {
    if (names.size() > values.size())
        fail(errc::invalid_argument, "package",
             {names.size(), " names for ", values.size(), " ", otherwise, "s"});
    for (std::size_t i = 0; i < values.size(); ++i)
        to.push_back({i < names.size() ? names[i] : cat({otherwise, i}), values[i].dtype,
                      values[i].shape});
}

}  // namespace detail

/// A model as a package takes it: what <pumice/model.hpp> has.
template <class Model>
concept packable_model = requires(const Model& m, span<const shape> shapes) {
    m.inputs()[0].name;
    m.inputs()[0].scale;
    { m.compile(shapes) } -> std::same_as<executable>;
};

/// A handle, as the executable within is: copies share it, any thread may run it.
class package {
public:
    /// Writes what the executable runs, its constants, and kernels. The same executable gives the
    /// same bytes, in each process. A file is there whole or not at all; a folder must not be there
    /// yet. Throws errc::io_failed; errc::unsupported for an executable of varying extents and for
    /// an engine without plans; errc::invalid_argument for two values of one name; and what
    /// compiling a kernel for a device of `options` does.
    static void save(const std::filesystem::path& to, const executable& e,
                     const package_options& options = {}) {
        package_contents c;
        c.name = options.name;
        detail::name_values(c.inputs, e.inputs(), options.inputs, "input");
        detail::name_values(c.outputs, e.outputs(), options.outputs, "output");
        detail::of_engine (&detail::save_package<>)(to, e, c, options);
    }
    /// A model for these shapes of its inputs (those of its file where left out, an open axis
    /// as 1), with the names and scales that it has. Throws what compiling it does.
    template <packable_model Model>
    static void save(const std::filesystem::path& to, const Model& m,
                     const package_options& options = {}, span<const shape> shapes = {}) {
        const executable e = m.compile(shapes);
        package_contents c;
        c.name = options.name;
        const auto put = [](std::vector<package_value>& list, const auto& values,
                            span<const executable::value> recorded) {
            for (std::size_t i = 0; i < recorded.size(); ++i) {
                list.push_back({values[i].name, recorded[i].dtype, recorded[i].shape,
                                values[i].scale, values[i].zero_point, values[i].axis});
                if (auto& axis = list.back().axis; axis && *axis < 0)
                    *axis += recorded[i].shape.rank();
            }
        };
        put(c.inputs, m.inputs(), e.inputs());
        put(c.outputs, m.outputs(), e.outputs());
        detail::of_engine (&detail::save_package<>)(to, e, c, options);
    }

    /// Ready to run in a context, from a file or a folder. Kernels that it has for the context's
    /// device are taken, others compiled. On the host device weights are read where the file is
    /// mapped, without a copy: the file must stay as it is, and may be removed. Throws
    /// errc::io_failed; errc::bad_file for what is damaged, of another version, or has ops of the
    /// program's that `names` lacks; errc::no_slang where a kernel is missing and nothing can
    /// compile it.
    static package load(const std::filesystem::path& from, const context& home = default_context(),
                        const package_names& names = {}) {
        return package(detail::of_engine(&detail::load_package<>)(from, home, names));
    }
    static expected<package> try_load(const std::filesystem::path& from,
                                      const context& home = default_context(),
                                      const package_names& names = {}) {
        return attempt([&] { return load(from, home, names); });
    }

    /// What a file has, without a device. Throws what `load` does but for kernels.
    static package_contents contents(const std::filesystem::path& from) {
        return detail::of_engine(&detail::look_into_package<>)(from, false);
    }
    /// The same, when every byte of the weights has been compared with its checksum too, which
    /// `load` leaves out. Throws errc::bad_file for the first that differs.
    static package_contents check(const std::filesystem::path& from) {
        return detail::of_engine(&detail::look_into_package<>)(from, true);
    }
    /// Whether a file or a folder begins as packages do.
    static bool is_package(const std::filesystem::path& from) {
        return detail::of_engine(&detail::has_package_magic<>)(from);
    }

    const std::string& name() const noexcept { return self_->contents.name; }
    span<const package_value> inputs() const noexcept { return self_->contents.inputs; }
    span<const package_value> outputs() const noexcept { return self_->contents.outputs; }
    const package_contents& contents() const noexcept { return self_->contents; }
    const context& where() const noexcept { return self_->recorded.where(); }
    /// What runs.
    const executable& recorded() const noexcept { return self_->recorded; }

    /// As an executable runs.
    std::vector<any_tensor> run(span<const any_tensor> inputs) const {
        return recorded().run(inputs);
    }
    std::vector<any_tensor> run(std::initializer_list<any_tensor> inputs) const {
        return recorded().run(inputs);
    }

private:
    explicit package(detail::loaded_package&& made)
        : self_(std::make_shared<const detail::loaded_package>(std::move(made))) {}
    std::shared_ptr<const detail::loaded_package> self_;
};

}}  // namespace pumice::PUMICE_ABI
