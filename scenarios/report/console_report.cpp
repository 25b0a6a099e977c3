// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/console_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/utf8.h"
#include "scenarios/report/memory_report.h"
#include "scenarios/report/text_table.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

std::string thousands(std::int64_t value) {
    const std::string digits = fmt::format("{}", value);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        const bool comma = i > 0 && (digits.size() - i) % 3 == 0 && digits[i - 1] != '-';
        text += comma ? "," : "";
        text += digits[i];
    }
    return text;
}

std::string counted(std::int64_t count, std::string_view what) {
    const char* ending = count == 1 ? "" : what.ends_with("ch") ? "es" : "s";
    return fmt::format("{} {}{}", thousands(count), what, ending);
}

namespace {

constexpr std::size_t kCollectivesShown = 12;
constexpr std::size_t kBarWidth = 42;

std::string aligned_percent(double share) {
    return fmt::format("{:5.1f} %", share * 100);
}

// A bar between two shares of the width, in whole characters. What is too short for a character is
// a thin line, nothing stays empty. A gain (end before begin) is drawn light.
std::string bar(double begin, double end) {
    const auto at = [](double share) {
        return static_cast<std::size_t>(
            std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(kBarWidth)));
    };
    if (begin == end) {
        return {};
    }
    const std::size_t first = std::min(at(std::min(begin, end)), kBarWidth - 1);
    const std::size_t last = at(std::max(begin, end));
    std::string text(first, ' ');
    if (last <= first) {
        return text + "▏";
    }
    for (std::size_t i = first; i < last; ++i) {
        text += begin < end ? "█" : "░";
    }
    return text;
}

std::string words(std::string_view name) {
    std::string text{name};
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

std::string parameters_text(std::int64_t parameters) {
    const auto count = static_cast<double>(parameters);
    return count < 1e9    ? fmt::format("{:.4g} million parameters", count * 1e-6)
           : count < 1e12 ? fmt::format("{:.4g} billion parameters", count * 1e-9)
                          : fmt::format("{:.4g} trillion parameters", count * 1e-12);
}

std::string heading(const Answer& a) {
    std::string text = fmt::format("{}\n\n", cut(a.scenario, kReportColumns));
    const auto line = [&](const char* what, const std::string& value) {
        text += fmt::format("  {:<10}{}\n", what, cut(value, kReportColumns - 12));
    };
    line("model", (a.model.empty() ? "" : a.model + ", ") + parameters_text(a.parameters));
    line("cluster", fmt::format("{} ({}): {}", counted(a.ranks, "GPU"), a.device, a.cluster));
    line("plan", a.plan);
    line("batch",
         fmt::format("{} of {}, {}",
                     counted(a.global_batch_size, "sequence"),
                     counted(a.seq_length, "token"),
                     counted(a.micro_batches, "micro-batch")));
    if (const std::string assumed = assumed_words(a); !assumed.empty()) {
        const std::string lines = wrapped(assumed, kReportColumns, 12);
        text += "  assumed   " + lines.substr(12);
    }
    if (!a.memory.fits) {
        text += "\n" + wrapped(does_not_fit_line(a.memory), kReportColumns - 2, 2);
    }
    for (const std::string& remark : a.remarks) {
        text += "\n" + wrapped(remark, kReportColumns - 2, 2);
    }
    return text;
}

// What widens the interval, and where 90 % of such steps lie.
std::string unseen(const Answer& a) {
    if (a.unseen == Unseen::nothing) {
        return {};
    }
    const char* what = a.unseen == Unseen::software  ? "software"
                       : a.unseen == Unseen::lineage ? "software or its kin"
                       : a.unseen == Unseen::experts ? "kind of model"
                                                     : "device and precision";
    const auto at = [&](double sigmas) {
        const double times = std::exp(a.shift + sigmas * a.uncertainty);
        return to_short_text(Time::seconds(a.iteration.seconds() * times));
    };
    return fmt::format("  (wider: no step of this {} was fitted)\n{:20}90 % of such steps take {} "
                       "to {}, half of them more than {}",
                       what, "", at(-kQuantile95), at(kQuantile95), at(0));
}

std::string result(const Answer& a) {
    std::string text = "\n";
    text += fmt::format("  iteration time    {} ± {:.1f} %{}\n",
                        to_short_text(a.iteration),
                        a.uncertainty * 100,
                        unseen(a));
    text += fmt::format("  throughput        {} tokens/s, {:.1f} model TFLOP/s per GPU\n",
                        thousands(std::llround(a.tokens_per_s)),
                        a.mfu * a.peak.per_second() * 1e-12);
    text += fmt::format("  MFU             {}  (full attention; causal {:.1f} %)\n",
                        aligned_percent(a.mfu),
                        a.mfu_causal * 100);
    text += fmt::format("  HFU             {}  (full attention; causal {:.1f} %)\n",
                        aligned_percent(a.hfu),
                        a.hfu_causal * 100);
    return text;
}

std::string waterfall_text(const Answer& a) {
    std::string text = "\nWhere the peak goes\n\n";
    const auto line = [&](const std::string& what,
                          double share,
                          double begin,
                          double end,
                          const std::string& time) {
        text += fmt::format("  {:<27}{}  {:>9}  {}\n",
                            cut(what, 26),
                            aligned_percent(share),
                            time,
                            bar(begin, end));
    };
    line("device peak", 1, 0, 1, to_short_text(a.iteration));
    double left = 1;
    for (const LostMfu& lost : a.lost_mfu) {
        line("- " + words_for(lost.cause),
             lost.mfu,
             left - lost.mfu,
             left,
             to_short_text(lost.time));
        left -= lost.mfu;
    }
    line("= MFU", a.mfu, 0, a.mfu, "");
    return text;
}

std::string rank_list(const std::vector<RankId>& ranks) {
    constexpr std::size_t kShown = 8;
    std::string text = ranks.size() == 1 ? "rank" : "ranks";
    for (std::size_t i = 0; i < std::min(ranks.size(), kShown); ++i) {
        text += fmt::format("{} {}", i == 0 ? "" : ",", index(ranks[i]));
    }
    return ranks.size() > kShown ? fmt::format("{} and {} more", text, ranks.size() - kShown)
                                 : text;
}

std::string hang_text(const StepHang& hang) {
    constexpr std::size_t kShown = 6;
    std::string text;
    if (!hang.lost.empty()) {
        text += fmt::format("  lost: {}\n", rank_list(hang.lost));
    }
    text += fmt::format(
        "  the step never ends: the collective timeout stops the job after {}\n"
        "\n  Which rank waits for which, from the step's begin on\n",
        to_short_text(hang.timeout));
    for (std::size_t i = 0; i < std::min(hang.groups.size(), kShown); ++i) {
        const StuckGroup& g = hang.groups[i];
        text += fmt::format("  {}{}\n    {} {} since {}; {}\n",
                            g.operation,
                            g.group.empty() ? "" : " in group " + g.group,
                            rank_list(g.waiting),
                            g.waiting.size() == 1 ? "waits" : "wait",
                            to_short_text(g.since),
                            g.missing.empty() ? "it broke when all had arrived"
                                              : rank_list(g.missing) + " never arrived");
    }
    if (hang.groups.size() > kShown) {
        text += fmt::format("  and {} more\n", hang.groups.size() - kShown);
    }
    return text + "\n  All else is of the step without the loss.\n";
}

std::string left_out_line(const Answer& a) {
    const std::string line = faults_left_out_line(a.faults_left_out);
    return line.empty() ? line : "\n" + wrapped(line, kReportColumns, 0);
}

std::string faults(const Answer& a) {
    if (a.faults.empty()) {
        return left_out_line(a);
    }
    std::string text = left_out_line(a) + "\nFaults in the step\n\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(a.faults.size(), 8); ++i) {
        text += fmt::format("  {}\n", cut(a.faults[i], kReportColumns - 2));
    }
    if (a.faults.size() > 8) {
        text += fmt::format("  and {} more\n", a.faults.size() - 8);
    }
    if (a.hang) {
        return text + hang_text(*a.hang);
    }
    text += fmt::format("  the step without them {}: {:+.2f} %\n",
                        to_short_text(a.healthy_iteration),
                        (a.iteration / a.healthy_iteration - 1) * 100);
    if (a.rank_waits.empty()) {
        return text;
    }
    text +=
        "\n  Who waits, at arrival            kernels   for tensor     pipeline         data"
        "        other\n";
    for (const RankWait& w : a.rank_waits) {
        const auto& of = w.waits;
        text += fmt::format("  rank {:<8}{:<18}{:>11}  {:>11}  {:>11}  {:>11}  {:>11}\n",
                            index(w.rank),
                            cut(w.relation, 17),
                            to_short_text(w.kernels),
                            to_short_text(of[Cause::exposed_tensor]),
                            to_short_text(of[Cause::exposed_pipeline]),
                            to_short_text(of[Cause::exposed_data]),
                            to_short_text(of[Cause::exposed_context] + of[Cause::exposed_expert] +
                                          of[Cause::exposed_other]));
    }
    return text;
}

std::string memory(const MemoryUse& m) {
    std::string text = "\nMemory of the fullest GPU\n\n";
    for (std::size_t i = 0; i < kNumTensorKinds; ++i) {
        if (m.of[i] == Bytes{}) {
            continue;
        }
        const double share = static_cast<double>(m.of[i].count()) /
                             static_cast<double>(std::max<std::int64_t>(1, m.device.count()));
        text += fmt::format("  {:<24}{:>11}  {}\n",
                            words(name(static_cast<TensorKind>(i))),
                            to_short_text(m.of[i]),
                            bar(0, std::min(1.0, share)));
    }
    const auto add = [&](std::string_view what, Bytes bytes) {
        text += fmt::format("  {:<24}{:>11}\n", what, to_short_text(bytes));
    };
    if (m.in_use < m.peak) {
        add("gaps between tensors", m.peak - m.in_use);
    }
    if (!m.overheads.empty()) {
        add("peak", m.peak);
    }
    for (const MemoryOverhead& overhead : m.overheads) {
        add(overhead.name, overhead.bytes);
    }
    text += fmt::format("  {:<24}{:>11}  of {}: {}\n",
                        m.overheads.empty() ? "peak" : "all",
                        to_short_text(m.needed()),
                        to_short_text(m.device),
                        m.needed() <= m.device ? "fits" : "DOES NOT FIT");
    if (m.host > Bytes{}) {
        text += tier_line("host memory", m.host, m.host_memory, m.host_largest);
    }
    if (m.drives > Bytes{}) {
        text += tier_line("drives", m.drives, m.drives_size, m.drives_largest);
    }
    text += fmt::format("  {}\n",
                        cut(fmt::format("on rank {} ({}) in {}", index(m.rank), m.role, m.moment),
                            kReportColumns - 2));
    if (m.needed() > m.device) {
        text += "  largest buffers:\n";
        for (const BufferUse& buffer : m.largest) {
            text += fmt::format("    {:>10}  {:<14}{}\n",
                                to_short_text(buffer.bytes),
                                name(buffer.kind),
                                cut(buffer.name, 60));
        }
    }
    return text;
}

std::string links(const Answer& a) {
    if (a.network.empty()) {
        return {};
    }
    std::string text = "\nUse of the links              mean    busiest\n\n";
    for (const LinkUse& use : a.network) {
        text += fmt::format("  {:<24}{}   {}  {}\n",
                            cut(words(use.link_class), 23),
                            aligned_percent(use.mean),
                            aligned_percent(use.max),
                            bar(0, use.max));
    }
    return text;
}

std::string moved_by(const CollectiveUse& use) {
    switch (use.engine) {
        case TransferEngine::sm:
            return fmt::format("{} SM{}", use.sms, use.sms == 1 ? "" : "s");
        case TransferEngine::copy_engine:
            return "copy engine";
        case TransferEngine::host:
            break;
    }
    return "host";
}

// Calls of one name, printed size and algorithm are one line; the ones that move most come first.
std::vector<CollectiveUse> merged_collectives(const Answer& a) {
    std::vector<CollectiveUse> merged;
    for (const CollectiveUse& use : a.collectives) {
        const auto same = std::find_if(merged.begin(), merged.end(), [&](const CollectiveUse& m) {
            return m.name == use.name && to_short_text(m.bytes) == to_short_text(use.bytes) &&
                   m.ranks == use.ranks && m.algorithm == use.algorithm &&
                   m.protocol == use.protocol && moved_by(m) == moved_by(use);
        });
        if (same == merged.end()) {
            merged.push_back(use);
        } else {
            same->count += use.count;
        }
    }
    return merged;
}

std::string collectives(const Answer& a) {
    if (a.collectives.empty()) {
        return {};
    }
    std::string text =
        "\nCollectives of a step       ranks      bytes  algorithm  protocol     moved by  count   "
        "   "
        "alone\n"
        "\n";
    const std::vector<CollectiveUse> merged = merged_collectives(a);
    for (std::size_t i = 0; i < std::min(merged.size(), kCollectivesShown); ++i) {
        const CollectiveUse& use = merged[i];
        text += fmt::format("  {:<25}{:>6}  {:>9}  {:<10} {:<9} {:>11} {:>6}  {:>9}\n",
                            cut(words(use.name), 24),
                            use.ranks,
                            to_short_text(use.bytes),
                            cut(use.algorithm, 10),
                            use.protocol,
                            moved_by(use),
                            thousands(use.count),
                            to_short_text(use.alone));
    }
    if (merged.size() > kCollectivesShown) {
        text += fmt::format("  and {} smaller ones\n", merged.size() - kCollectivesShown);
    }
    return text + "  alone: one call, while nothing else moves.\n";
}

// What became of a profile's collectives, including measurements of nccl-tests.
std::string measured_collectives(const Answer& a) {
    if (a.profile_transfers == 0) {
        return {};
    }
    std::int64_t all = 0;
    std::int64_t measured = 0;
    for (const CollectiveUse& use : a.collectives) {
        all += use.count;
        measured += use.algorithm == "measured" ? use.count : 0;
    }
    const std::string rows =
        a.profile_transfers_here == a.profile_transfers
            ? ""
            : fmt::format(", {} of another device", a.profile_transfers - a.profile_transfers_here);
    return fmt::format(
        "\nThe profile has {}{}. It times {} of {} collectives\n"
        "of a step ('measured'); the network model times those across servers and of other "
        "kinds.\n",
        counted(static_cast<std::int64_t>(a.profile_transfers), "transfer"),
        rows,
        thousands(measured),
        thousands(all));
}

std::string packets(const Answer& a) {
    if (!a.packets) {
        return {};
    }
    const PacketWindowUse& p = *a.packets;
    std::string text = p.whole
                           ? "\nPackets for the whole step: "
                           : fmt::format("\nPackets from {} for {} of the step: ",
                                         p.begin == Time{} ? "its begin" : to_short_text(p.begin),
                                         to_short_text(p.lasts));
    text +=
        fmt::format("{} of {}.\n", counted(p.packets, "packet"), counted(p.transfers, "transfer"));
    text += fmt::format("  {} marked, {} repeated, {} trimmed, {} dropped; {} at most {} long.\n",
                        thousands(p.marked),
                        thousands(p.repeated),
                        thousands(p.trimmed),
                        thousands(p.dropped),
                        counted(p.pauses, "pause"),
                        to_short_text(p.paused_max));
    if (p.queue_max > Bytes{}) {
        text += fmt::format(
            "  The fullest queue held {}: {}.\n", to_short_text(p.queue_max), p.queue_at);
    }
    if (p.failed > 0) {
        text += fmt::format("  {} gave up.\n", counted(p.failed, "connection"));
    }
    text += fmt::format(
        "  Transfers take {:.2f} times as long as with fair shares, the worst {:.2f}.\n",
        p.slowdown,
        p.slowdown_max);
    const double longer = a.iteration / p.fair_iteration - 1;
    return text + fmt::format("  The step takes {} with fair shares; packets {:+.2f} %.\n",
                              to_short_text(p.fair_iteration),
                              100 * longer);
}

std::string footer(const Answer& a) {
    return fmt::format(
        "\nKernel time: {:.0f} % measured, {:.0f} % interpolated, {:.0f} % roofline. Network: {}.\n"
        "{}"
        "Simulated {} in {} and {}:\n"
        "{}, {} on {}, {}.\n"
        "orrery {}, seed {}\n",
        a.cost_sources.measured * 100,
        a.cost_sources.interpolated * 100,
        a.cost_sources.roofline * 100,
        a.network_model,
        a.unprofiled_cpu ? "This CPU was never profiled: `orrery profile` measures its kernels.\n"
                         : "",
        counted(a.simulated_ops, "op"),
        to_short_text(Time::seconds(a.wall_s)),
        to_short_text(Bytes{a.peak_rss_bytes}),
        a.fold_classes == 1 ? "1 fold class" : thousands(a.fold_classes) + " fold classes",
        counted(a.flows, "flow"),
        counted(a.distinct_paths, "path"),
        counted(a.rate_solves, "rate solve"),
        a.version,
        a.seed);
}

}  // namespace

// What the communication of a kind costs is only what nothing hides.
std::string words_for(Cause cause) {
    switch (cause) {
        case Cause::gemm_inefficiency:
            return "GEMM inefficiency";
        case Cause::memory_bound_kernels:
            return "memory-bound kernels";
        case Cause::exposed_tensor:
            return "exposed tensor-parallel";
        case Cause::exposed_context:
            return "exposed context-parallel";
        case Cause::exposed_expert:
            return "exposed expert-parallel";
        case Cause::exposed_data:
            return "exposed data-parallel";
        case Cause::exposed_other:
            return "exposed embedding, norm";
        case Cause::counted_not_executed:
            return "counted, not executed";
        default:
            return words(name(cause));
    }
}

std::string assumed_words(const Answer& answer) {
    std::string text;
    for (const auto& [key, value] : answer.assumed) {
        text +=
            fmt::format("{}{} {}", text.empty() ? "" : ", ", key.substr(key.find('.') + 1), value);
    }
    return text;
}

std::string console_report(const Answer& answer) {
    return heading(answer) + result(answer) + faults(answer) + waterfall_text(answer) +
           memory(answer.memory) + links(answer) + packets(answer) + collectives(answer) +
           measured_collectives(answer) + footer(answer);
}

std::string waterfall_report(const Answer& answer) {
    return waterfall_text(answer);
}

}  // namespace orrery
