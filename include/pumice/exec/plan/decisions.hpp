// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a plan with steps that decide needs beyond others, behind a pointer: a program without such
// steps compiles none of it.
#pragma once

#include <pumice/exec/plan/plan.hpp>

#include <pumice/base/stop_view.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class graph_engine;
class engine_graph;
struct evaluation;
struct plan_run;

struct plan_decisions {
    /// Puts the steps in an order in which few stretches lie between decisions, each of which
    /// writes all of what it writes.
    void (*order)(plan& p);
    /// The plans within a step that decides.
    array_list<const plan*> (*nested)(const problem& p);
    /// Runs a plan once, as graph_engine::execute does. Pre: the engine's lock.
    void (*execute)(graph_engine& home, plan_run& run, stop_view stop);
    /// Makes a plan ready to run often. `locked`: the caller has the engine's lock.
    std::shared_ptr<engine_graph> (*prepare)(graph_engine& home, evaluation&& planned, bool locked);
};

}}  // namespace pumice::PUMICE_ABI
