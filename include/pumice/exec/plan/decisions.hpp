// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a plan with steps that decide needs beyond others, behind a pointer: a program without such
// steps compiles none of it.
#pragma once

#include <pumice/exec/plan/plan.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class graph_engine;
class prepared_graph;
struct evaluation;

/// Who keeps a graph that is made ready. The engine itself has its lock then, and is not kept.
enum class kept_by : bool { user, engine };

struct plan_decisions {
    /// Puts the steps in an order in which few stretches lie between decisions, each of which
    /// writes all of what it writes.
    void (*order)(plan& p);
    /// The plans within a step that decides.
    array_list<const plan*> (*nested)(const problem& p);
    /// Runs a plan once, as graph_engine::execute does. Pre: the engine's lock, which is let go of
    /// while the plan runs.
    void (*execute)(graph_engine& home, evaluation& e);
    /// Makes a plan ready to run often.
    std::shared_ptr<prepared_graph> (*prepare)(graph_engine& home, evaluation&& planned,
                                               kept_by by);
};

}}  // namespace pumice::PUMICE_ABI
