// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/train/training_attempt.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/measure/node_checks.h"
#include "runtime/state/training_state.h"
#include "runtime/supervisor/doing.h"
#include "runtime/supervisor/drill.h"
#include "runtime/supervisor/memory_copies.h"
#include "runtime/trainer.h"
#include "runtime/world.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/campaign/supervised_job.h"
#include "scenarios/studies/simulate/degraded_steps.h"
#include "scenarios/studies/train/training_run.h"

namespace orrery {
namespace {

// The rank that caused the error. -1: this rank. -2: an unknown other rank. -3: no rank, because
// the numbers of the training are wrong.
std::int64_t accused_rank(const Error& error) {
    switch (error.cause) {
        case ErrorCause::another_rank:
            return -2;
        case ErrorCause::lost_peer:
            return error.peer == Error::kNoPeer ? -2 : error.peer;
        case ErrorCause::wrong_numbers:
            return -3;
        default:
            return -1;
    }
}

// One training, from its order until all steps are done or an event stops it.
class Attempt {
public:
    Attempt(Member& member, const Scenario& scenario, const Tokens& tokens, const Order& order)
        : member_(member),
          scenario_(scenario),
          tokens_(tokens),
          order_(order),
          drill_(member, drill_schedule(scenario), order.rank, order.struck, order.lasting) {}

    Result<void> train(const MemberSpec& spec);
    // Whether an order ended the training.
    bool left() const { return left_; }
    // Ranks far from the median and their reasons, as text.
    Result<std::string> check();

private:
    Result<void> meet(const Scenario& present);
    Result<std::unique_ptr<Trainer>> prepare(const Scenario& present);
    Result<void> before_step(Trainer& trainer);
    Result<void> keep_copy(Trainer& trainer);
    std::chrono::microseconds computed() const;
    Result<void> leave_if_ordered(Trainer& trainer);
    Result<void> save(Trainer& trainer);

    Member& member_;
    const Scenario& scenario_;
    const Tokens& tokens_;
    const Order& order_;
    Drill drill_;
    ProcessWorld world_;
    std::optional<MemoryCopies> copies_;
    std::chrono::steady_clock::time_point came_;  // arrival at the meeting
    std::chrono::microseconds meeting_{0};
    bool stepped_ = false;
    bool left_ = false;
    std::chrono::steady_clock::time_point step_begin_;
    std::chrono::microseconds waited_{0};
    std::int64_t sent_ = 0;
};

Result<void> join_as_ordered(ProcessWorld& world, const Order& order, const Scenario& scenario) {
    setenv("RANK", std::to_string(order.rank).c_str(), 1);
    setenv("LOCAL_RANK", std::to_string(order.rank).c_str(), 1);
    setenv("WORLD_SIZE", std::to_string(order.num_ranks).c_str(), 1);
    setenv("ORRERY_STORE", order.store.c_str(), 1);
    const double patience = scenario.job.training.distributed_timeout.seconds();
    Result<ProcessWorld> joined =
        join_world(std::chrono::milliseconds{std::llround(1e3 * patience)});
    if (!joined) {
        return unexpected<Error>(joined.error());
    }
    world = std::move(*joined);
    return {};
}

Result<void> Attempt::meet(const Scenario& present) {
    came_ = std::chrono::steady_clock::now();
    Result<void> joined = join_as_ordered(world_, order_, present);
    meeting_ = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - came_);
    world_.transport = member_.watch(drill_.harm(std::move(world_.transport)));
    return joined;
}

// Processes of one machine share its cores: only large deviations are reported.
Result<std::string> Attempt::check() {
    constexpr SuspectLimits kLimits{.compute = 3, .bandwidth = 0.2};
    if (Result<void> met = meet(scenario_); !met) {
        return unexpected<Error>(met.error());
    }
    std::string text;
    if (world_.transport == nullptr) {
        return text;
    }
    const NodeCheckOptions options{.after_work = [this](auto took) { drill_.after_step(took); }};
    const Result<NodeChecks> checks = check_nodes(*world_.transport, options);
    if (!checks) {
        return unexpected<Error>(checks.error());
    }
    for (const Suspect& suspect : suspects(*checks, kLimits)) {
        text += fmt::format("{} {};", suspect.rank, suspect.what);
    }
    return text;
}

Result<std::unique_ptr<Trainer>> Attempt::prepare(const Scenario& present) {
    if (Result<void> met = meet(present); !met) {
        return unexpected<Error>(met.error());
    }
    const TrainingJob& job = present.job.training;
    const bool stored = !order_.checkpoint.empty();
    auto trainer = Trainer::create(present.model,
                                   present.plan,
                                   job,
                                   tokens_,
                                   world_.transport.get(),
                                   stored ? FirstWeights::stored : FirstWeights::drawn);
    if (!trainer) {
        return trainer;
    }
    Result<void> begun;
    if (stored) {
        begun = (*trainer)->resume(order_.checkpoint);
    } else if (!job.initial_weights.empty()) {
        const auto done =
            import_weights((*trainer)->executor(), present.model, job.initial_weights);
        begun = done ? begun : unexpected<Error>(done.error().front());
    }
    if (!begun) {
        return unexpected<Error>(begun.error());
    }
    return trainer;
}

// Time since the step began, without waits for other ranks.
std::chrono::microseconds Attempt::computed() const {
    const auto all = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - step_begin_);
    return all - (member_.waited() - waited_);
}

Result<void> Attempt::before_step(Trainer& trainer) {
    const std::int64_t done = trainer.steps_done();
    if (stepped_) {
        drill_.after_step(computed());
        const auto lasted = computed();
        if (Result<void> kept = keep_copy(trainer); !kept) {
            return kept;
        }
        member_.tell(
            ReportKind::step, done, lasted.count(), std::to_string(member_.sent() - sent_));
    }
    stepped_ = true;
    if (Result<void> left = leave_if_ordered(trainer); !left) {
        return left;
    }
    sent_ = member_.sent();
    step_begin_ = std::chrono::steady_clock::now();
    waited_ = member_.waited();
    return drill_.before_step(done);
}

Result<void> Attempt::keep_copy(Trainer& trainer) {
    return copies_ ? copies_->keep(trainer, world_.transport.get()) : Result<void>{};
}

// All ranks leave before the same step.
Result<void> Attempt::leave_if_ordered(Trainer& trainer) {
    float leave = member_.wants_to_leave() ? 1.0f : 0.0f;
    if (Communicator* ranks = trainer.executor().world()) {
        if (Result<void> told = ranks->all_reduce_max(view_of({&leave, 1})); !told) {
            return told;
        }
    }
    if (leave == 0) {
        return {};
    }
    const Result<void> saved = save(trainer);
    left_ = saved.has_value();
    return left_ ? fail("", "left as ordered") : saved;
}

// An unavailable store does not stop the training before its last step.
Result<void> Attempt::save(Trainer& trainer) {
    const std::int64_t step = trainer.steps_done();
    Result<void> done = trainer.save(drill_.store());
    if (done) {
        member_.tell(ReportKind::saved, step);
        return {};
    }
    const bool last = step >= scenario_.job.training.steps;
    if (last || done.error().cause == ErrorCause::lost_peer) {
        return done;
    }
    if (done.error().cause != ErrorCause::another_rank) {
        member_.tell(ReportKind::unsaved, step, 0, done.error().to_string());
    }
    return {};
}

// The scenario on the number of nodes that take part.
ResultOrErrors<Scenario> present_scenario(const MemberSpec& spec, std::uint32_t nodes) {
    ReadOptions read;
    read.for_training = true;
    read.overrides = spec.overrides;
    read.overrides.push_back("faults=[]");
    read.overrides.push_back(fmt::format("cluster.nodes={}", nodes));
    return read_scenario(spec.file, read);
}

Result<void> Attempt::train(const MemberSpec& spec) {
    ResultOrErrors<Scenario> present = present_scenario(spec, order_.num_ranks);
    if (!present) {
        return unexpected<Error>(present.error().front());
    }
    const Result<std::string> decided = choose_device(*present, spec.device);
    if (!decided) {
        return unexpected<Error>(decided.error());
    }
    if (order_.rank == 0 && !decided->empty()) {
        spec.note(*decided);
    }
    auto trainer = prepare(*present);
    if (!trainer) {
        return unexpected<Error>(trainer.error());
    }
    Reports reports{.line = [&](const std::string& text) {
        if (order_.rank == 0) {
            spec.line(text);
        }
    }};
    TrainingJob job = present->job.training;
    Result<TrainingLog> log =
        TrainingLog::open(order_.rank == 0 ? job : TrainingJob{}, reports.line);
    const Result<Tokenizer> tokenizer = tokenizer_of(job, tokens_);
    if (!log || !tokenizer) {
        return unexpected<Error>(log ? tokenizer.error() : log.error());
    }
    reports.log = &*log;
    reports.tokenizer = *tokenizer;
    reports.before_step = [this](Trainer& t) { return before_step(t); };
    reports.save = [this](Trainer& t) { return save(t); };
    const char* memories = std::getenv(kMemoryVariable);
    if (const auto placement = memory_placement(*present); placement && memories != nullptr) {
        copies_.emplace(memory_of_node(memories, member_.node()), job_shape(*present), *placement);
    }
    if (Result<void> kept = keep_copy(**trainer); !kept) {
        return kept;
    }
    const auto came =
        std::chrono::duration_cast<std::chrono::microseconds>(came_.time_since_epoch());
    member_.tell(ReportKind::training,
                 (*trainer)->steps_done(),
                 meeting_.count(),
                 fmt::format("{} {:.0f}", came.count(), 1e6 * (*trainer)->drawing_s()));
    const Executor& executor = (*trainer)->executor();
    member_.describe_by([&executor] { return doing(executor); });
    Result<void> done = orrery::train(**trainer, present->plan, job, reports);
    member_.describe_by({});
    return done;
}

}  // namespace

void carry_out(Member& member,
               const Scenario& scenario,
               const Tokens& tokens,
               const Order& order,
               const MemberSpec& spec) {
    Attempt attempt{member, scenario, tokens, order};
    const auto tell_failed = [&](const Error& error) {
        member.tell(ReportKind::failed, 0, accused_rank(error), error.to_string());
    };
    if (order.kind == OrderKind::check) {
        const Result<std::string> found = attempt.check();
        if (found) {
            member.tell(ReportKind::checked, 0, 0, *found);
        } else {
            tell_failed(found.error());
        }
        return;
    }
    const Result<void> done = attempt.train(spec);
    if (done) {
        member.tell(ReportKind::done, scenario.job.training.steps);
    } else if (attempt.left()) {
        member.tell(ReportKind::left);
    } else {
        tell_failed(done.error());
    }
}

}  // namespace orrery
