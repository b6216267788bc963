// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Several devices at work on one plan: each stretch of steps of one device is run, or recorded, by
// an engine of its own, and tensors have a copy with each engine that reads them. What the engines
// submit goes on side by side; who reads what another engine makes waits for that.
#pragma once

#include <pumice/exec/host_engine.hpp>
#include <pumice/exec/joint_submissions.hpp>
#include <pumice/exec/plan/member_parts.hpp>
#include <pumice/exec/ready_decision.hpp>
#include <pumice/policy/placement.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class devices_engine final : public graph_engine {
public:
    using members = array_list<std::shared_ptr<graph_engine>>;

    /// `host`: the member that computes on the host.
    devices_engine(members&& list, std::size_t host, policy_set&& policies)
        : graph_engine(std::move(policies)), members_(std::move(list)), host_(host) {
        plan_places found{{}, [this](const node& n) { return holders_of(n); }};
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const plan_places& own = members_[m]->planner_.places();
            const auto count = own.list.empty() ? 1 : own.list.size();
            for (std::size_t p = 0; p < count; ++p) {
                if (m != host_ && static_cast<int>(p) == own.host()) continue;
                found.list.push_back(own.list.empty() ? &members_[m]->device() : own.list[p]);
                places_.push_back({m, static_cast<int>(p)});
            }
        }
        if (std::ssize(places_) > max_places)
            fail(errc::unsupported, "devices",
                 {"a context has at most ", max_places, " places, not ", places_.size(),
                  ": name fewer devices"});
        planner_.set_places(std::move(found));
    }

    node_ptr create(dtype type, const shape& extent, const void* data) override {
        const std::int64_t bytes = byte_count(type, element_count(extent));
        auto held = std::make_shared<memory>(members_.size(), bytes);
        held->at[host_] = members_[host_]->create(dtype::u8, {bytes}, data)->data;
        return make_data(type, extent, std::move(held), shared_from_this());
    }
    void read(const node_ptr& n, void* out) override {
        if (!n->realised()) eval(span(&n, 1));
        fetch(n, out);
    }
    void write(const node_ptr& n, std::int64_t begin, span<const std::byte> bytes) override {
        auto& held = static_cast<memory&>(*n->data);
        const bool whole = static_cast<std::int64_t>(bytes.size()) == held.bytes;
        if (!whole) must_hold_values(*n);
        if (whole) held.at[host_] = members_[host_]->create(dtype::u8, {held.bytes}, nullptr)->data;
        else bring(held, host_);
        members_[host_]->write(seen_from(host_, *n), begin, bytes);
        is_written(held);
        held.lost = false;
    }
    std::byte* host(const node_ptr& n, bool writable) override {
        memory& held = memory_of(*n);
        bring(held, host_);
        std::byte* const first = members_[host_]->host(seen_from(host_, *n), writable);
        if (writable) is_written(held);
        return first;
    }
    /// To the first device.
    void upload(span<const node_ptr> nodes) override {
        array_list<node_ptr> list;
        for (const node_ptr& n : nodes)
            if (n->realised() && n->count() > 0) list.push_back(seen_from(0, *n));
        members_[0]->upload(span(list.data(), list.size()));
    }

    std::shared_ptr<prepared_graph> replay_own(evaluation&& e, kept_by by) override {
        return std::make_shared<placed_graph>(*this, keeper(by), std::move(e));
    }

    void wait_for(std::uint64_t run) const override { runs_.wait(run); }
    bool is_done(std::uint64_t run) const override { return runs_.done(run); }
    void call_after(std::uint64_t run, callback<void()> f) override {
        runs_.call_after(run, std::move(f));
    }

    statistics stats() const override {
        statistics total;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            statistics s = members_[m]->stats();
            if (m == host_ && m > 0) std::swap(s.dispatches, s.host_kernels);
            for (const auto field : {&statistics::dispatches,       &statistics::data_graphs,
                                     &statistics::host_kernels,     &statistics::written_bytes,
                                     &statistics::barriers,         &statistics::submits,
                                     &statistics::host_waits,       &statistics::uploads,
                                     &statistics::downloads,        &statistics::uploaded_bytes,
                                     &statistics::downloaded_bytes, &statistics::maps,
                                     &statistics::allocations,      &statistics::recordings,
                                     &statistics::pipelines,        &statistics::slang_compiles,
                                     &statistics::slang_opens,      &statistics::cache_hits,
                                     &statistics::device_bytes,     &statistics::device_bytes_peak})
                total.*field += s.*field;
            for (int role = 0; role < memory_roles; ++role)
                total.memory.by_role[role] += s.memory.by_role[role];
            total.memory.pooled += s.memory.pooled;
        }
        total.evals = evals_;
        total.plans = plans_;
        total.transfers = transfers_;
        return total;
    }
    std::uint64_t trim() override {
        if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) planner_.keep_parts(0);
        std::uint64_t bytes = 0;
        for (const auto& m : members_) bytes += m->trim();
        return bytes;
    }
    const device_info& device() const override { return members_[0]->device(); }
    std::string device_report() const override {
        std::string text;
        for (const auto& m : members_) text += m->device_report();
        return text;
    }

private:
    /// Of a tensor, with each engine that was asked for its values.
    struct memory final : storage {
        memory(std::size_t count, std::int64_t size) : bytes(size), at(count) {}
        const std::int64_t bytes;
        small_mutex mutex;
        array_list<std::shared_ptr<storage>> at;  // of each member; null: not there
    };
    static memory& memory_of(const node& n) {
        must_hold_values(n);
        return static_cast<memory&>(*n.data);
    }
    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

    plan_places::holding holders_of(const node& n) const {
        auto& held = static_cast<memory&>(*n.data);
        const small_lock lock(held.mutex);
        plan_places::holding h{0, held.bytes};
        for (std::size_t p = 0; p < places_.size(); ++p)
            if (held.at[places_[p].member]) h.places |= 1u << p;
        return h;
    }
    /// The copy on the host alone is right from now on. Pre: nobody else uses the tensor.
    void is_written(memory& held) const {
        for (std::size_t m = 0; m < members_.size(); ++m)
            if (m != host_) held.at[m].reset();
    }
    node_ptr node_of(std::size_t member, dtype type, const shape& extent,
                     std::shared_ptr<storage> held) const {
        return make_data(type, extent, std::move(held), members_[member]);
    }

    /// Who has a copy, the host before others. Pre: somebody has, and the mutex is held.
    std::size_t holder_of(const memory& held) const noexcept {
        std::size_t from = host_;
        for (std::size_t m = 0; !held.at[from]; ++m) from = m;
        return from;
    }
    /// The copy of an engine, which is made if there is none.
    std::shared_ptr<storage> bring(memory& held, std::size_t to) const {
        const small_lock lock(held.mutex);
        if (held.at[to]) return held.at[to];
        const std::size_t from = holder_of(held);
        const shape extent{held.bytes};
        const node_ptr there = node_of(from, dtype::u8, extent, held.at[from]);
        held.at[to] =
            members_[to]->create(dtype::u8, extent, members_[from]->host(there, false))->data;
        ++transfers_;
        return held.at[to];
    }
    /// A tensor of this engine as one of a member's.
    node_ptr seen_from(std::size_t member, const node& n) const {
        node_ptr seen = node_of(member, n.type, n.extent, bring(memory_of(n), member));
        seen->lay_out(n.layout());
        seen->offset = n.offset;
        return seen;
    }
    /// Its copy that is read without another.
    void fetch(const node_ptr& n, void* out) override {
        memory& held = memory_of(*n);
        const std::size_t from = [&] {
            const small_lock lock(held.mutex);
            return holder_of(held);
        }();
        members_[from]->read(seen_from(from, *n), out);
    }

    /// The values of a run that its parts make and read.
    class run_values {
    public:
        run_values(const devices_engine& home, const plan& p, const member_parts& parts)
            : home_(home), plan_(p), parts_(parts), at_(p.values.size()) {
            for (std::size_t v = 0; v < at_.size(); ++v)
                if (const plan_value& value = p.values[v];
                    !value.is_given() && value.alias < 0 && value.count() == 0)
                    at_[v] = std::static_pointer_cast<memory>(home.nothing(value));
        }
        /// An input of a part, as its engine has it; nobody else has the memory of one that dies.
        node_ptr input(std::size_t part, std::size_t value) {
            const member_parts::part& own = parts_.list[part];
            const plan_value& like = own.steps->what.values[value];
            memory& held = *at_[at(own.whole[value])];
            std::shared_ptr<storage> there = home_.bring(held, own.member);
            if (own.dies[value]) at_[at(own.whole[value])].reset();
            node_ptr n = home_.node_of(own.member, like.type, like.extent, std::move(there));
            n->lay_out(like.layout);
            return n;
        }
        void give(std::size_t part, std::size_t value, std::shared_ptr<storage> made) {
            const member_parts::part& own = parts_.list[part];
            const auto whole = at(own.whole[value]);
            at_[whole] =
                std::make_shared<memory>(home_.members_.size(), plan_.values[whole].bytes());
            at_[whole]->at[own.member] = std::move(made);
        }
        /// Nobody looks at what was temporary.
        void is_through(std::size_t part) {
            for (const int v : parts_.list[part].whole)
                if (!plan_.at(v).is_given() && parts_.ends(v, part)) at_[at(v)].reset();
        }
        const std::shared_ptr<memory>& of(int value) const {
            return at_[at(parts_.same[at(value)])];
        }

    private:
        const devices_engine& home_;
        const plan& plan_;
        const member_parts& parts_;
        array_list<std::shared_ptr<memory>> at_;
    };
    std::shared_ptr<storage> nothing(const plan_value& v) const {
        auto held = std::make_shared<memory>(members_.size(), 0);
        held->at[host_] = members_[host_]->create(v.type, v.extent, nullptr)->data;
        return held;
    }

    void execute(plan_run& run, stop_view stop) override {
        if (!run.planned->parts)
            run.planned->parts = std::make_shared<const member_parts>(run.what(), places_);
        const auto kept = std::static_pointer_cast<const member_parts>(run.planned->parts);
        const plan& p = run.what();
        run_values values(*this, p, *kept);
        for (std::size_t i = 0; i < p.steps.size(); ++i)  // of transfers
            run.records[i] = transfer_record(p, p.steps[i]);
        for (std::size_t k = 0; k < kept->list.size(); ++k) {
            const member_parts::part& part = kept->list[k];
            if (stop.stop_requested()) throw_cancelled();
            plan_run one = evaluation_of(part.steps).run;
            one.numbers = run.numbers;
            array_list<node_ptr> inputs;
            for (std::size_t v = 0; v < part.whole.size(); ++v) {
                if (!one.what().values[v].is_given()) continue;
                const node* const given = run.given[at(part.whole[v])];
                inputs.push_back(given ? seen_from(part.member, *given) : values.input(k, v));
                one.given[v] = inputs.back().get();
                one.dying[v] = part.dies[v];
            }
            execute_on(*members_[part.member], one, stop);
            for (const int v : one.what().outputs)
                values.give(k, at(v), std::move(one.made[at(v)]));
            for (std::size_t i = 0; i < part.step_of.size(); ++i)
                if (one.records[i])  // else it was needless
                    run.records[part.step_of[i]] =
                        placed(*one.records[i], p.steps[part.step_of[i]].place);
            values.is_through(k);
        }
        for (const int v : p.outputs)
            if (p.at(v).alias < 0) run.made[at(v)] = values.of(v);
        for (const plan_value& v : p.values)
            if (const int root = v.alias < 0 ? -1 : p.root(v.alias); root >= 0)
                run.made[at(root)] = values.of(root);
        ++evals_;
    }

    static void execute_on(graph_engine& member, plan_run& part, stop_view stop) {
        member.eval({});  // an engine far ahead of its device waits
        const std::lock_guard lock(member.mutex_);
        part.givings = member.what_gives(part);
        member.execute(part, stop);
        part.settle();
    }

    /// Recorded: a graph of each part, which its engine has made ready.
    class placed_graph final : public prepared_graph {
    public:
        placed_graph(devices_engine& home, std::shared_ptr<engine> keep, evaluation&& e)
            : home_(home), keep_(std::move(keep)), planned_(std::move(e)),
              parts_(what(), home.places_) {
            for (std::size_t i = 0; i < what().steps.size(); ++i)
                planned_.run.records[i] = home_.record_of(what(), what().steps[i]);
            for (const member_parts::part& part : parts_.list) {
                evaluation one = evaluation_of(part.steps);
                one.run.numbers = planned_.run.numbers;
                for (const int v : one.run.what().constants) {
                    const node* const given = planned_.run.given[at(part.whole[at(v)])];
                    one.keep.push_back(home_.seen_from(part.member, *given));
                    one.run.given[at(v)] = one.keep.back().get();
                }
                graphs_.push_back(prepare_plan(*home_.members_[part.member], std::move(one)));
            }
        }
        const plan* planned() const noexcept override { return &what(); }
        std::vector<any_tensor> constants() const override { return planned_.constants(); }

        submission run(span<const any_tensor> inputs, span<const std::uint32_t> keys,
                       span<any_tensor> outputs, stop_view stop, bool) override {
            const plan& p = what();
            for (const any_tensor& t : inputs)
                if (!t.get()->realised()) home_.eval(span(&t.get(), 1));
            run_values values(home_, p, parts_);
            array_list<submission> last(home_.members_.size());
            for (std::size_t k = 0; k < parts_.list.size(); ++k) {
                const member_parts::part& part = parts_.list[k];
                const plan& own = part.steps->what;
                if (stop.stop_requested()) throw_cancelled();
                array_list<any_tensor> given, made(own.outputs.size());
                array_list<std::uint32_t> own_keys;
                for (const int v : own.inputs) {
                    const plan_value& whole = p.at(part.whole[at(v)]);
                    given.push_back(any_tensor(whole.is_given()
                                                   ? home_.seen_from(part.member,
                                                                     *inputs[whole.index].get())
                                                   : values.input(k, at(v))));
                }
                for (const int v : own.parameters)
                    own_keys.push_back(keys[p.at(part.whole[at(v)]).index]);
                last[part.member] = graphs_[k]->run(span(given.data(), given.size()),
                                                    span(own_keys.data(), own_keys.size()),
                                                    span(made.data(), made.size()), stop, true);
                for (std::size_t i = 0; i < made.size(); ++i)
                    values.give(k, at(own.outputs[i]), made[i].get()->data);
                values.is_through(k);
            }
            array_list<any_tensor> results;
            for (const int v : p.outputs)
                results.push_back(home_.make_tensor(p.at(v), values.of(v),
                                                    planned_.run.record_of(p.at(v))));
            std::move(results.begin(), results.end(), outputs.begin());
            ++home_.evals_;
            const std::uint64_t number = home_.runs_.add(std::move(last));
            return number == 0 ? submission() : submission(home_.shared_from_this(), number);
        }
        std::string explain() const override {
            std::string text;
            for (std::size_t k = 0; k < graphs_.size(); ++k)
                append_text(text, {"on ", home_.name_of_member(parts_.list[k].member), ":\n",
                                   graphs_[k]->explain()});
            return text;
        }
        memory_use memory() const override {
            memory_use total;
            for (const auto& g : graphs_) ready_decision::add(total, g->memory());
            return total;
        }

    private:
        const plan& what() const noexcept { return planned_.run.what(); }

        devices_engine& home_;
        std::shared_ptr<engine> keep_;
        evaluation planned_;
        member_parts parts_;
        array_list<std::shared_ptr<prepared_graph>> graphs_;  // of each part
    };

    /// Null for what is no transfer between engines.
    std::shared_ptr<const kernel_record> transfer_record(const plan& p, const plan_step& s) const {
        if (!p.is_transfer(s)) return nullptr;
        const auto record = host_record(s);
        record->kernel = cat({"transfer to ", name_of(p.at(s.outputs[0]).place)});
        record->fused.clear();
        record->written = 0;
        return record;
    }
    std::shared_ptr<const kernel_record> record_of(const plan& p,
                                                   const plan_step& s) const override {
        if (auto record = transfer_record(p, s)) return record;
        const member_place to = places_[at(s.place)];
        plan_step own = s;
        own.place = to.place;
        return placed(*members_[to.member]->record_of(p, own), s.place);
    }
    std::shared_ptr<const kernel_record> placed(const kernel_record& like, int place) const {
        auto record = std::make_shared<kernel_record>(like);
        record->place = name_of(place);
        return record;
    }
    /// A place's device, with its number where another's has the same name.
    std::string name_of(int place) const {
        const auto& list = planner_.places().list;
        const std::string& name = list[at(place)]->name;
        int alike = 0;
        for (const auto* const other : list) alike += other->name == name;
        return alike == 1 ? name : cat({name, " (place ", place, ")"});
    }
    std::string name_of_member(std::size_t member) const {
        const std::string& name = members_[member]->device().name;
        int alike = 0, place = 0;
        for (const auto& other : members_) alike += other->device().name == name;
        while (places_[at(place)].member != member) ++place;
        return alike == 1 ? name : name_of(place);
    }

    void begin_profile(profile_recorder& to) override {
        offsets_.clear();
        try {
            for (const auto& m : members_) {
                offsets_.push_back(to.microseconds(profile_recorder::clock::now()));
                m->profile_start();
            }
        } catch (...) {
            profile dropped;
            for (std::size_t m = 0; m + 1 < offsets_.size(); ++m)
                members_[m]->profile_stop(dropped);
            throw;
        }
    }
    void end_profile(profile_recorder& to) override {
        for (std::size_t m = 0; m < members_.size(); ++m) {
            profile own;
            members_[m]->profile_stop(own);
            to.join(own, offsets_[m]);
        }
    }

    members members_;
    const std::size_t host_;
    array_list<member_place> places_;  // as plans have them
    mutable counter transfers_;
    counter evals_;
    array_list<double> offsets_;  // of the members' profiles

    joint_submissions runs_;
};

}}  // namespace pumice::PUMICE_ABI
