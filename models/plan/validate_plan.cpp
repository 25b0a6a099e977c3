// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "models/plan/divisors.h"
#include "models/plan/pipeline_split.h"
#include "models/plan/recomputation.h"
#include "models/plan/stage_parties.h"
#include "models/plan/validate_attention.h"
#include "models/plan/validate_experts.h"
#include "models/plan/validate_long_context.h"
#include "models/plan/validate_model.h"
#include "models/plan/validate_number_formats.h"
#include "models/plan/validate_offload.h"

namespace orrery {
namespace {

// More would take minutes, because each is simulated
constexpr std::int64_t kMicroBatchesMax = 100'000;

// The nearest multiples of `unit` below and above n.
std::string nearest_multiples(std::int64_t n, std::int64_t unit) {
    const std::int64_t below = n / unit * unit;
    return below == 0 ? fmt::format("{}", unit) : fmt::format("{} or {}", below, below + unit);
}

struct Rules {
    const Transformer& model;
    const ParallelPlan& plan;
    std::int64_t num_gpus;
    Errors errors;
    std::string tensor_key = "plan.tensor_model_parallel_size";

    void reject(const std::string& key, std::string what, std::string hint) {
        errors.push_back({key, std::move(what), std::move(hint)});
    }
    void require_range(const std::string& key,
                       std::int64_t value,
                       std::int64_t low,
                       std::int64_t high) {
        if (value < low || value > high) {
            reject(
                key, fmt::format("{} is out of range", value), fmt::format("{} to {}", low, high));
        }
    }

    void ranges();
    void stages();
    void tensor_parallel();
    void tensor_parallel_extras();
    void sequence();
    void context_parallel_heads();
    void context_parallel_blocks();
    void pipeline();
    void world();
    void batch();
    void data_parallel_sharding();
    void gather_with_optimizer_step();
    void recomputation();
};

void Rules::ranges() {
    require_range("cluster.nodes", num_gpus, 1, kSizeMax);
    const auto at_most = [](std::int64_t limit) {
        return limit < 1 ? kSizeMax : std::min(limit, kSizeMax);  // one error is enough
    };
    const std::int64_t gpus = at_most(num_gpus);
    require_range("plan.tensor_model_parallel_size", plan.tensor_model_parallel_size, 1, gpus);
    for (const std::int64_t size : plan.stage_tensor_model_parallel_sizes) {
        require_range("plan.stage_tensor_model_parallel_sizes", size, 1, gpus);
    }
    require_range("plan.pipeline_model_parallel_size", plan.pipeline_model_parallel_size, 1, gpus);
    require_range("plan.context_parallel_size", plan.context_parallel_size, 1, gpus);
    require_range("plan.virtual_pipeline_model_parallel_size",
                  plan.virtual_pipeline_model_parallel_size,
                  1,
                  at_most(model.num_layers) + 2);
    require_range("plan.micro_batch_size", plan.micro_batch_size, 1, kSizeMax);
    require_range("plan.global_batch_size", plan.global_batch_size, 1, kSizeMax);
    require_range("plan.hsdp_shard_size", plan.hsdp_shard_size, 0, gpus);
    require_range("plan.zero_hpz_partition_size", plan.zero_hpz_partition_size, 0, gpus);
    require_range(
        "plan.recompute_num_layers", plan.recompute_num_layers, 1, at_most(model.num_layers));
    require_range("plan.fsdp_unit_layers", plan.fsdp_unit_layers, 0, at_most(model.num_layers));
    require_range("plan.fsdp_prefetch_units", plan.fsdp_prefetch_units, 1, kPrefetchUnitsMax);
    require_range(
        "plan.stage3_max_reuse_distance", plan.stage3_max_reuse_distance, 0, kReuseDistanceMax);
    require_range(
        "plan.tp_comm_overlap_chunks", plan.tp_comm_overlap_chunks, 1, kTpCommOverlapChunksMax);
    require_range("plan.ddp_bucket_size", plan.ddp_bucket_size, 0, kSizeMax * kSizeMax);
    require_range("plan.reduce_bucket_size", plan.reduce_bucket_size, 0, kSizeMax * kSizeMax);
}

// The demands of each stage's tensor-parallel size on the model.
void Rules::stages() {
    std::vector<std::int64_t> sizes = plan.stage_tensor_model_parallel_sizes;
    if (sizes.empty()) {
        tensor_parallel();
        context_parallel_heads();
        return;
    }
    const Errors parties = check_stage_parties(model, plan);
    errors.insert(errors.end(), parties.begin(), parties.end());
    std::ranges::sort(sizes);
    sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
    for (const std::int64_t size : sizes) {
        ParallelPlan own = plan;
        own.stage_tensor_model_parallel_sizes.clear();
        own.tensor_model_parallel_size = size;
        Rules rules{.model = model,
                    .plan = own,
                    .num_gpus = num_gpus,
                    .errors = {},
                    .tensor_key = "plan.stage_tensor_model_parallel_sizes"};
        rules.tensor_parallel();
        rules.context_parallel_heads();
        errors.insert(errors.end(), rules.errors.begin(), rules.errors.end());
    }
}

void Rules::tensor_parallel() {
    const std::int64_t tp = plan.tensor_model_parallel_size;
    const auto require_divides = [&](const char* what, std::int64_t n) {
        if (n % tp != 0) {
            reject(tensor_key,
                   fmt::format("{} does not divide {} {}", tp, what, n),
                   valid_divisors(n, num_gpus));
        }
    };
    require_divides("num_attention_heads", model.num_attention_heads);
    require_divides("ffn_hidden_size", model.ffn_hidden_size);
    require_divides("hidden_size", model.hidden_size);
    const std::int64_t groups = model.key_heads();
    if (groups % tp != 0 && tp % groups != 0) {
        reject(tensor_key,
               fmt::format(
                   "{} neither divides num_query_groups {} nor is a multiple of it", tp, groups),
               fmt::format("{}, or a multiple of {}", valid_divisors(groups, num_gpus), groups));
    }
    if (model.vocab_size % tp != 0) {
        reject("model.vocab_size",
               fmt::format(
                   "{} is not divisible by tensor_model_parallel_size {}", model.vocab_size, tp),
               fmt::format("pad it to {}", (model.vocab_size / tp + 1) * tp));
    }
}

void Rules::tensor_parallel_extras() {
    if (plan.sequence_parallel && plan.tensor_model_parallel_size == 1) {
        reject("plan.sequence_parallel",
               "sequence parallelism needs tensor_model_parallel_size > 1",
               "false, or raise plan.tensor_model_parallel_size");
    }
    if (plan.tp_comm_overlap && !plan.sequence_parallel) {
        reject("plan.tp_comm_overlap",
               "it overlaps sequence parallelism's all-gathers and reduce-scatters, which are off",
               "false, or set plan.sequence_parallel");
    }
}

void Rules::sequence() {
    const std::int64_t cp = plan.context_parallel_size;
    const std::int64_t tp = plan.sequence_parallel ? plan.tensor_model_parallel_size : 1;
    // Without a head exchange each rank holds one piece from the front and the mirrored piece from
    // the back, which balances causal attention.
    const bool mirrored = cp > 1 && plan.context_parallel_comm != ContextParallelComm::all_to_all;
    if (mirrored && model.seq_length % (2 * cp) != 0) {
        reject("plan.context_parallel_size",
               fmt::format("seq_length {} is not divisible by 2 x {}", model.seq_length, cp),
               model.seq_length % 2 == 0 ? valid_divisors(model.seq_length / 2, num_gpus) : "1");
    } else if (model.seq_length % cp != 0) {
        reject("plan.context_parallel_size",
               fmt::format("{} does not divide seq_length {}", cp, model.seq_length),
               valid_divisors(model.seq_length, num_gpus));
    }
    if (tp > 1 && model.seq_length % (tp * cp) != 0) {
        reject("plan.sequence_parallel",
               fmt::format("seq_length {} is not divisible by tensor {} x context {}",
                           model.seq_length,
                           tp,
                           cp),
               fmt::format("model.seq_length {}", nearest_multiples(model.seq_length, tp * cp)));
    }
}

void Rules::context_parallel_heads() {
    const std::int64_t cp = plan.context_parallel_size;
    const std::int64_t tp = plan.tensor_model_parallel_size;
    if (cp == 1 || plan.context_parallel_comm != ContextParallelComm::all_to_all) {
        return;
    }
    // Heads are exchanged for tokens, so each rank needs whole heads of Q, K and V.
    const std::int64_t heads = std::max<std::int64_t>(model.num_attention_heads / tp, 1);
    const std::int64_t groups = std::max<std::int64_t>(model.key_heads() / tp, 1);
    if (heads % cp != 0 || (groups % cp != 0 && cp % groups != 0)) {
        const std::string what = fmt::format("the {} query and {} key-value heads", heads, groups);
        reject("plan.context_parallel_size",
               fmt::format("{} does not divide {} of a rank", cp, what),
               fmt::format("{}, or context_parallel_comm: ring", valid_divisors(heads, num_gpus)));
    }
}

// A ring merges blocks by the log-sum-exp that flash kernels keep. Its balanced halves fit a causal
// mask without a window (Transformer Engine has the same two limits). Behind an all-gather each
// kernel has the mean of the keys that early and late queries see, which is exact for that mask.
void Rules::context_parallel_blocks() {
    const ContextParallelComm comm = plan.context_parallel_comm;
    if (plan.context_parallel_size == 1 || comm == ContextParallelComm::all_to_all) {
        return;
    }
    const char* const how = comm == ContextParallelComm::ring ? "a ring" : "an all-gather";
    const bool window = model.sliding_window > 0 && model.sliding_window < model.seq_length;
    if (window) {
        reject("plan.context_parallel_comm",
               fmt::format("{} can't attend to a window of {} tokens", how, model.sliding_window),
               "all_to_all");
    }
    if (plan.attention_kernel == AttentionKernel::unfused) {
        reject("plan.context_parallel_comm",
               fmt::format("{} needs a flash attention kernel", how),
               "all_to_all, or another plan.attention_kernel");
    }
}

void Rules::pipeline() {
    const std::string key = "plan.virtual_pipeline_model_parallel_size";
    const std::int64_t vpp = plan.virtual_pipeline_model_parallel_size;
    const bool looping = plan.schedule == ScheduleKind::interleaved_1f1b ||
                         plan.schedule == ScheduleKind::breadth_first;
    if (vpp > 1 && plan.pipeline_model_parallel_size == 1) {
        reject(key, fmt::format("{} chunks need more than one pipeline stage", vpp), "1");
    }
    if (vpp > 1 && !looping && plan.schedule != ScheduleKind::dual_pipe_v) {
        reject("plan.schedule",
               fmt::format("this schedule takes one chunk a stage, not {}", vpp),
               "interleaved_1f1b or breadth_first, or virtual_pipeline_model_parallel_size 1");
    }
    const Errors split = check_pipeline_split(model, plan);
    errors.insert(errors.end(), split.begin(), split.end());
}

void Rules::world() {
    if (derived_data_parallel_size(plan, num_gpus) == 0) {
        const bool alike = plan.stage_tensor_model_parallel_sizes.empty();
        const std::string ranks =
            alike ? fmt::format("tensor {} x pipeline {}",
                                plan.tensor_model_parallel_size,
                                plan.pipeline_model_parallel_size)
                  : fmt::format("stages of {} GPUs in sum", plan.tensor_ranks_of_stages());
        reject(alike ? "plan.tensor_model_parallel_size" : "plan.stage_tensor_model_parallel_sizes",
               fmt::format("{} x context {} does not divide {} GPUs",
                           ranks,
                           plan.context_parallel_size,
                           num_gpus),
               fmt::format("a product out of {}", valid_divisors(num_gpus, num_gpus)));
    }
}

void Rules::batch() {
    const std::int64_t dp = derived_data_parallel_size(plan, num_gpus);
    if (dp > 0 && plan.global_batch_size % (plan.micro_batch_size * dp) != 0) {
        reject("plan.global_batch_size",
               fmt::format("{} is not divisible by micro_batch_size {} x data parallel {}",
                           plan.global_batch_size,
                           plan.micro_batch_size,
                           dp),
               nearest_multiples(plan.global_batch_size, plan.micro_batch_size * dp));
    } else if (dp > 0 && plan.global_batch_size / (plan.micro_batch_size * dp) > kMicroBatchesMax) {
        reject("plan.global_batch_size",
               fmt::format("makes {} micro-batches a step: more than {} are not simulated",
                           plan.global_batch_size / (plan.micro_batch_size * dp),
                           kMicroBatchesMax),
               "a larger micro_batch_size, or a smaller batch");
    }
}

void Rules::data_parallel_sharding() {
    const std::int64_t dp = derived_data_parallel_size(plan, num_gpus);
    if (dp == 0) {
        return;
    }
    const bool all_sharded = plan.shards_weights();
    if (plan.hsdp_shard_size > 0 && !plan.shards_optimizer()) {
        reject("plan.hsdp_shard_size",
               "there is nothing to shard with data_parallel_sharding_strategy no_shard",
               "0, or optim, optim_grads or optim_grads_params");
    }
    if (plan.hsdp_shard_size > 0 && dp % plan.hsdp_shard_size != 0) {
        reject("plan.hsdp_shard_size",
               fmt::format("{} does not divide data parallel {}", plan.hsdp_shard_size, dp),
               valid_divisors(dp, dp));
    }
    if (plan.zero_hpz_partition_size > 1 && !all_sharded) {
        reject("plan.zero_hpz_partition_size",
               "a secondary copy is of weights that are shards otherwise",
               "0, or data_parallel_sharding_strategy optim_grads_params");
    }
    if (plan.zero_quantized_weights && !all_sharded) {
        reject("plan.zero_quantized_weights",
               "only weights that are shards are gathered before each use",
               "false, or data_parallel_sharding_strategy optim_grads_params");
    }
    if (plan.reduce_bucket_size > 0 && !plan.gradient_bucket_copies) {
        reject("plan.reduce_bucket_size",
               "no gradients are copied into a bucket",
               "0, or gradient_bucket_copies true");
    }
    const bool frees_some = all_sharded && plan.stage3_max_reuse_distance < kReuseDistanceMax;
    if (frees_some && plan.fsdp_unit_layers > 1) {
        reject("plan.fsdp_unit_layers",
               "weights are gathered a second time by layer (plan.stage3_max_reuse_distance)",
               "1 or 0");
    }
    if (!plan.reshard_after_forward && plan.pipeline_model_parallel_size > 1) {
        reject("plan.reshard_after_forward",
               "on pipeline stages each micro-batch in flight would keep a copy of the weights",
               "true, or pipeline_model_parallel_size 1");
    }
    if (plan.zero_hpz_partition_size > 1 && !plan.reshard_after_forward) {
        reject("plan.reshard_after_forward",
               "weights that stay whole after the forward pass need no secondary copy",
               "true, or zero_hpz_partition_size 0");
    }
    const std::int64_t shards = plan.hsdp_shard_size > 0 ? plan.hsdp_shard_size : dp;
    if (plan.zero_hpz_partition_size > 1 && shards % plan.zero_hpz_partition_size != 0) {
        reject("plan.zero_hpz_partition_size",
               fmt::format("{} does not divide the {} data-parallel ranks that share a copy",
                           plan.zero_hpz_partition_size,
                           shards),
               valid_divisors(shards, shards));
    }
}

// Megatron-LM's conditions (arguments.py). ZeRO 3 gathers by unit, in the passes.
void Rules::gather_with_optimizer_step() {
    if (!plan.overlap_param_gather_with_optimizer_step) {
        return;
    }
    const std::string key = "plan.overlap_param_gather_with_optimizer_step";
    if (!plan.overlap_param_gather) {
        reject(key, "it needs overlap_param_gather", "false, or set plan.overlap_param_gather");
    }
    if (plan.shards_weights() || !plan.shards_optimizer()) {
        reject(key,
               "no weights are gathered behind this optimizer",
               "false, or data_parallel_sharding_strategy optim or optim_grads");
    }
    if (plan.virtual_pipeline_model_parallel_size < 2) {
        reject(key,
               "the optimizer steps one chunk of a stage before the others",
               "false, or virtual_pipeline_model_parallel_size 2 or more");
    }
}

void Rules::recomputation() {
    if ((plan.recompute_modules & kProductModules) != 0 &&
        !std::has_single_bit(plan.recompute_modules)) {
        reject("plan.recompute_modules",
               words_of_modules(kProductModules) + " stand alone",
               "one of them");
    }
    const UnitLayer first = recompute_of_layer(plan, 0, plan.recompute_num_layers).whole;
    if (first.again && !first.ends_unit && plan.shards_weights()) {
        reject("plan.recompute_num_layers",
               "layers that run again together need all their weights, which are gathered by unit",
               "1, or recompute_method block or every");
    }
}

}  // namespace

std::int64_t derived_data_parallel_size(const ParallelPlan& plan, std::int64_t num_gpus) {
    std::int64_t rest = num_gpus;
    const bool alike = plan.stage_tensor_model_parallel_sizes.empty();
    for (const std::int64_t size :
         {alike ? plan.tensor_model_parallel_size : plan.tensor_ranks_of_stages(),
          alike ? plan.pipeline_model_parallel_size : 1,
          plan.context_parallel_size}) {
        if (size < 1 || rest % size != 0) {
            return 0;
        }
        rest /= size;
    }
    return rest;
}

Errors check(const Transformer& model, const ParallelPlan& plan, std::int64_t num_gpus) {
    Rules rules{
        .model = model, .plan = plan, .num_gpus = num_gpus, .errors = check_model_sizes(model)};
    rules.ranges();
    std::ranges::move(check_number_formats(plan), std::back_inserter(rules.errors));
    if (!rules.errors.empty()) {
        return rules.errors;  // the other rules divide by values that are out of range
    }
    std::ranges::move(check_model_shape(model), std::back_inserter(rules.errors));
    rules.stages();
    rules.tensor_parallel_extras();
    rules.sequence();
    rules.context_parallel_blocks();
    rules.pipeline();
    rules.world();
    rules.batch();
    rules.data_parallel_sharding();
    rules.gather_with_optimizer_step();
    rules.recomputation();
    std::ranges::move(check_fp8_inputs(model, plan), std::back_inserter(rules.errors));
    std::ranges::move(check_experts(model, plan, num_gpus), std::back_inserter(rules.errors));
    std::ranges::move(check_attention(model, plan, plan.context_parallel_size > 1),
                      std::back_inserter(rules.errors));
    std::ranges::move(check_long_context(model, plan), std::back_inserter(rules.errors));
    std::ranges::move(check_offload(model, plan), std::back_inserter(rules.errors));
    return rules.errors;
}

Errors check_device(const ParallelPlan& plan, const DeviceSpec& device) {
    Errors errors;
    const std::string who = device.name.empty() ? "the device" : device.name;
    const bool has_fp8 = device.peak_fp8.per_second() > 0;
    const std::string half = device.bf16 ? "bf16 or fp16" : "fp16";
    const std::string fp8 = has_fp8 ? ", or fp8" : "";
    if ((plan.precision == Dtype::fp8 && !has_fp8) ||
        (plan.precision == Dtype::bf16 && !device.bf16)) {
        errors.push_back({"plan.precision",
                          fmt::format("{} does not compute in {}", who, name(plan.precision)),
                          half + fp8 + "; or a device whose catalogue entry has it"});
    }
    for (const auto& [key, dtype] : {std::pair{"plan.gradient_dtype", plan.gradient_dtype},
                                     std::pair{"plan.grad_reduce_dtype", plan.grad_reduce_dtype},
                                     std::pair{"plan.main_params_dtype", plan.main_params_dtype}}) {
        if (dtype == Dtype::bf16 && !device.bf16) {
            errors.push_back({key, who + " does not compute in bf16", "fp32"});
        }
    }
    const std::string kernel{name(plan.attention_kernel)};
    const std::vector<std::string>& has = device.attention_kernels;
    if (!has.empty() && std::ranges::find(has, kernel) == has.end()) {
        errors.push_back({"plan.attention_kernel",
                          fmt::format("there is no attention kernel {} for {}", kernel, who),
                          fmt::format("{}", fmt::join(has, ", "))});
    }
    return errors;
}

}  // namespace orrery
