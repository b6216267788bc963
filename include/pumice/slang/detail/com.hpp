// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The small part of COM that Slang's interface needs: a pointer that counts, a blob, a file
// system; and what becomes of sessions after main.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/callback.hpp>
#include <pumice/base/config.hpp>

#include <slang.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Owns one count of a COM object.
template <class T>
class com_ptr {
public:
    com_ptr() noexcept = default;
    explicit com_ptr(T* adopted) noexcept : object_(adopted) {}
    com_ptr(com_ptr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    com_ptr(const com_ptr& other) noexcept : object_(other.object_) {
        if (object_) object_->addRef();
    }
    com_ptr& operator=(com_ptr other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~com_ptr() { reset(); }

    void reset() noexcept {
        if (T* old = std::exchange(object_, nullptr)) old->release();
    }
    /// For a function's out parameter, which hands over a count.
    T** out() noexcept {
        reset();
        return &object_;
    }
    T* get() const noexcept { return object_; }
    T* operator->() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    T* object_ = nullptr;
};

inline bool same_id(const SlangUUID& a, const SlangUUID& b) noexcept {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

inline std::string_view text_of(ISlangBlob* blob) noexcept {
    if (!blob) return {};
    return {static_cast<const char*>(blob->getBufferPointer()), blob->getBufferSize()};
}

/// Bytes that Slang may hold for as long as it likes.
class memory_blob final : public ISlangBlob {
public:
    static com_ptr<ISlangBlob> make(std::string bytes) {
        return com_ptr<ISlangBlob>(new memory_blob(std::move(bytes)));
    }
    SlangResult queryInterface(const SlangUUID& id, void** out) noexcept override {
        if (!same_id(id, ISlangBlob::getTypeGuid()) && !same_id(id, ISlangUnknown::getTypeGuid()))
            return SLANG_E_NO_INTERFACE;
        addRef();
        *out = static_cast<ISlangBlob*>(this);
        return SLANG_OK;
    }
    std::uint32_t addRef() noexcept override { return ++count_; }
    std::uint32_t release() noexcept override {
        const std::uint32_t left = --count_;
        if (left == 0) delete this;
        return left;
    }
    const void* getBufferPointer() noexcept override { return bytes_.data(); }
    std::size_t getBufferSize() noexcept override { return bytes_.size(); }

private:
    explicit memory_blob(std::string bytes) : bytes_(std::move(bytes)) {}
    virtual ~memory_blob() = default;
    std::string bytes_;
    std::atomic<std::uint32_t> count_{1};
};

/// A file system with what `lookup` gives and nothing else: `import` never touches the disk.
/// It lives as a member of its owner, so its count is not kept.
class memory_files final : public ISlangFileSystem {
public:
    /// The blob of a path, or null.
    callback<com_ptr<ISlangBlob>(std::string_view path)> lookup;

    virtual ~memory_files() = default;
    SlangResult queryInterface(const SlangUUID& id, void** out) noexcept override {
        *out = castAs(id);
        return *out ? SLANG_OK : SLANG_E_NO_INTERFACE;
    }
    std::uint32_t addRef() noexcept override { return 1; }
    std::uint32_t release() noexcept override { return 1; }
    void* castAs(const SlangUUID& id) noexcept override {
        if (same_id(id, ISlangFileSystem::getTypeGuid()) ||
            same_id(id, ISlangCastable::getTypeGuid()) || same_id(id, ISlangUnknown::getTypeGuid()))
            return static_cast<ISlangFileSystem*>(this);
        return nullptr;
    }
    SlangResult loadFile(const char* path, ISlangBlob** out) noexcept override {
        try {
            const com_ptr<ISlangBlob> found = lookup(path);
            if (!found) return SLANG_E_NOT_FOUND;
            found->addRef();
            *out = found.get();
            return SLANG_OK;
        } catch (...) {
            return SLANG_E_OUT_OF_MEMORY;
        }
    }
};

/// Sessions that outlive main are kept, not released: Slang may be gone before them.
struct session_keeper {
    std::atomic<bool> exiting{false};
    std::mutex mutex;
    array_list<com_ptr<slang::ISession>> kept;

    static session_keeper& get() {
        static session_keeper& keeper = *new session_keeper;
        return keeper;
    }
    /// Call after Slang has compiled: from then on its own clean-up comes after this one.
    static void watch_exit() {
        struct watch {
            ~watch() { get().exiting = true; }
        };
        static const watch at_exit;
    }
    void drop(com_ptr<slang::ISession> session) noexcept {
        if (!exiting || !session) return;
        const std::lock_guard lock(mutex);
        try {
            kept.make_room(1);
        } catch (...) {  // it stays all the same, and nobody has it
            session->addRef();
            return;
        }
        kept.push_back(std::move(session));
    }
};

}}}  // namespace pumice::PUMICE_ABI::detail
