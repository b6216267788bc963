// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How to add a backend: an engine that runs plans. This one computes by the kernels' reference, on
// memory of its own with a limit, in two lanes and on the host, which work at once: each of them is
// a place where steps can run. A further thread sees to what is complete. It may be told to fail.
#pragma once

#include <pumice.hpp>
#include <pumice/exec/host_engine.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

namespace pm = pumice;

namespace mine {

/// Set once: a piece of work is done.
class event {
public:
    void set() {
        const std::lock_guard lock(mutex_);
        done_ = true;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return done_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
};

/// A thread that does one piece of work after another.
class lane {
public:
    ~lane() {
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    void add(std::function<void()> work) {
        const std::lock_guard lock(mutex_);
        queue_.push_back(std::move(work));
        changed_.notify_all();
    }

private:
    void run() {
        for (;;) {
            std::function<void()> work;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return over_ || !queue_.empty(); });
                if (queue_.empty()) return;
                work = std::move(queue_.front());
                queue_.pop_front();
            }
            work();
        }
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> queue_;
    bool over_ = false;
    std::thread thread_{[this] { run(); }};
};

/// The device has so many bytes and no more.
using bytes_left = std::atomic<std::int64_t>;

struct buffer final : pm::storage {
    buffer(std::shared_ptr<bytes_left> m, std::int64_t size) : from(std::move(m)) {
        if ((*from -= size) < 0) {
            *from += size;
            pm::fail(pm::errc::out_of_memory, "mine", {"no room for ", size, " bytes"});
        }
        bytes.resize(static_cast<std::size_t>(size));
    }
    ~buffer() override { *from += static_cast<std::int64_t>(bytes.size()); }
    std::byte* when_written() {
        if (written) written->wait();
        return bytes.data();
    }
    std::byte* when_unused() {
        for (const std::shared_ptr<event>& e : last_use)
            if (e) e->wait();
        return when_written();
    }
    std::shared_ptr<bytes_left> from;
    std::vector<std::byte> bytes;
    std::shared_ptr<event> written;      // by the last step that writes it; null: by the host
    std::shared_ptr<event> last_use[3];  // in each lane
};

class backend final : public pm::graph_engine {
public:
    backend(std::int64_t bytes, pm::policy_set p)
        : graph_engine(std::move(p)), memory_(std::make_shared<bytes_left>(bytes)) {
        for (pm::device_info& lane : info_) {
            lane = pm::host_device();  // which takes whatever has a reference
            lane.name = "mine";
        }
        planner_.set_places({{&info_[0], &info_[1], &pm::host_device()}, [](const pm::node& n) {
                                 return pm::plan_places::holding{7, std::ssize(of(n).bytes)};
                             }});
    }
    pm::node_ptr create(pm::dtype type, const pm::shape& extent, const void* data) override {
        auto held = std::make_shared<buffer>(memory_, byte_count(type, element_count(extent)));
        if (data && !held->bytes.empty()) std::memcpy(held->bytes.data(), data, held->bytes.size());
        return make_data(type, extent, std::move(held), shared_from_this());
    }
    void read(const pm::node_ptr& n, void* out) override {
        const std::lock_guard lock(mutex_);
        evaluate(std::span(&n, 1));
        if (n->count() > 0)
            gather(n->type, n->extent, of(*n).when_written(), n->offset, n->layout(), out);
    }
    void write(const pm::node_ptr& n, std::int64_t begin,
               pm::span<const std::byte> bytes) override {
        std::memcpy(host(n, true) + begin, bytes.data(), bytes.size());
    }
    std::byte* host(const pm::node_ptr& n, bool) override {
        const std::lock_guard lock(mutex_);
        return of(*n).when_unused() + byte_count(n->type, n->offset);
    }
    pm::statistics stats() const override {
        pm::statistics s;
        s.dispatches = dispatches_;
        s.device_bytes = static_cast<std::uint64_t>(memory_->load());
        return s;
    }
    const pm::device_info& device() const override { return info_[0]; }
    std::string device_report() const override { return "mine"; }

    std::atomic<int> fail_in{-1};  // steps from now; -1: never
    std::atomic<int> completed{0};

private:
    void fetch(const pm::node_ptr& n, void* out) override {
        if (n->count() > 0)
            gather(n->type, n->extent, of(*n).when_written(), n->offset, n->layout(), out);
    }
    static buffer& of(const pm::node& n) {
        must_hold_values(n);
        return static_cast<buffer&>(*n.data);
    }

    std::shared_ptr<const pm::kernel_record> record_of(const pm::plan&,
                                                       const pm::plan_step& s) const override {
        const std::shared_ptr<pm::kernel_record> record = pm::host_record(s);
        record->kernel = pm::cat({"mine/", pm::family_of(s.what)});
        return record;
    }
    void execute(pm::plan_run& run, pumice::stop_view stop) override {
        const pm::plan& p = run.what();
        pm::array_list<std::shared_ptr<buffer>> at(p.values.size());
        for (std::size_t v = 0; v < at.size(); ++v)
            if (run.given[v]) {
                must_hold_values(*run.given[v]);
                at[v] = std::static_pointer_cast<buffer>(run.given[v]->data);
            } else if (p.values[v].alias < 0) {
                pm::at_value(p, int(v), [&] {
                    at[v] = std::make_shared<buffer>(memory_, p.values[v].bytes());
                });
            }
        // Nothing is submitted before all that can fail is done.
        for (std::size_t i = 0; i < p.steps.size(); ++i) {
            if (stop.stop_requested()) pm::throw_cancelled();
            pm::at_step(p.steps[i], [&] {  // errors name the step's nodes
                if (fail_in >= 0 && fail_in-- == 0)
                    pm::fail(pm::errc::device_lost, "mine", {"it was told to fail"});
            });
            run.records[i] = record_of(p, p.steps[i]);
        }
        const auto numbers = std::make_shared<pm::array_list<pm::scalar>>(run.numbers);
        for (std::size_t i = 0; i < p.steps.size(); ++i) submit(run, i, at, numbers);
        for (std::size_t v = 0; v < at.size(); ++v)
            if (!run.given[v]) run.made[v] = at[v];
        completion_.add([this, keep = run.planned, at] {
            for (const std::shared_ptr<buffer>& b : at)
                if (b) b->when_written();
            ++completed;
        });
    }
    /// A step runs when all are done that wrote what it reads or writes.
    void submit(const pm::plan_run& run, std::size_t number,
                const pm::array_list<std::shared_ptr<buffer>>& at,
                const std::shared_ptr<pm::array_list<pm::scalar>>& numbers) {
        const pm::plan_step& s = run.what().steps[number];
        pm::array_list<std::shared_ptr<buffer>> buffers;
        pm::array_list<std::shared_ptr<event>> before;
        pm::array_list<std::byte*> places;
        for (const int v : s.buffers) {
            const auto value = static_cast<std::size_t>(v);
            lies_at(run, s, v);
            buffers.push_back(at[value]);
            if (at[value]->written) before.push_back(at[value]->written);
            places.push_back(at[value]->bytes.data() + run.begin_of(value));
        }
        const auto done = std::make_shared<event>();
        for (const std::shared_ptr<buffer>& b : buffers) b->last_use[s.place] = done;
        for (const int v : s.outputs) at[static_cast<std::size_t>(v)]->written = done;
        ++dispatches_;
        lanes_[s.place].add([what = s.what, keep = run.planned, buffers, before, places, numbers,
                             done] {
            for (const std::shared_ptr<event>& e : before) e->wait();
            pm::solve_on_host(what, {places, {numbers->data(), numbers->size()}});
            done->set();
        });
    }

    /// What a lane works on is its own, but for one side of a transfer.
    static void lies_at(const pm::plan_run& run, const pm::plan_step& s, int v) {
        const pm::plan& p = run.what();
        if (!p.at(v).is_given() && p.at(v).place != s.place && !p.is_transfer(s))
            pm::fail(pm::errc::invalid_argument, "mine", {"value ", v, " lies elsewhere"});
    }

    pm::device_info info_[2];
    std::shared_ptr<bytes_left> memory_;
    std::atomic<std::uint64_t> dispatches_{0};
    lane completion_;
    lane lanes_[3];  // they end first
};

/// A policy that brings the backend.
struct on_mine {
    std::int64_t bytes;
    void apply(pm::policy_set& set) const {
        set.backend = [size = bytes](const pm::policy_set& all) -> std::shared_ptr<pm::engine> {
            return std::make_shared<backend>(size, all);
        };
    }
};
inline backend& engine_of(const pm::context& home) { return static_cast<backend&>(*home.get()); }

}  // namespace mine
