// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/explain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/json_text.h"
#include "scenarios/report/memory_report.h"
#include "scenarios/report/text_table.h"

namespace orrery {
namespace {

constexpr std::size_t kExplainWidth = 96;

struct CauseWords {
    Cause cause;
    const char* group;
    const char* words;
};

// What a loss is, and what it depends on.
constexpr std::array kWords{
    CauseWords{Cause::gemm_inefficiency,
               "kernels",
               "the matrix products run below the peak; larger ones (a larger micro-batch, less "
               "tensor parallelism, a wider model) come closer"},
    CauseWords{Cause::attention_inefficiency,
               "kernels",
               "attention runs below the peak; its kernel and the sequence length decide"},
    CauseWords{Cause::memory_bound_kernels,
               "kernels",
               "norms, activations and residuals move bytes and compute little; fusing them and "
               "sequence parallelism shorten them"},
    CauseWords{Cause::recomputation,
               "recomputation",
               "forward kernels run again in the backward pass to save memory"},
    CauseWords{Cause::optimizer,
               "kernels",
               "the optimizer reads and writes its state once a step; sharding divides it"},
    CauseWords{Cause::exposed_tensor,
               "communication",
               "tensor-parallel collectives that no kernel hides; a smaller tensor-parallel size "
               "or tp_comm_overlap"},
    CauseWords{Cause::exposed_context,
               "communication",
               "context-parallel exchange of keys and values that no attention hides"},
    CauseWords{Cause::exposed_expert,
               "communication",
               "tokens on their way to their experts and back that no kernel hides"},
    CauseWords{Cause::exposed_data,
               "communication",
               "gradients and parameters that travel when nothing is left to compute"},
    CauseWords{Cause::exposed_pipeline,
               "communication",
               "activations on their way between stages while the next one waits"},
    CauseWords{Cause::exposed_other,
               "communication",
               "gradients of the shared embedding, the norm of all gradients, and copies between "
               "GPUs, the memory of their hosts and drives"},
    CauseWords{
        Cause::network_contention, "communication", "transfers that share links with others"},
    CauseWords{Cause::interference,
               "communication",
               "kernels slowed by the communication that they hide, which takes SMs and memory "
               "bandwidth"},
    CauseWords{Cause::launch, "the host", "the GPU waits for the host to launch kernels"},
    CauseWords{Cause::host, "the host", "work of the host between kernels"},
    CauseWords{Cause::noise, "noise", "the slowest of many ranks sets the pace"},
    CauseWords{Cause::pipeline_bubble,
               "the pipeline",
               "stages wait at the beginning and the end of a step; more micro-batches a step, "
               "more virtual stages or fewer stages"},
    CauseWords{Cause::stage_imbalance,
               "the pipeline",
               "the fullest stage has more to do than the mean: embedding and output layer, or an "
               "uneven split"},
};

const CauseWords* words_of(Cause cause) {
    const auto found = std::ranges::find(kWords, cause, &CauseWords::cause);
    return found == kWords.end() ? nullptr : &*found;
}

std::vector<LostMfu> losses(const Answer& answer) {
    std::vector<LostMfu> lost;
    std::ranges::copy_if(answer.lost_mfu, std::back_inserter(lost), [](const LostMfu& part) {
        return part.mfu > 0 && words_of(part.cause) != nullptr;
    });
    std::ranges::stable_sort(lost, std::greater{}, &LostMfu::mfu);
    return lost;
}

// The group that loses most, with what it loses.
std::pair<std::string, double> main_limit(const std::vector<LostMfu>& lost) {
    std::pair<std::string, double> most;
    for (const CauseWords& words : kWords) {
        double sum = 0;
        for (const LostMfu& part : lost) {
            sum += std::string_view{words_of(part.cause)->group} == words.group ? part.mfu : 0;
        }
        if (sum > most.second) {
            most = {words.group, sum};
        }
    }
    return most;
}

std::string limits_text(const Answer& answer) {
    const std::vector<LostMfu> lost = losses(answer);
    const auto [group, points] = main_limit(lost);
    double all = 0;
    for (const LostMfu& part : lost) {
        all += part.mfu;
    }
    std::string text = wrapped(
        fmt::format("A step takes {}: {:.1f} % of the peak is useful work (MFU). Of the {:.1f} "
                    "points that are lost, most go to {}: {:.1f}.",
                    to_short_text(answer.iteration),
                    answer.mfu * 100,
                    all * 100,
                    group,
                    points * 100),
        kExplainWidth,
        0);
    text += "\nWhat limits it\n\n";
    constexpr std::size_t kShown = 6;
    for (std::size_t i = 0; i < std::min(lost.size(), kShown); ++i) {
        text +=
            fmt::format("  {:>4.1f} points, {}\n", lost[i].mfu * 100, to_short_text(lost[i].time));
        text += wrapped(words_of(lost[i].cause)->words, kExplainWidth, 4);
    }
    return text;
}

std::string memory_text(const MemoryUse& memory) {
    const double share =
        static_cast<double>(memory.needed().count()) / static_cast<double>(memory.device.count());
    const bool of_device = memory.needed() <= memory.device;
    const char* verdict = !of_device    ? "it does not fit"
                          : share > 0.9 ? "hardly any room"
                          : share < 0.5 ? "much room: memory could be spent on speed"
                                        : "some room";
    std::string text = fmt::format("\nMemory: {} of {} on the fullest GPU: {}.\n",
                                   to_short_text(memory.needed()),
                                   to_short_text(memory.device),
                                   verdict);
    if (of_device && !memory.fits) {
        text += wrapped(does_not_fit_line(memory), kExplainWidth, 2);
    }
    return text;
}

std::string experts_text(const Explanation& explanation) {
    if (!explanation.hot_experts) {
        return "";
    }
    const HotExperts& hot = *explanation.hot_experts;
    const double gain = 1 - hot.balanced / explanation.answer.iteration;
    std::string text = fmt::format(
        "Experts: rank {} has most rows of its stage, {:.2f} times the mean. In layer {}, the most "
        "uneven one, rank {} has {:.2f} times the mean. The busiest rank of a micro-batch, for "
        "which the others wait, has {:.2f} times the mean there and {:.2f} times in all layers.",
        index(hot.busiest),
        hot.busiest_over_mean,
        hot.layer,
        index(hot.rank),
        hot.over_mean,
        hot.worst,
        hot.mean_worst);
    if (hot.dropped > 0) {
        text += fmt::format(" The capacity drops {:.1f} % of all rows.", hot.dropped * 100);
    }
    text += fmt::format(" With equal loads a step would take {}: {:.1f} % less.",
                        to_short_text(hot.balanced),
                        gain * 100);
    return "\n" + wrapped(text, kExplainWidth, 0);
}

std::string suggestions_text(const Explanation& explanation, ChangeKind kind, const char* title) {
    std::vector<TextRow> rows;
    for (const Suggestion& suggestion : explanation.suggestions) {
        if (suggestion.change.kind == kind) {
            rows.push_back({suggestion.change.words,
                            fmt::format("{:+.1f} %", suggestion.gain * 100),
                            to_short_text(suggestion.iteration),
                            fmt::format("{:.1f} %", suggestion.mfu * 100),
                            to_short_text(suggestion.needed_memory)});
        }
    }
    if (rows.empty()) {
        return "";
    }
    rows.insert(rows.begin(), {title, "tokens/s", "step", "MFU", "memory"});
    return "\n" + text_table(rows, 1);
}

}  // namespace

std::vector<Limit> limits(const Answer& answer) {
    std::vector<Limit> list;
    for (const LostMfu& part : losses(answer)) {
        list.push_back({part.cause, part.mfu, part.time, words_of(part.cause)->words});
    }
    return list;
}

std::string explain_report(const Explanation& explanation) {
    const Answer& answer = explanation.answer;
    std::string text = fmt::format(
        "{}: {} on {}\n{}\n\n", answer.scenario, answer.model, answer.cluster, answer.plan);
    text += limits_text(answer) + memory_text(answer.memory) + experts_text(explanation);
    const char* fit =
        answer.memory.fits ? "What would help, simulated" : "What would fit, simulated";
    text += suggestions_text(explanation, ChangeKind::plan, fit);
    text += suggestions_text(explanation, ChangeKind::batch, "Another batch");
    text += suggestions_text(explanation, ChangeKind::hardware, "Other hardware");
    if (explanation.suggestions.empty()) {
        text += "\nNo single change that was tried helps.\n";
    }
    text += fmt::format(
        "\nTried {} changes, one at a time: {} are not possible, {} do not fit. orrery search "
        "tries them\ntogether.\n",
        explanation.tried,
        explanation.refused,
        explanation.too_large);
    return text;
}

std::string explain_json(const Explanation& explanation) {
    using Json = nlohmann::ordered_json;
    constexpr std::array kKinds{"plan", "batch", "hardware"};
    Json limits = Json::array();
    for (const LostMfu& part : losses(explanation.answer)) {
        limits.push_back({{"cause", name(part.cause)},
                          {"group", words_of(part.cause)->group},
                          {"mfu", part.mfu},
                          {"time_s", part.time.seconds()},
                          {"words", words_of(part.cause)->words}});
    }
    Json suggestions = Json::array();
    for (const Suggestion& suggestion : explanation.suggestions) {
        suggestions.push_back({{"kind", kKinds[static_cast<std::size_t>(suggestion.change.kind)]},
                               {"words", suggestion.change.words},
                               {"set", suggestion.change.overrides},
                               {"gain", suggestion.gain},
                               {"iteration_s", suggestion.iteration.seconds()},
                               {"mfu", suggestion.mfu},
                               {"peak_memory_bytes", suggestion.peak_memory.count()}});
    }
    const Answer& answer = explanation.answer;
    Json json{{"scenario", answer.scenario},
              {"iteration_s", answer.iteration.seconds()},
              {"mfu", answer.mfu},
              {"fits", answer.memory.fits},
              {"limits", limits},
              {"suggestions", suggestions},
              {"tried", explanation.tried},
              {"refused", explanation.refused},
              {"too_large", explanation.too_large}};
    if (explanation.hot_experts) {
        const HotExperts& hot = *explanation.hot_experts;
        json["hot_experts"] = {{"layer", hot.layer},
                               {"rank", index(hot.rank)},
                               {"over_mean", hot.over_mean},
                               {"busiest_of_a_micro_batch", hot.worst},
                               {"mean_over_layers", hot.mean_worst},
                               {"busiest_rank", index(hot.busiest)},
                               {"busiest_rank_over_mean", hot.busiest_over_mean},
                               {"dropped", hot.dropped},
                               {"balanced_iteration_s", hot.balanced.seconds()}};
    }
    return json_text(json);
}

}  // namespace orrery
