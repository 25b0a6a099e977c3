// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/reference_executor.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "tests/reference/expanded_program.h"
#include "tests/reference/max_min.h"
#include "tests/reference/progress.h"

namespace orrery::reference {
namespace {

class Execution {
public:
    explicit Execution(const SimulationInput& input)
        : input_(input),
          expanded_(expand(input)),
          ops_(expanded_.ops.size()),
          dependents_(expanded_.ops.size()),
          transfers_(expanded_.transfers.size()),
          ranks_(input.program->num_ranks()) {
        for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
            RankProgress& rank = ranks_[r];
            rank.party = input.program->job_of(input.program->party_of(to_id<RankId>(r)));
            rank.steps = input.run_of(rank.party).steps;
            rank.host_start.resize(rank.steps);
            rank.last_launch.resize(rank.steps);
            rank.open_reads.resize(rank.steps, 0);
            rank.ops.resize(rank.steps);
        }
        for (std::size_t t = 0; t < transfers_.size(); ++t) {
            transfers_[t].missing_sides = expanded_.transfers[t].num_sides;
        }
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            const OpInstance& op = expanded_.ops[i];
            RankProgress& rank = ranks_[index(op.rank)];
            rank.last_launch[op.step] = std::max(rank.last_launch[op.step], op.launch_offset);
            rank.open_reads[op.step] += is_read_by_host(op) ? 1 : 0;
            rank.ops[op.step].push_back(i);
            ops_[i].open_transfers = op.transfers.size();
            ops_[i].open_waits = op.waits_on.size() + 1;  // + its step begins on this rank
            for (const std::size_t earlier : op.waits_on) {
                dependents_[earlier].push_back(i);
            }
        }
    }

    SimulationOutcome run() {
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            beginnings_.emplace(input_.run_of(ranks_[r].party).start, r);
        }
        while (true) {
            while (take_effect()) {
            }
            if (ended_ops_ == ops_.size()) {
                return result();
            }
            settle_persistent_kernels();
            settle_rates();
            const Time next = next_instant();
            if (next == Time::max()) {
                return no_progress();
            }
            advance(next);
        }
    }

private:
    // --- one instant ---

    // Lets the starts and ends that are due happen; false if there are none left at this instant.
    bool take_effect() {
        bool happened = false;
        std::size_t which = 0;
        while (take_due(beginnings_, now_, which)) {
            begin_step(ranks_[which], 0);
            happened = true;
        }
        while (take_due(launches_, now_, which)) {
            start_op(which);
            happened = true;
        }
        while (take_due(asking_, now_, which)) {
            ask_for_sms(which);
            happened = true;
        }
        while (take_due(fixed_ends_, now_, which)) {
            end_op(which);
            happened = true;
        }
        while (take_due(latency_ends_, now_, which)) {
            start_flows(which);
            happened = true;
        }
        const auto kernel_runs = [&](std::size_t i) { return ops_[i].work_left > 0; };
        for (const std::size_t i : take_unless(kernels_, kernel_runs)) {
            end_op(i);
            happened = true;
        }
        const auto flow_runs = [&](const Flow& flow) { return flow.left > 0; };
        for (const Flow& flow : take_unless(flows_, flow_runs)) {
            flows_changed_ = true;
            end_flow(flow.transfer);
            happened = true;
        }
        return happened;
    }

    // Removes from `all` what does not stay, and returns it.
    template <class T, class Stays>
    static std::vector<T> take_unless(std::vector<T>& all, const Stays& stays) {
        const auto begin = std::stable_partition(all.begin(), all.end(), stays);
        std::vector<T> taken(begin, all.end());
        all.erase(begin, all.end());
        return taken;
    }

    void settle_rates() {
        if (!flows_changed_) {
            return;  // the rates follow from the set of flows alone
        }
        flows_changed_ = false;
        std::vector<MaxMinFlow> in_flight;
        for (const Flow& flow : flows_) {
            in_flight.push_back({flow.part->footprint, flow.part->rate_max});
        }
        const std::span<const LinkInfo> links = input_.network->links();
        if (input_.network->has_contention()) {
            const std::vector<std::int64_t> rates = max_min_rates(links, in_flight);
            for (std::size_t f = 0; f < flows_.size(); ++f) {
                flows_[f].rate = rates[f];
            }
        } else {
            for (std::size_t f = 0; f < flows_.size(); ++f) {
                flows_[f].rate = lone_rate(links, in_flight[f]);
            }
        }
    }

    Time next_instant() const {
        Time next = Time::max();
        for (const Alarms* alarms :
             {&beginnings_, &launches_, &asking_, &fixed_ends_, &latency_ends_}) {
            if (!alarms->empty()) {
                next = std::min(next, alarms->begin()->first);
            }
        }
        for (const std::size_t i : kernels_) {
            next = std::min(next, time_done(now_, ops_[i].work_left, rate_of_kernel(i)));
        }
        for (const Flow& flow : flows_) {
            next = std::min(next, time_done(now_, flow.left, flow.rate));
        }
        return next;
    }

    void advance(Time next) {
        const std::int64_t elapsed = (next - now_).picoseconds();
        ORRERY_CHECK(elapsed > 0);
        for (const std::size_t i : kernels_) {
            ops_[i].work_left -= Work{rate_of_kernel(i)} * elapsed;
        }
        for (Flow& flow : flows_) {
            flow.left -= Work{flow.rate} * elapsed;
        }
        now_ = next;
    }

    // --- steps and ops ---

    void begin_step(RankProgress& rank, std::uint32_t step) {
        rank.newest = step;
        rank.host_start[step] = now_;
        if (step > 0) {  // launches follow each other
            rank.host_start[step] =
                std::max(now_, rank.host_start[step - 1] + rank.last_launch[step - 1]);
        }
        for (const std::size_t i : rank.ops[step]) {
            release(i);
        }
        if (rank.open_reads[step] == 0) {
            end_reads(rank, step);  // a rank without ops
        }
    }

    void end_reads(RankProgress& rank, std::uint32_t step) {
        if (step + 1 < rank.steps) {
            begin_step(rank, step + 1);
        }
    }

    bool is_read_by_host(const OpInstance& op) const {
        const std::vector<SlotOp>& reads =
            input_.program->roles[index(input_.program->role_of(op.rank))].host_reads;
        return reads.empty() || std::ranges::any_of(reads, [&](const SlotOp& read) {
                   return read.slot == op.slot && read.op == op.position;
               });
    }

    // One thing less that op `i` waits on; with the last one only its launch may be still to come.
    void release(std::size_t i) {
        ops_[i].open_waits -= 1;
        if (ops_[i].open_waits == 0) {
            const OpInstance& op = expanded_.ops[i];
            const Time host_start = ranks_[index(op.rank)].host_start[op.step];
            launches_.emplace(std::max(now_, host_start + op.launch_offset), i);
        }
    }

    void start_op(std::size_t i) {
        const OpInstance& op = expanded_.ops[i];
        ops_[i].state = OpState::running;
        ops_[i].start = now_;
        ops_[i].data_start = now_;
        const Payload& payload = op.op->payload;
        switch (payload.kind()) {
            case OpKind::kernel:
                ops_[i].work_left =
                    Work{timings(op.rank).kernels[op.kernel].duration.picoseconds()} *
                    kFullKernelRate;
                kernels_.push_back(i);
                break;
            case OpKind::host: {
                const HostWork& work = input_.program->host_works[index(payload.host_work())];
                const bool given = work.kind == HostWorkKind::given;
                const Time duration = given           ? work.duration
                                      : op.holds_host ? Time{}
                                                      : timings(op.rank).restart;
                fixed_ends_.emplace(now_ + duration, i);
                break;
            }
            case OpKind::collective:
            case OpKind::send_recv:
            case OpKind::copy:
                if (queues(op)) {
                    asking_.emplace(now_ + kAsksAfter, i);
                } else {
                    arrive_at_all(i);
                }
                break;
        }
    }

    // --- SMs ---

    bool queues(const OpInstance& op) const {
        const DeviceTimings& device = timings(op.rank);
        return op.sms > 0 && device.num_sms > 0 && device.communication_queues;
    }

    void ask_for_sms(std::size_t i) {
        std::vector<std::size_t> awaited;
        for (const std::size_t k : kernels_) {
            const OpInstance& kernel = expanded_.ops[k];
            if (kernel.rank == expanded_.ops[i].rank && ops_[k].work_left > 0 &&
                ops_[k].start < now_) {
                awaited.push_back(k);
            }
        }
        if (awaited.empty()) {
            arrive_at_all(i);
        } else {
            ranks_[index(expanded_.ops[i].rank)].queue.emplace_back(i, awaited);
        }
    }

    void arrive_at_all(std::size_t i) {
        const OpInstance& op = expanded_.ops[i];
        ops_[i].start = now_;
        ops_[i].data_start = now_;
        ranks_[index(op.rank)].held_sms += op.sms;
        if (op.transfers.empty()) {
            fixed_ends_.emplace(now_, i);
        }
        for (const std::size_t t : op.transfers) {
            arrive(t);
        }
    }

    void end_op(std::size_t i) {
        const OpInstance& op = expanded_.ops[i];
        ORRERY_CHECK(ops_[i].state == OpState::running);
        ops_[i].state = OpState::ended;
        ops_[i].end = now_;
        ended_ops_ += 1;
        RankProgress& rank = ranks_[index(op.rank)];
        rank.held_sms -= op.sms;
        if (op.holds_host && op.step == rank.newest) {
            Time& start = rank.host_start[op.step];
            start = std::max(start, now_ - op.launch_offset);
        }
        for (const std::size_t waiting : leave_queue(rank, i)) {
            arrive_at_all(waiting);
        }
        for (const std::size_t later : dependents_[i]) {
            release(later);
        }
        if (is_read_by_host(op)) {
            rank.open_reads[op.step] -= 1;
            if (rank.open_reads[op.step] == 0) {
                end_reads(rank, op.step);
            }
        }
    }

    const DeviceTimings& timings(RankId rank) const {
        return input_.devices[input_.device_class.empty() ? 0 : input_.device_class[index(rank)]];
    }

    std::int64_t rate_of_kernel(std::size_t i) const {
        const OpInstance& op = expanded_.ops[i];
        const DeviceTimings& device = timings(op.rank);
        const KernelTime& kernel = device.kernels[op.kernel];
        return kernel.persistent ? kFullKernelRate
                                 : kernel_rate(ranks_[index(op.rank)].held_sms,
                                               device.num_sms,
                                               kernel.sm_sensitivity_permille);
    }

    // Nothing more happens at this instant.
    void settle_persistent_kernels() {
        for (const std::size_t i : kernels_) {
            const OpInstance& op = expanded_.ops[i];
            const DeviceTimings& device = timings(op.rank);
            const KernelTime& kernel = device.kernels[op.kernel];
            const std::uint32_t held = ranks_[index(op.rank)].held_sms;
            const Work duration = kernel.duration.picoseconds();
            if (kernel.persistent && ops_[i].start == now_) {
                ops_[i].work_left =
                    duration *
                    persistent_work(held, device.num_sms, kernel.sm_sensitivity_permille);
            } else if (kernel.persistent && held == 0) {
                ops_[i].work_left = std::min(ops_[i].work_left, duration * kFullKernelRate);
            }
        }
    }

    // --- transfers ---

    void arrive(std::size_t t) {
        ORRERY_CHECK(transfers_[t].missing_sides > 0);
        transfers_[t].missing_sides -= 1;
        if (transfers_[t].missing_sides > 0) {
            return;
        }
        for (const std::size_t i : expanded_.transfers[t].ops) {
            ops_[i].data_start = now_;  // with several parts: that of the last
        }
        begin_phase(t);
    }

    void begin_phase(std::size_t t) {
        const TransferPlan* plan = expanded_.transfers[t].plan;
        if (plan == nullptr || transfers_[t].phase == plan->phases.size()) {
            end_transfer(t);
        } else {
            latency_ends_.emplace(now_ + plan->phases[transfers_[t].phase].latency, t);
        }
    }

    void start_flows(std::size_t t) {
        const TransferPhase& phase = expanded_.transfers[t].plan->phases[transfers_[t].phase];
        for (const TransferPart& part : phase.parts) {
            if (part.bytes > Bytes{}) {
                const Work work = Work{part.bytes.count()} * 8 * kPicosecondsPerSecond;
                flows_.push_back({.transfer = t, .part = &part, .left = work});
                transfers_[t].open_flows += 1;
                flows_changed_ = true;
            }
        }
        if (transfers_[t].open_flows == 0) {
            end_phase(t);
        }
    }

    void end_flow(std::size_t t) {
        transfers_[t].open_flows -= 1;
        if (transfers_[t].open_flows == 0) {
            end_phase(t);
        }
    }

    void end_phase(std::size_t t) {
        transfers_[t].phase += 1;
        begin_phase(t);
    }

    void end_transfer(std::size_t t) {
        for (const std::size_t i : expanded_.transfers[t].ops) {
            ops_[i].open_transfers -= 1;
            if (ops_[i].open_transfers == 0) {
                fixed_ends_.emplace(now_, i);
            }
        }
    }

    // --- results ---

    PartySteps steps_of(std::uint32_t party) const {
        PartySteps out;
        const PartyRun run = input_.run_of(party);
        out.step_end.resize(run.steps);
        Time last;
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            const OpInstance& op = expanded_.ops[i];
            if (ranks_[index(op.rank)].party != party) {
                continue;
            }
            out.step_end[op.step] = std::max(out.step_end[op.step], ops_[i].end);
            const bool is_lowest = ops_[i].end == last && op.rank < out.slowest_rank;
            if (ops_[i].end > last || is_lowest) {
                last = ops_[i].end;
                out.slowest_rank = op.rank;
            }
        }
        out.iteration = out.step_end.back();
        out.iteration -= run.steps > 1 ? out.step_end[run.steps - 2] : run.start;
        return out;
    }

    SimulationResult result() const {
        SimulationResult out;
        const std::vector<std::uint32_t> jobs = input_.program->jobs();
        for (const std::uint32_t p : jobs) {
            PartySteps steps = steps_of(p);
            if (p == 0) {
                out.iteration = steps.iteration;
                out.step_end = steps.step_end;
                out.slowest_rank = steps.slowest_rank;
            }
            if (jobs.size() > 1) {
                out.parties.push_back(std::move(steps));
            }
        }
        out.simulated_ops = static_cast<std::int64_t>(ops_.size());
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            const OpInstance& op = expanded_.ops[i];
            if (std::ranges::find(input_.traced_ranks, op.rank) != input_.traced_ranks.end()) {
                out.trace.push_back({.rank = op.rank,
                                     .step = op.step,
                                     .slot = op.slot,
                                     .op = op.position,
                                     .start = ops_[i].start,
                                     .data_start = ops_[i].data_start,
                                     .end = ops_[i].end});
            }
        }
        std::ranges::stable_sort(out.trace, {}, [](const TracedOp& op) {
            return std::tuple{op.rank, op.start, op.step, op.slot, op.op};
        });
        return out;
    }

    tl::unexpected<Error> no_progress() const {
        std::string what = "no progress at " + std::to_string(now_.picoseconds()) + " ps:";
        int shown = 0;
        for (std::size_t i = 0; i < ops_.size() && shown < 8; ++i) {
            if (ops_[i].state == OpState::running) {
                const OpInstance& op = expanded_.ops[i];
                what += " rank " + std::to_string(index(op.rank)) + " step " +
                        std::to_string(op.step) + " slot " + std::to_string(op.slot) + " op " +
                        std::to_string(op.position) + ";";
                ++shown;
            }
        }
        return fail("", what, "these ops have started and wait for peers or for a dead link");
    }

    const SimulationInput& input_;
    ExpandedProgram expanded_;
    Time now_;
    std::vector<OpProgress> ops_;
    std::vector<std::vector<std::size_t>> dependents_;  // by op: the ops that wait on it
    std::vector<TransferProgress> transfers_;
    std::vector<RankProgress> ranks_;
    std::size_t ended_ops_ = 0;
    Alarms beginnings_;    // when ranks begin their first steps
    Alarms launches_;      // when ops start whose waits are over
    Alarms asking_;        // when ops ask for SMs
    Alarms fixed_ends_;    // host work, and communication whose last transfer just ended
    Alarms latency_ends_;  // of transfers
    std::vector<std::size_t> kernels_;  // running
    std::vector<Flow> flows_;           // in flight
    bool flows_changed_ = false;
};

}  // namespace

SimulationOutcome reference_simulate(const SimulationInput& input) {
    ORRERY_CHECK(input.steps > 0);
    return Execution{input}.run();
}

}  // namespace orrery::reference
