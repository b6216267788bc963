// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a runner takes and gives: a runner_tensor owns its memory, a runner_tensor_view shows what
// somebody else keeps alive.
#pragma once

#include <pumice/runner/options.hpp>
#include <pumice/tensor/context.hpp>
#include <pumice/tensor/memory.hpp>

#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// real = scale * (stored - zero_point), per tensor or along `axis`.
struct quantization {
    std::vector<float> scale;
    std::vector<std::int64_t> zero_point;
    std::optional<std::int64_t> axis = {};
};

/// An input or output in one of its views.
struct tensor_info {
    std::string name;
    pumice::dtype dtype = pumice::dtype::f32;
    pumice::shape shape;        // as it lies in memory: of the layout's
    memory_layout layout = {};  // in which the host's array lies there
    io_view view = io_view::host;
    std::optional<pumice::quantization> quantization = {};

    std::int64_t bytes() const { return byte_count(dtype, element_count(shape)); }
};

/// Whether a run reads or writes the memory where it lies: in the hardware view all but ordinary
/// host memory, which that view refuses; in the host's view a run copies.
constexpr bool is_zero_copy(io_view v, memory_kind kind) noexcept {
    return v == io_view::hardware && kind != memory_kind::host;
}

namespace detail {

/// Of a tensor. What a run borrows of it is given back when the run is submitted.
class tensor_state {
public:
    tensor_state(const context& home, tensor_info what, memory_kind where,
                 std::shared_ptr<placed_memory> memory, std::int64_t begin, std::byte* host,
                 std::shared_ptr<std::byte[]> owned = nullptr)
        : info(std::move(what)), kind(where), bytes(info.bytes()), home_(home),
          own_(std::move(owned)), placed_(std::move(memory)), begin_(begin), host_(host) {
        if (info.view == io_view::hardware && kind == memory_kind::host)
            fail(errc::invalid_argument, "runner_tensor",
                 {"\"", info.name,
                  "\" in the hardware view cannot lie in ordinary host memory, which the device "
                  "does not see; take the host view, or memory of kind device, fd or host_import"});
        if (placed_) lent_ = make();
    }
    tensor_state(const tensor_state&) = delete;
    tensor_state& operator=(const tensor_state&) = delete;
    ~tensor_state() {
        if (placed_ && lent_.has_value()) placed_->used(lent_);
    }

    /// The values as a tensor of the engine's that nobody else has. Pre: it is placed.
    any_tensor make() const {
        return bytes > 0 ? placed_->tensor(info.dtype, info.shape, begin_)
                         : any_tensor(home_.get()->create(info.dtype, info.shape, nullptr));
    }
    /// The same; `kept` says whether it is the one that is kept for the next run, and not made anew
    /// since another run has that.
    any_tensor borrow(bool& kept) const {
        kept = !is_lent_.exchange(true, std::memory_order_acquire);
        return kept ? std::move(lent_) : make();
    }
    void give_back(any_tensor&& t, bool kept) const noexcept {
        if (t.get()->data) t.get()->data->lost = false;  // the run has told its status
        if (!kept) {
            if (bytes > 0) placed_->used(t);
            t = {};
            return;
        }
        lent_ = std::move(t);
        is_lent_.store(false, std::memory_order_release);
    }

    std::byte* data() const noexcept {
        if (kind == memory_kind::host) return host_;
        std::byte* const first = placed_->mapped();
        return first ? first + begin_ : nullptr;
    }
    /// `shown`: what is to be seen is of a run that makes it so by itself.
    void sync(sync_direction to, bool shown = false) const {
        if (placed_) placed_->sync(to, begin_, bytes, shown);
    }
    bool needs_sync() const noexcept { return placed_ && !placed_->coherent(); }
    void write(span<const std::byte> from) const {
        if (bytes == 0) return;
        array_list<std::byte> room;
        from = with_whole_bools(info.dtype, from, room);
        if (std::byte* const to = data()) {
            std::memcpy(to, from.data(), from.size());
            return sync(sync_direction::to_device);
        }
        // A tensor of its own, since what the kept one knows of the host's copy would grow stale.
        const any_tensor t = make();
        home_.get()->write(t.get(), 0, from);
        home_.get()->upload(span(&t.get(), 1));
        placed_->used(t);
    }
    void read(span<std::byte> to) const {
        if (bytes == 0) return;
        if (const std::byte* const from = data()) {
            sync(sync_direction::from_device);
            std::memcpy(to.data(), from, to.size());
            return;
        }
        const any_tensor t = make();
        home_.get()->read(t.get(), to.data());
        placed_->used(t);
    }

    const std::shared_ptr<placed_memory>& placed() const noexcept { return placed_; }
    const std::shared_ptr<std::byte[]>& own() const noexcept { return own_; }
    std::int64_t begin() const noexcept { return begin_; }
    const context& home() const noexcept { return home_; }

    const tensor_info info;
    const memory_kind kind;
    const std::int64_t bytes;

private:
    context home_;
    std::shared_ptr<std::byte[]> own_;       // of the host's memory, where it owns that
    std::shared_ptr<placed_memory> placed_;  // null of ordinary host memory; goes before `own_`
    std::int64_t begin_;                     // in it
    std::byte* host_;
    mutable any_tensor lent_;
    mutable std::atomic<bool> is_lent_{false};
};

}  // namespace detail

class runner_tensor;

/// Shows a tensor that somebody keeps alive, or memory of the program's own, while a run needs it.
class runner_tensor_view {
public:
    /// Of nothing; a run refuses it.
    runner_tensor_view() = default;
    runner_tensor_view(const runner_tensor& owner) noexcept;

    /// Ordinary memory of at least info.bytes(). Throws errc::invalid_argument for a null pointer,
    /// and for the hardware view, which cannot lie there.
    runner_tensor_view(const context& home, const tensor_info& info, void* data)
        : kept_(std::make_shared<detail::tensor_state>(home, info, memory_kind::host, nullptr, 0,
                                                       static_cast<std::byte*>(data))) {
        if (!data && info.bytes() > 0)
            fail(errc::invalid_argument, "runner_tensor",
                 {"\"", info.name, "\" is given a null pointer"});
        state_ = kept_.get();
    }
    /// Pages of the host's that the device reads and writes where they lie. `data` is a multiple of
    /// 16 bytes. Throws errc::unsupported where the device does not take them.
    static runner_tensor_view import_host(const context& home, const tensor_info& info,
                                          void* data) {
        return {home, info, {memory_kind::host_import, info.bytes(), data}};
    }
    /// What another process, or another context, has exported with so many bytes. The descriptor
    /// stays the caller's and may be closed. Throws errc::unsupported.
    static runner_tensor_view import_fd(const context& home, const tensor_info& info, int fd,
                                        bool dma_buf = false, int heap = -1) {
        if (fd < 0) fail(errc::invalid_argument, "runner_tensor", {fd, " is no file descriptor"});
        return {home, info, {memory_kind::fd, info.bytes(), nullptr, fd, dma_buf, heap}};
    }

    bool has_value() const noexcept { return state_ != nullptr; }
    /// Throws errc::invalid_argument of nothing.
    const tensor_info& info() const { return get().info; }
    memory_kind kind() const { return get().kind; }

    // Accessors give null, 0 or -1 where there is nothing.

    /// Where the host sees the values; null where it does not. What a run has written is there
    /// after `sync(sync_direction::from_device)`, which runs do unless told not to.
    std::byte* data() const noexcept { return state_ ? state_->data() : nullptr; }
    template <element T>
    T* data_as() const noexcept {
        return state_ && state_->info.dtype == dtype_of<T> ? reinterpret_cast<T*>(data()) : nullptr;
    }
    std::int64_t size_bytes() const noexcept { return state_ ? state_->bytes : 0; }

    /// Makes one side see what the other has written, in memory that both map; elsewhere it does
    /// nothing. Runs that use the tensor are done, or not begun. Throws what the device reports.
    void sync(sync_direction to) const { get().sync(to); }
    /// A descriptor of all of the memory, which the caller closes. Throws errc::unsupported.
    int export_fd() const {
        const detail::tensor_state& s = get();
        if (s.kind != memory_kind::fd)
            fail(errc::unsupported, "runner_tensor",
                 {"\"", s.info.name, "\" lies in memory of kind ", to_string(s.kind),
                  ", and only that of kind fd is exported"});
        return s.placed()->export_fd();
    }

    /// Copies, wherever the memory lies. Throws errc::shape_mismatch for another number of bytes.
    void write(span<const std::byte> bytes) const {
        must_have(bytes.size());
        get().write(bytes);
    }
    void read(span<std::byte> bytes) const {
        must_have(bytes.size());
        get().read(bytes);
    }

    const detail::tensor_state* state() const noexcept { return state_; }

protected:
    runner_tensor_view(const context& home, const tensor_info& info, const placed_request& wanted)
        : kept_(std::make_shared<detail::tensor_state>(
              home, info, wanted.kind, detail::of_engine(&place_memory<>)(home.get(), wanted), 0,
              nullptr)) {
        state_ = kept_.get();
    }
    const detail::tensor_state& get() const {
        if (!state_) fail(errc::invalid_argument, "runner_tensor", {"the tensor is empty"});
        return *state_;
    }
    /// Of n bytes, or refuses.
    void must_have(std::size_t n) const {
        if (static_cast<std::int64_t>(n) != get().bytes)
            fail(errc::shape_mismatch, "runner_tensor",
                 {n, " bytes for \"", get().info.name, "\", which has ", get().bytes});
    }

    const detail::tensor_state* state_ = nullptr;
    std::shared_ptr<const detail::tensor_state> kept_;  // of memory of the program's own
};

/// Owns its memory; copies share it, and so do sub-tensors, at any depth: it goes with the last.
/// Threads may use copies at once.
class runner_tensor : public runner_tensor_view {
public:
    runner_tensor() = default;
    /// Zeros, or memory that nobody has written, of a kind. Throws errc::unsupported where the
    /// device has none, errc::out_of_memory, errc::invalid_argument for the hardware view in
    /// ordinary host memory.
    runner_tensor(const context& home, const tensor_info& info,
                  memory_kind kind = memory_kind::device, int heap = -1, bool dma_buf = false);

    /// `count` rows of the first axis from `first` on, in the same memory. Throws
    /// errc::index_out_of_range, and errc::invalid_argument where no kernel could read from there.
    runner_tensor sub(std::int64_t first, std::int64_t count = 1) const;

private:
    explicit runner_tensor(std::shared_ptr<const detail::tensor_state> s) {
        kept_ = std::move(s);
        state_ = kept_.get();
    }
};

inline runner_tensor_view::runner_tensor_view(const runner_tensor& owner) noexcept
    : state_(owner.state()) {}

inline runner_tensor::runner_tensor(const context& home, const tensor_info& info, memory_kind kind,
                                    int heap, bool dma_buf) {
    const auto size = static_cast<std::size_t>(info.bytes());
    std::shared_ptr<std::byte[]> own;
    std::shared_ptr<placed_memory> placed;
    std::byte* first = nullptr;
    if (kind == memory_kind::host || kind == memory_kind::host_import) {
        // Whole pages, which nobody else's values share.
        constexpr std::size_t page = 4096;
        own.reset(new std::byte[(size / page + 2) * page]());
        const auto at = reinterpret_cast<std::uintptr_t>(own.get());
        first = own.get() + (page - at % page) % page;
    }
    if (kind != memory_kind::host)
        placed = detail::of_engine(&place_memory<>)(home.get(),
                                                    {kind, info.bytes(), first, -1, dma_buf, heap});
    kept_ = std::make_shared<detail::tensor_state>(home, info, kind, std::move(placed), 0, first,
                                                   std::move(own));
    state_ = kept_.get();
}

inline runner_tensor runner_tensor::sub(std::int64_t first, std::int64_t count) const {
    const detail::tensor_state& s = get();
    tensor_info part = s.info;
    const std::int64_t rows = part.shape.rank() > 0 ? part.shape[0] : 0;
    if (first < 0 || count < 0 || first > rows || count > rows - first)
        fail(errc::index_out_of_range, "runner_tensor",
             {count, " rows from ", first, " on of \"", part.name, "\", which has ", rows});
    part.shape[0] = count;
    const std::int64_t row = rows > 0 ? element_count(s.info.shape) / rows : 0;
    if (!starts_byte(part.dtype, first * row))
        fail(errc::invalid_argument, "runner_tensor",
             {"row ", first, " of \"", part.name, "\" begins within a byte"});
    const std::int64_t begin = byte_offset(part.dtype, first * row);
    return runner_tensor(std::make_shared<detail::tensor_state>(s.home(), std::move(part), s.kind,
                                                                s.placed(), s.begin() + begin,
                                                                s.kind == memory_kind::host
                                                                    ? s.data() + begin
                                                                    : nullptr,
                                                                s.own()));
}

}}  // namespace pumice::PUMICE_ABI
