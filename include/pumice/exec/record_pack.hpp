// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Recording packs: a program runs once, and the kernels that it needed are kept for programs
// without Slang.
#pragma once

#include <pumice/exec/kernel_requests.hpp>
#include <pumice/tensor/context.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {
constexpr std::size_t largest_pack = std::size_t{1} << 30;  // that is read to be added to
}

/// Gathers the kernels of the contexts that hold its sink. Any thread.
class pack_recorder {
public:
    pack_recorder() : pack_(library()) {}

    static digest library() { return kernel_service::digest_of_library(shader_library()); }

    void add(const kernel_name& name, span<const std::uint32_t> words) {
        const std::lock_guard lock(mutex_);
        pack_.add({name.high, name.low}, spirv_code{{words.begin(), words.end()}});
    }
    /// Kernels of an older recording by the same library; of any other they are forgotten.
    void add_file(const std::string& file) {
        const std::optional<std::string> bytes = detail::read_file(file, detail::largest_pack);
        if (!bytes) return;
        const std::lock_guard lock(mutex_);
        try {
            pack_.add(kernel_pack(as_bytes(span(*bytes)), library(), file));
        } catch (const error&) {
        }
    }
    std::string bytes() const {
        const std::lock_guard lock(mutex_);
        return pack_.bytes();
    }

private:
    mutable std::mutex mutex_;
    kernel_pack pack_;
};

namespace detail {

/// Throws errc::invalid_argument for what is there and is no pack: it would be written over.
inline void must_be_pack(const std::string& path) {
    std::error_code failed;
    if (!fs::exists(path, failed)) return;
    const std::optional<std::string> bytes = read_file(path, largest_pack);
    if (bytes && (bytes->empty() || kernel_pack::begins(as_bytes(span(*bytes))))) return;
    throw error(errc::invalid_argument, "pack",
                cat({path, " is there and is no pack, so no kernels are recorded into it"}),
                {"let PUMICE_RECORD_PACK name a pack, or a file that is not there"});
}

/// Writes its kernels to a file when the last context that tells it of some is gone.
struct pack_file : pack_recorder {
    explicit pack_file(std::string to) : path(std::move(to)) { must_be_pack(path); }
    ~pack_file() {
        try {
            must_be_pack(path);
            add_file(path);
            const std::string whole = bytes();
            if (const std::error_code failed =
                    write_whole(path + "." + unique_name(), path, whole, readable_by::others))
                write_log(severity::error,
                          cat({"[pack] cannot write ", path, ": ", failed.message()}));
        } catch (const error& e) {
            write_log(severity::error, e.what());
        } catch (const std::exception&) {  // no memory for it: the file stays as it was
            write_log(severity::error, "[pack] the kernels that were recorded are not written");
        }
    }
    std::string path;
};

/// The recorder of a file, shared by all contexts of the process.
inline std::shared_ptr<pack_file> recorder_of(const std::string& name) {
    const std::string path = behind_links(name).string();
    static std::mutex mutex;
    static std::weak_ptr<pack_file> current;
    const std::lock_guard lock(mutex);
    std::shared_ptr<pack_file> recorder = current.lock();
    if (!recorder || recorder->path != path) {
        recorder = std::make_shared<pack_file>(path);
        current = recorder;
    }
    return recorder;
}

struct recorded_into {
    std::shared_ptr<pack_recorder> recorder;
    void apply(policy_set& set) const {
        set.kernel_sink = [to = recorder](const kernel_name& name,
                                          span<const std::uint32_t> words) {
            to->add(name, words);
        };
    }
};

/// PUMICE_PACK: kernels from that pack, where the program names none. PUMICE_RECORD_PACK: those
/// that the program uses go into that file, beside what it holds already.
inline void apply_pack_environment(policy_set& policies) {
    if (const std::string from = environment("PUMICE_PACK");
        !from.empty() && policies.pack_file.empty() && policies.pack_bytes.empty())
        policies.pack_file = from;
    if (const std::string to = environment("PUMICE_RECORD_PACK");
        !to.empty() && !policies.kernel_sink)
        recorded_into{recorder_of(to)}.apply(policies);
}

}  // namespace detail

/// A pack of the kernels that `work(context)` uses on a context of these policies. With null_device
/// nothing runs, and kernels for a device that is not here are gathered; else they are those of the
/// device that the policies find. The same work gives the same bytes.
template <class Work, policy... Policies>
std::string record_pack(const Work& work, const Policies&... policies) {
    const auto recorder = std::make_shared<pack_recorder>();
    const context home(policies..., detail::recorded_into{recorder});
    work(home);
    return recorder->bytes();
}

}}  // namespace pumice::PUMICE_ABI
