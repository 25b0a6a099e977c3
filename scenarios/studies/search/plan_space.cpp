// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/plan_space.h"

#include <algorithm>

#include "engine/base/check.h"
#include "models/plan/divisors.h"
#include "models/plan/plan_words.h"
#include "models/plan/validate_plan.h"

namespace orrery {
namespace {

constexpr std::int64_t kContextMost = 16;     // more only if the space names it
constexpr std::int64_t kMicroBatchMost = 16;  // likewise

template <class T>
std::vector<T> or_all(const std::vector<T>& listed, std::vector<T> all) {
    return listed.empty() ? std::move(all) : listed;
}

template <class T>
std::vector<T> values_of(Choices<T> choices) {
    std::vector<T> values(choices.size());
    std::ranges::transform(choices, values.begin(), &Choice<T>::value);
    return values;
}

std::vector<std::int64_t> divisors_up_to(std::int64_t n, std::int64_t most) {
    std::vector<std::int64_t> result = divisors(n);
    std::erase_if(result, [&](std::int64_t d) { return d > most; });
    return result;
}

bool looping(ScheduleKind kind) {
    return kind == ScheduleKind::interleaved_1f1b || kind == ScheduleKind::breadth_first;
}

class Enumeration {
public:
    Enumeration(const PlanSpace& space,
                const Transformer& model,
                const SearchedGpus& gpus,
                const std::function<void(PlanPoint)>& visit,
                std::map<std::string, std::int64_t>& refused,
                const std::function<bool()>& stop)
        : space_(space),
          model_(model),
          gpus_(gpus),
          visit_(visit),
          refused_(refused),
          stop_(stop) {}

    std::int64_t run(const ParallelPlan& base, const RankSizes& sizes);

private:
    void sizes_of_kinds(ParallelPlan plan, std::vector<std::int64_t> sizes);
    void stages_of_kinds(ParallelPlan plan, const std::vector<std::int64_t>& sizes);
    void sizes(ParallelPlan plan);
    void experts(const ParallelPlan& plan);
    void batches(ParallelPlan plan);
    void pipelines(ParallelPlan plan);
    void splits(const ParallelPlan& plan);
    void switches(PlanPoint point);
    void leaf(const PlanPoint& point);
    std::vector<ScheduleKind> schedules(const ParallelPlan& plan) const;
    std::vector<std::int64_t> chunk_counts(std::int64_t stages) const;

    const PlanSpace& space_;
    const Transformer& model_;
    const SearchedGpus& gpus_;
    const std::function<void(PlanPoint)>& visit_;
    std::map<std::string, std::int64_t>& refused_;
    const std::function<bool()>& stop_;
    bool stopped_ = false;
    std::int64_t points_ = 0;
};

std::int64_t Enumeration::run(const ParallelPlan& base, const RankSizes& sizes) {
    ParallelPlan plan = base;
    plan.tensor_model_parallel_size = sizes.tensor;
    plan.context_parallel_size = sizes.context;
    plan.stage_tensor_model_parallel_sizes.clear();
    for (const std::int64_t pp : or_all(space_.pipeline_model_parallel_size,
                                        divisors_up_to(gpus_.total, model_.num_layers))) {
        plan.pipeline_model_parallel_size = pp;
        this->sizes(plan);
    }
    if (gpus_.by_kind.size() > 1) {
        sizes_of_kinds(plan, {});
    }
    return points_;
}

// Each kind of nodes has a size of its own, the largest of them the plan's.
void Enumeration::sizes_of_kinds(ParallelPlan plan, std::vector<std::int64_t> sizes) {
    const std::int64_t largest = plan.tensor_model_parallel_size;
    if (sizes.size() < gpus_.by_kind.size()) {
        for (const std::int64_t tp : or_all(space_.tensor_model_parallel_size,
                                            divisors_up_to(gpus_.total, gpus_.per_node))) {
            if (tp <= largest) {
                sizes.push_back(tp);
                sizes_of_kinds(plan, sizes);
                sizes.pop_back();
            }
        }
    } else if (std::ranges::max(sizes) == largest && std::ranges::min(sizes) < largest) {
        stages_of_kinds(std::move(plan), sizes);
    }
}

// All stages have equally many replicas, so the GPUs of a kind determine how many stages lie on it.
void Enumeration::stages_of_kinds(ParallelPlan plan, const std::vector<std::int64_t>& sizes) {
    const std::vector<std::int64_t>& pipeline = space_.pipeline_model_parallel_size;
    for (const std::int64_t dp : divisors(gpus_.by_kind.front())) {
        std::vector<std::int64_t>& of_stages = plan.stage_tensor_model_parallel_sizes;
        of_stages.clear();
        for (std::size_t kind = 0; kind < sizes.size(); ++kind) {
            const std::int64_t stage = sizes[kind] * plan.context_parallel_size * dp;
            const std::int64_t stages =
                gpus_.by_kind[kind] % stage == 0 ? gpus_.by_kind[kind] / stage : 0;
            if (stages == 0 || stages + std::ssize(of_stages) > model_.num_layers) {
                of_stages.clear();
                break;
            }
            of_stages.insert(of_stages.end(), static_cast<std::size_t>(stages), sizes[kind]);
        }
        plan.pipeline_model_parallel_size = std::ssize(of_stages);
        const bool wanted =
            pipeline.empty() ||
            std::ranges::find(pipeline, plan.pipeline_model_parallel_size) != pipeline.end();
        if (!of_stages.empty() && wanted) {
            this->sizes(plan);
        }
    }
}

void Enumeration::sizes(ParallelPlan plan) {
    if (stopped_) {
        return;
    }
    const std::int64_t dp = derived_data_parallel_size(plan, gpus_.total);
    if (dp == 0) {
        ++points_;
        ++refused_["sizes do not divide the GPUs"];
        return;
    }
    plan.data_parallel_size = dp;
    const bool tensor = plan.tensor_model_parallel_size > 1;
    const auto sequence =
        tensor ? or_all(space_.sequence_parallel, {true}) : std::vector<bool>{false};
    for (const bool sp : sequence) {
        plan.sequence_parallel = sp;
        experts(plan);
    }
}

void Enumeration::experts(const ParallelPlan& base) {
    if (model_.num_experts == 0) {
        batches(base);
        return;
    }
    const auto listed = or_all(space_.expert_model_parallel_size, divisors(model_.num_experts));
    const auto tensor =
        or_all(space_.expert_tensor_parallel_size, {base.expert_tensor_parallel_size});
    for (const std::int64_t experts : listed) {
        for (const std::int64_t size : tensor) {
            ParallelPlan plan = base;
            plan.expert_model_parallel_size = experts;
            plan.expert_tensor_parallel_size = size;
            const std::int64_t stage = plan.tensor_model_parallel_size *
                                       plan.context_parallel_size * plan.data_parallel_size;
            if (stage % (plan.expert_tensor_size() * experts) != 0) {
                ++points_;
                ++refused_["expert_model_parallel_size"];
                continue;
            }
            for (const TokenDispatcher by :
                 or_all(space_.dispatchers, {base.moe_token_dispatcher_type})) {
                plan.moe_token_dispatcher_type = by;
                batches(plan);
            }
        }
    }
}

void Enumeration::batches(ParallelPlan plan) {
    if (plan.global_batch_size % plan.data_parallel_size != 0) {
        ++points_;
        ++refused_["batch does not divide"];
        return;
    }
    const std::int64_t sequences = plan.global_batch_size / plan.data_parallel_size;
    const auto sizes = or_all(space_.micro_batch_size, divisors_up_to(sequences, kMicroBatchMost));
    for (const std::int64_t size : sizes) {
        if (sequences % size != 0) {
            ++points_;
            ++refused_["batch does not divide"];
            continue;
        }
        plan.micro_batch_size = size;
        pipelines(plan);
    }
}

std::vector<std::int64_t> Enumeration::chunk_counts(std::int64_t stages) const {
    if (stages == 1) {
        return {1};
    }
    if (!space_.virtual_pipeline_model_parallel_size.empty()) {
        return space_.virtual_pipeline_model_parallel_size;
    }
    std::vector<std::int64_t> counts = {1};
    for (std::int64_t v = 2; v * stages <= model_.num_layers + 2; ++v) {
        // Each virtual stage has whole layers, with or without places for embedding and loss.
        if (model_.num_layers % (v * stages) == 0 || (model_.num_layers + 2) % (v * stages) == 0) {
            counts.push_back(v);
        }
    }
    return counts;
}

std::vector<ScheduleKind> Enumeration::schedules(const ParallelPlan& plan) const {
    if (plan.pipeline_model_parallel_size == 1) {
        return {ScheduleKind::one_f_one_b};
    }
    auto kinds = or_all(space_.schedules,
                        {ScheduleKind::one_f_one_b,
                         ScheduleKind::interleaved_1f1b,
                         ScheduleKind::gpipe,
                         ScheduleKind::breadth_first,
                         ScheduleKind::zero_bubble});
    const bool chunked = plan.virtual_pipeline_model_parallel_size > 1;
    std::erase_if(kinds, [&](ScheduleKind kind) { return looping(kind) != chunked; });
    return kinds;
}

void Enumeration::pipelines(ParallelPlan plan) {
    for (const std::int64_t chunks : chunk_counts(plan.pipeline_model_parallel_size)) {
        plan.virtual_pipeline_model_parallel_size = chunks;
        for (const ScheduleKind kind : schedules(plan)) {
            plan.schedule = kind;
            splits(plan);
        }
    }
}

void Enumeration::splits(const ParallelPlan& plan) {
    stopped_ = stopped_ || (stop_ && stop_());
    if (stopped_) {
        return;
    }
    const bool staged = plan.pipeline_model_parallel_size > 1;
    const auto kinds =
        staged ? or_all(space_.splits,
                        {StageSplit::even, StageSplit::embedding_loss, StageSplit::balanced})
               : std::vector<StageSplit>{StageSplit::even};
    for (const StageSplit split : kinds) {
        PlanPoint point{.plan = plan, .split = split};
        point.plan.embedding_and_loss_as_layers = split == StageSplit::embedding_loss;
        point.plan.pipeline_layout.clear();
        point.plan.vocabulary_parallel = false;  // bounds have the loss on the last stage
        if (split == StageSplit::balanced) {
            // Costs of the stages determine the layout later. Any layout serves the checks here.
            point.plan.pipeline_layout = balanced_layout(model_.num_layers,
                                                         plan.pipeline_model_parallel_size,
                                                         plan.virtual_pipeline_model_parallel_size,
                                                         0,
                                                         0);
        }
        switches(std::move(point));
    }
}

void Enumeration::switches(PlanPoint point) {
    ParallelPlan& plan = point.plan;
    const bool with_step = plan.overlap_param_gather_with_optimizer_step;  // where allowed
    const std::int64_t sharing = plan.data_parallel_size * plan.context_parallel_size;
    const auto sharding =
        sharing == 1 ? std::vector<ShardingStrategy>{ShardingStrategy::no_shard}
                     : or_all(space_.sharding, values_of<ShardingStrategy>(kShardingStrategies));
    const bool placed = plan.pipeline_model_parallel_size > 1 && plan.data_parallel_size > 1 &&
                        plan.stage_tensor_model_parallel_sizes.empty();
    const auto orders =
        placed ? or_all(space_.rank_orders, {RankOrder::tp_cp_dp_pp, RankOrder::tp_cp_pp_dp})
               : std::vector<RankOrder>{RankOrder::tp_cp_dp_pp};
    const auto recompute = or_all(space_.recompute, values_of<Recompute>(kRecomputes));
    for (const ShardingStrategy strategy : sharding) {
        for (const Recompute granularity : recompute) {
            for (const bool overlap : or_all(space_.overlap, {true, false})) {
                for (const RankOrder order : orders) {
                    plan.data_parallel_sharding_strategy = strategy;
                    plan.recompute_granularity = granularity;
                    plan.overlap_grad_reduce = overlap && sharing > 1;
                    plan.overlap_param_gather = overlap && plan.shards_optimizer();
                    plan.overlap_param_gather_with_optimizer_step =
                        with_step && plan.overlap_param_gather && !plan.shards_weights() &&
                        plan.virtual_pipeline_model_parallel_size > 1;
                    plan.tp_comm_overlap = overlap && plan.sequence_parallel;
                    plan.overlap_p2p = overlap && plan.pipeline_model_parallel_size > 1;
                    plan.rank_order = order;
                    leaf(point);
                }
            }
        }
    }
}

void Enumeration::leaf(const PlanPoint& point) {
    ++points_;
    const Errors errors = check(model_, point.plan, gpus_.total);
    if (errors.empty()) {
        visit_(point);
        return;
    }
    const std::string& key = errors.front().where;
    ++refused_[key.substr(key.rfind('.') + 1)];
}

}  // namespace

std::vector<std::int64_t> balanced_layout(std::int64_t num_layers,
                                          std::int64_t stages,
                                          std::int64_t chunks,
                                          double first,
                                          double last,
                                          std::span<const double> layer_costs) {
    const std::int64_t places = stages * chunks;
    ORRERY_CHECK(places > 0);
    std::vector<std::int64_t> layout(static_cast<std::size_t>(places), 0);
    // A layer goes to the stage with the least work in all its chunks, and there to the virtual
    // stage with the least. Later places come first, because earlier stages hold more activations.
    std::vector<double> of_stage(static_cast<std::size_t>(stages), 0);
    std::vector<double> of_place(static_cast<std::size_t>(places), 0);
    of_stage.front() += first;
    of_stage.back() += last;
    of_place.front() += first;
    of_place.back() += last;
    const auto cost_of = [&](std::size_t place) {
        return layer_costs.empty() ? 1.0 : layer_costs[place % of_stage.size()];
    };
    // If layers cost the same everywhere, the work that a place already has decides.
    const auto cost_with = [&](std::size_t place) {
        const double more = layer_costs.empty() ? 0.0 : cost_of(place);
        return std::pair{of_stage[place % of_stage.size()] + more, of_place[place] + more};
    };
    // Every place but the two ends gets a layer, because only the ends have other work.
    std::int64_t given = 0;
    if (places - 2 <= num_layers) {
        for (std::size_t place = 1; place + 1 < layout.size(); ++place, ++given) {
            layout[place] = 1;
            of_stage[place % of_stage.size()] += cost_of(place);
            of_place[place] += cost_of(place);
        }
    }
    for (; given < num_layers; ++given) {
        std::size_t best = 0;
        for (std::size_t place = 0; place < layout.size(); ++place) {
            if (cost_with(place) <= cost_with(best)) {
                best = place;
            }
        }
        ++layout[best];
        of_stage[best % of_stage.size()] += cost_of(best);
        of_place[best] += cost_of(best);
    }
    return layout;
}

SearchedGpus searched_gpus(const ClusterSpec& cluster) {
    SearchedGpus gpus{.total = cluster.num_ranks(), .per_node = cluster.node.gpus_per_node};
    for (std::uint32_t rank = 0; rank < cluster.num_ranks(); ++rank) {
        const std::uint32_t kind = cluster.kind_of_rank(rank);
        gpus.by_kind.resize(std::max<std::size_t>(gpus.by_kind.size(), kind + 1), 0);
        ++gpus.by_kind[kind];
    }
    return gpus;
}

std::vector<RankSizes> rank_sizes(const PlanSpace& space, const SearchedGpus& gpus) {
    std::vector<RankSizes> sizes;
    for (const std::int64_t tp :
         or_all(space.tensor_model_parallel_size, divisors_up_to(gpus.total, gpus.per_node))) {
        for (const std::int64_t cp :
             or_all(space.context_parallel_size, divisors_up_to(gpus.total, kContextMost))) {
            sizes.push_back({tp, cp});
        }
    }
    return sizes;
}

std::int64_t for_each_plan(const PlanSpace& space,
                           const Transformer& model,
                           const ParallelPlan& base,
                           const SearchedGpus& gpus,
                           const RankSizes& sizes,
                           const std::function<void(PlanPoint)>& visit,
                           std::map<std::string, std::int64_t>& refused,
                           const std::function<bool()>& stop) {
    return Enumeration{space, model, gpus, visit, refused, stop}.run(base, sizes);
}

std::int64_t for_each_plan(const PlanSpace& space,
                           const Transformer& model,
                           const ParallelPlan& base,
                           const SearchedGpus& gpus,
                           const std::function<void(PlanPoint)>& visit,
                           std::map<std::string, std::int64_t>& refused,
                           const std::function<bool()>& stop) {
    std::int64_t points = 0;
    for (const RankSizes& sizes : rank_sizes(space, gpus)) {
        points += for_each_plan(space, model, base, gpus, sizes, visit, refused, stop);
    }
    return points;
}

}  // namespace orrery
