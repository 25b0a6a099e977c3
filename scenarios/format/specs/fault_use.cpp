// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/specs/fault_use.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace orrery {
namespace {

constexpr std::string_view kUsed;
constexpr std::string_view kWeeks =
    "they come over weeks of training, not in one step (orrery campaign)";
constexpr std::string_view kDrill = "they strike a real run (orrery train --supervise)";
constexpr std::string_view kOneStep = "they come in the middle of one step (orrery simulate)";
constexpr std::string_view kGoodput = "they count with search.objective: goodput";
constexpr std::string_view kNetwork = "no training step is simulated here (orrery simulate)";
constexpr std::string_view kHealthy =
    "nothing is injected into a run without --supervise and job.drill: true";
constexpr std::string_view kNoStep = "a real run injects them by the step that they come after";
constexpr std::string_view kRecorded = "the run was recorded without faults";
constexpr std::string_view kServed = "a served load has no steps of a training";
constexpr std::string_view kNoInstance = "they neither stop nor slow an instance or a transfer";
constexpr std::string_view kNoTime = "they change no time of a step";

// Rows: users; columns: standing, at_time, at_step, in_step, process, trace, bursts.
constexpr std::array<std::array<std::string_view, kNumFaultForms>, kNumFaultUsers> kWhy = {{
    {kUsed, kWeeks, kDrill, kUsed, kWeeks, kWeeks, kWeeks},
    {kUsed, kUsed, kUsed, kOneStep, kUsed, kUsed, kUsed},
    {kUsed, kGoodput, kGoodput, kUsed, kGoodput, kGoodput, kGoodput},
    {kUsed, kUsed, kUsed, kOneStep, kUsed, kUsed, kUsed},
    {kNetwork, kNetwork, kNetwork, kNetwork, kNetwork, kNetwork, kNetwork},
    {kHealthy, kHealthy, kHealthy, kHealthy, kHealthy, kHealthy, kHealthy},
    {kNoStep, kNoStep, kUsed, kNoStep, kNoStep, kNoStep, kNoStep},
    {kRecorded, kRecorded, kRecorded, kRecorded, kRecorded, kRecorded, kRecorded},
    {kUsed, kUsed, kServed, kServed, kUsed, kUsed, kUsed},
}};

// Whether the fault slows kernels or links of a simulated step, or ends the step.
bool acts_on_a_step(FaultKind kind) {
    return slows_gpus(kind) || slows_adapters(kind) || info(kind).effect == FaultEffect::stop;
}

}  // namespace

bool acts_on_instances(FaultKind kind) {
    const FaultKindInfo& known = info(kind);
    const bool stops = known.effect == FaultEffect::stop || known.effect == FaultEffect::stall;
    return slows_gpus(kind) || slows_adapters(kind) || (stops && known.on_node());
}

std::string_view name(FaultForm form) {
    static constexpr std::array<std::string_view, kNumFaultForms> kNames = {
        "from the start on", "t", "step", "time", "process", "trace", "daily_variance"};
    return kNames[static_cast<std::size_t>(form)];
}

FaultForm form_of(const FaultProcess& process) {
    if (!process.events.empty()) {
        return FaultForm::trace;
    }
    if (process.once_step >= 0) {
        return FaultForm::at_step;
    }
    if (process.once) {
        return *process.once == WallTime{} ? FaultForm::standing : FaultForm::at_time;
    }
    return FaultForm::process;
}

std::string_view why_left_out(FaultUser user, FaultForm form, FaultKind kind) {
    const std::string_view why =
        kWhy[static_cast<std::size_t>(user)][static_cast<std::size_t>(form)];
    const bool of_a_step = user == FaultUser::step || user == FaultUser::search;
    if (why.empty() && of_a_step && form == FaultForm::standing && !acts_on_a_step(kind)) {
        return kNoTime;
    }
    const bool of_all = form == FaultForm::trace || form == FaultForm::bursts;
    if (why.empty() && user == FaultUser::serving && !of_all && !acts_on_instances(kind)) {
        return kNoInstance;
    }
    return why;
}

std::vector<FaultLeftOut> faults_left_out(const std::vector<FaultEntry>& entries, FaultUser user) {
    std::vector<FaultLeftOut> left_out;
    for (const FaultEntry& entry : entries) {
        const std::string_view why = why_left_out(user, entry.form, entry.kind);
        if (!why.empty()) {
            left_out.push_back({entry, std::string{why}});
        }
    }
    return left_out;
}

std::string faults_left_out_line(const std::vector<FaultLeftOut>& left_out) {
    constexpr std::size_t kNamed = 4;  // entries named for one reason
    std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
    for (const FaultLeftOut& one : left_out) {
        std::size_t r = 0;
        while (r < by_reason.size() && by_reason[r].first != one.why) {
            ++r;
        }
        if (r == by_reason.size()) {
            by_reason.push_back({one.why, {}});
        }
        const FaultEntry& e = one.entry;
        by_reason[r].second.push_back(
            e.what.empty() ? fmt::format("{} ({})", e.path, name(e.form))
                           : fmt::format("{} ({}, {})", e.path, e.what, name(e.form)));
    }
    std::string line;
    for (auto& [why, entries] : by_reason) {
        const std::size_t more = entries.size() - std::min(entries.size(), kNamed);
        entries.resize(entries.size() - more);
        line += fmt::format("{}{}{}: {}",
                            line.empty() ? "faults left out: " : "; ",
                            fmt::join(entries, ", "),
                            more > 0 ? fmt::format(" and {} more", more) : "",
                            why);
    }
    return line;
}

}  // namespace orrery
