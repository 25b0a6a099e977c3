// SPDX-License-Identifier: Apache-2.0
// Every field of a fault, and of a process that makes faults, changes the log of a campaign.
#include <fmt/format.h>

#include "scenarios/format/specs/campaign_plan.h"
#include "tests/engine/campaign/small_campaign.h"
#include "tests/fields/field_rows.h"
#include "tests/fields/scenario_answer.h"

namespace orrery {
namespace fault_fields_test {

std::string campaign_text(const CampaignSpec& spec) {
    const CampaignResult result = run_campaign(spec, 7, {.timeline = true, .log = true});
    std::string text = fmt::format("{} {} {} {} {}\n",
                                   result.work_us,
                                   result.faults,
                                   result.slowdowns,
                                   result.corrupt_at_end,
                                   to_text(result.log));
    for (const TimelineEntry& entry : result.timeline) {
        text += fmt::format("{} {} ", entry.begin.microseconds(), entry.end.microseconds());
    }
    for (const std::int64_t faults : result.faults_of) {
        text += fmt::format("{} ", faults);
    }
    return text;
}

const FieldAnswers<CampaignSpec> kAnswers{campaign_text};

using Row = FieldRow<CampaignSpec>;

TEST(FaultFields, OfAnEvent) {
    const auto event = [](CampaignSpec& spec) -> FaultEvent& { return spec.faults[0].events[0]; };
    const auto slow = [=](CampaignSpec& spec) {
        event(spec).kind = FaultKind::slow_host;
        event(spec).duration = s(3000);
    };
    const Row rows[] = {
        {"time", [=](CampaignSpec& c) { event(c).time = s(20000); }},
        {"nodes",
         [=](CampaignSpec& c) {
             event(c).nodes = {4, 2};
         }},
        {"at",
         [=](CampaignSpec& c) {
             event(c).at = {Scope::gpu, 25};
         },
         {},
         "of a node all that counts here is the node: `nodes`; a step's simulation takes the GPU"},
        {"kind", [=](CampaignSpec& c) { event(c).kind = FaultKind::software_bug; }},
        {"process",
         [=](CampaignSpec& c) { event(c).process = 1; },
         {},
         "make_schedule() numbers the events of a process"},
        {"mark", [=](CampaignSpec& c) { event(c).mark = 2; }},
        {"factor", [=](CampaignSpec& c) { event(c).factor = 3; }, slow},
        {"duration", [=](CampaignSpec& c) { event(c).duration = s(6000); }, slow},
        {"notice", [=](CampaignSpec& c) { event(c).notice = s(600); }},
        {"id",
         [=](CampaignSpec& c) { event(c).id = 99; },
         {},
         "make_schedule() names the random streams of an event"},
        {"step", [=](CampaignSpec& c) { event(c).step = 5; }},
    };
    expect_effects<FaultEvent>(rows, one_fault(FaultKind::node_crash, 9), kAnswers);
}

TEST(FaultFields, OfAProcess) {
    CampaignSpec base = small_campaign(10, {{.time = s(1)}});
    base.faults = {{.name = "slow",
                    .kind = FaultKind::slow_host,
                    .at = {Scope::node, kEvery},
                    .interval = {DistributionKind::exponential, s(40000)},
                    .factor = 2,
                    .duration = Distribution{DistributionKind::fixed, s(900)}}};
    const auto process = [](CampaignSpec& spec) -> FaultProcess& { return spec.faults[0]; };
    const Row rows[] = {
        {"name",
         [=](CampaignSpec& c) { process(c).name += "!"; },
         {},
         "the heading of its class in reports"},
        {"kind", [=](CampaignSpec& c) { process(c).kind = FaultKind::node_crash; }},
        {"at", [=](CampaignSpec& c) { process(c).at.index = 2; }},
        {"interval", [=](CampaignSpec& c) { process(c).interval.scale = s(20000); }},
        {"events", [=](CampaignSpec& c) { process(c).events = {{.time = s(77)}}; }},
        {"once", [=](CampaignSpec& c) { process(c).once = s(123); }},
        {"once_step", [=](CampaignSpec& c) { process(c).once_step = 3; }},
        {"probability", [=](CampaignSpec& c) { process(c).probability = 0.3; }},
        {"frailty", [=](CampaignSpec& c) { process(c).frailty = 0.5; }},
        {"factor", [=](CampaignSpec& c) { process(c).factor = 5; }},
        {"duration", [=](CampaignSpec& c) { process(c).duration.reset(); }},
        {"notice", [=](CampaignSpec& c) { process(c).notice = s(600); }},
        {"escalation",
         [=](CampaignSpec& c) {
             process(c).escalation = {FaultKind::node_crash, 1, WallTime::seconds(10)};
         }},
    };
    expect_effects<FaultProcess>(rows, base, kAnswers);
}

TEST(FaultFields, OfAFaultInTheStep) {
    using StepRow = FieldRow<Scenario>;
    Scenario base = small_scenario("fault", {"plan.global_batch_size=16", "model.num_layers=2"});
    base.faults.in_step = {{.kind = FaultKind::slow_gpu,
                            .at = {Scope::gpu, 1},
                            .time = WallTime::microseconds(1000),
                            .factor = 2}};
    const auto fault = [](Scenario& s) -> StepFault& { return s.faults.in_step[0]; };
    const FieldAnswers<Scenario> answers{answer_of};
    const StepRow rows[] = {
        {"kind", [=](Scenario& s) { fault(s).kind = FaultKind::thermal_throttle; }},
        {"at",
         [=](Scenario& s) {
             fault(s).at = {Scope::gpu, 5};
         }},
        {"link", [=](Scenario& s) { fault(s).link = "no such link"; }},
        {"time", [=](Scenario& s) { fault(s).time = WallTime::microseconds(3000); }},
        {"duration", [=](Scenario& s) { fault(s).duration = WallTime::microseconds(500); }},
        {"factor", [=](Scenario& s) { fault(s).factor = 4; }},
    };
    expect_effects<StepFault>(rows, base, answers);
}

}  // namespace fault_fields_test
}  // namespace orrery
