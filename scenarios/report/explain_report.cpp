// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/explain_report.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_text.h"

namespace orrery {
namespace {

struct CauseWords {
    Cause cause;
    const char* group;
    const char* words;
};

// Meaning of each loss, and the settings on which it depends.
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

}  // namespace

std::vector<LossOfMfu> limits(const Answer& answer) {
    std::vector<LossOfMfu> list;
    for (const LostMfu& part : losses(answer)) {
        list.push_back({part.cause, part.mfu, part.time, words_of(part.cause)->words});
    }
    return list;
}

std::pair<std::string, double> main_limit(const Answer& answer) {
    const std::vector<LostMfu> lost = losses(answer);
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

std::string explain_json(const Explanation& explanation) {
    using Json = nlohmann::ordered_json;
    constexpr std::array kKinds{"plan", "batch", "hardware"};
    Json limits = json_list<Json>(losses(explanation.answer), [](const LostMfu& part) -> Json {
        return {{"cause", name(part.cause)},
                {"group", words_of(part.cause)->group},
                {"mfu", part.mfu},
                {"time_s", part.time.seconds()},
                {"words", words_of(part.cause)->words}};
    });
    Json suggestions =
        json_list<Json>(explanation.suggestions, [&](const Suggestion& suggestion) -> Json {
            return {{"kind", kKinds[static_cast<std::size_t>(suggestion.change.kind)]},
                    {"words", suggestion.change.words},
                    {"set", suggestion.change.overrides},
                    {"gain", suggestion.gain},
                    {"iteration_s", suggestion.iteration.seconds()},
                    {"mfu", suggestion.mfu},
                    {"peak_memory_bytes", suggestion.peak_memory.count()}};
        });
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
