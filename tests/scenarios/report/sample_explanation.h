// SPDX-License-Identifier: Apache-2.0
// An explanation with losses of several groups, a suggestion and uneven experts.
#pragma once

#include "scenarios/studies/explain/explain.h"

namespace orrery {

inline Explanation sample_explanation() {
    Explanation explanation{.tried = 9, .refused = 3, .too_large = 1};
    Answer& answer = explanation.answer;
    answer.scenario = "small";
    answer.model = "gpt";
    answer.cluster = "1 x dgx";
    answer.plan = "tp 2";
    answer.iteration = Time::seconds(2);
    answer.mfu = 0.5;
    answer.lost_mfu = {{Cause::gemm_inefficiency, 0.1, Time::seconds(0.4)},
                       {Cause::exposed_data, 0.2, Time::seconds(0.8)},
                       {Cause::pipeline_bubble, 0.25, Time::seconds(1.0)},
                       {Cause::exposed_tensor, 0.1, Time::seconds(0.4)},
                       {Cause::counted_not_executed, -0.15, Time{}}};
    answer.memory.peak = Bytes{40};
    answer.memory.device = Bytes{80};
    explanation.suggestions = {{.change = {ChangeKind::plan, "tp 2 -> 4", {"plan.x=4"}},
                                .gain = 0.25,
                                .iteration = Time::seconds(1.6),
                                .mfu = 0.625,
                                .peak_memory = Bytes{20},
                                .needed_memory = Bytes{25}}};
    explanation.hot_experts = HotExperts{.layer = 3,
                                         .rank = RankId{5},
                                         .over_mean = 1.4,
                                         .worst = 1.6,
                                         .mean_worst = 1.3,
                                         .dropped = 0.01,
                                         .busiest = RankId{2},
                                         .busiest_over_mean = 1.2,
                                         .balanced = Time::seconds(1.5)};
    return explanation;
}

}  // namespace orrery
