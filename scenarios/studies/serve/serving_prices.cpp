// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/serving_prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/serving/run_clock.h"
#include "engine/world/rate_alone.h"
#include "kernels/efficiency_table.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/gemm/grouped_gemm.h"
#include "models/serving/expert_exchange.h"
#include "models/serving/serving_context.h"
#include "models/serving/serving_kernels.h"
#include "network/collectives/direct_all_reduce.h"
#include "network/collectives/direct_exchange.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/serve/engine_fabric.h"

namespace orrery {

namespace {

Result<void> check_experts(const Transformer& model, const ServingPlan& plan) {
    if (plan.expert_ranks > 0 && model.num_experts == 0) {
        return fail("serving.pools.expert_ranks", "the model has no experts", "0");
    }
    if (plan.expert_skew > 0 && model.num_experts == 0) {
        return fail("serving.pools.expert_skew", "the model has no experts", "0");
    }
    if (plan.expert_ranks > model.num_experts) {
        return fail("serving.pools.expert_ranks",
                    fmt::format("{} ranks for {} experts", plan.expert_ranks, model.num_experts),
                    fmt::format("at most {}", model.num_experts));
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<ServingPrices>> ServingPrices::make(const Scenario& cluster,
                                                           const Transformer& model,
                                                           const ServingPlan& plan,
                                                           const ServingEngine& engine,
                                                           std::int64_t first_rank) {
    const std::int64_t ranks = first_rank + plan.num_ranks();
    if (ranks > static_cast<std::int64_t>(cluster.cluster.num_ranks())) {
        return fail(cluster.cluster_where,
                    fmt::format("the instances take {} GPUs, and the cluster has {}",
                                ranks,
                                cluster.cluster.num_ranks()),
                    "more nodes, or a smaller tensor or pipeline size");
    }
    if (model.num_attention_heads % plan.tensor_model_parallel_size != 0) {
        return fail("serving.pools.tensor_model_parallel_size",
                    fmt::format("{} tensor-parallel ranks do not divide the {} attention heads",
                                plan.tensor_model_parallel_size,
                                model.num_attention_heads),
                    "a divisor of the heads");
    }
    if (model.linear_attention_every > 0) {
        return fail("model.linear_attention_every",
                    "served models have softmax attention: a step of a training has either",
                    "0");
    }
    if (const auto checked = check_experts(model, plan); !checked) {
        return tl::unexpected(checked.error());
    }
    if (const auto memory = static_cast<double>(cluster.device.memory.count());
        plan.expert_ranks > 0 && static_cast<double>(expert_rank_bytes(model, plan).count()) >
                                     engine.memory_share * memory) {
        return fail("serving.pools.expert_ranks",
                    fmt::format("{:.1f} GB of experts on a GPU of {:.1f} GB",
                                static_cast<double>(expert_rank_bytes(model, plan).count()) * 1e-9,
                                memory * 1e-9),
                    "more expert_ranks");
    }
    if (plan.context_parallel_size > 1 && model.multi_latent_attention) {
        return fail("serving.pools.context_parallel_size",
                    "ranks that share a context exchange keys and values of heads, and latent "
                    "attention has none",
                    "1");
    }
    Result<Fabric> fabric = engine_fabric(cluster.cluster, engine);
    if (!fabric) {
        return tl::unexpected(fabric.error());
    }
    if (plan.precision == ProductPrecision::fp4 && cluster.device.peak_fp4.per_second() <= 0) {
        return fail(cluster.cluster_where,
                    fmt::format("{} does not compute in fp4", cluster.device.name),
                    "precision: bf16 with weight_bits: 4");
    }
    auto curves = read_efficiency_table((default_catalogue() / "kernel_efficiency.csv").string());
    if (!curves) {
        return tl::unexpected(curves.error().front());
    }
    const auto kernels =
        engine_kernels(engine.name, plan.precision, cluster.device.generation, cluster.device.name);
    if (!kernels) {
        return tl::unexpected(kernels.error());
    }
    return std::unique_ptr<ServingPrices>(new ServingPrices(
        cluster, std::move(*fabric), *curves, model, plan, engine, *kernels, first_rank));
}

namespace {

// Either the ops of experts or all others, both without exchanges between the ranks of a stage.
std::vector<ServingOp> ops_of_experts(const std::vector<ServingOp>& ops, bool of_experts) {
    std::vector<ServingOp> chosen;
    bool inside = false;
    for (const ServingOp& op : ops) {
        inside = inside || op.name == kPermute || op.name == kExpertOrder;
        if (inside == of_experts && (inside || op.group != ServingGroup::stage)) {
            chosen.push_back(op);
        }
        inside = inside && op.name != kUnpermute;
    }
    return chosen;
}

// FP4 products follow the FP8 curve, but reach another part of their peak.
DeviceSpec at_fp4(DeviceSpec device, const EfficiencyTable& curves) {
    const auto part = [&](const char* dtype, double unknown) {
        return curves.value_or("gemm.asymptote", device.generation, dtype, unknown);
    };
    const double of_fp8 = part("fp8", 1);
    device.peak_fp8 =
        FlopRate::per_second(device.peak_fp4.per_second() * part("fp4", of_fp8) / of_fp8);
    return device;
}

}  // namespace

ServingPrices::ServingPrices(const Scenario& cluster,
                             Fabric fabric,
                             const EfficiencyTable& curves,
                             const Transformer& model,
                             const ServingPlan& plan,
                             const ServingEngine& engine,
                             const EngineKernels& kernels,
                             std::int64_t first_rank)
    : model_(model),
      plan_([&] {
          ServingPlan fused = plan;
          fused.fused_casts = engine.fused_casts;
          fused.fused_cache_write = engine.fused_cache_write;
          fused.masks_experts = engine.masks_experts;
          fused.multi_node_nvlink = cluster.cluster.node.trays > 1 &&
                                    plan.ranks_of_stage() <= cluster.cluster.node.gpus_per_node;
          // If a step uses one adapter only, the engine adds it to the weights.
          fused.adapter_rank = engine.mixes_adapters ? plan.adapter_rank : 0;
          return fused;
      }()),
      engine_(engine),
      kernels_(kernels),
      first_rank_(first_rank),
      device_(cluster.device),
      node_(cluster.cluster.node),
      cost_(cluster.device, curves),
      fp4_cost_(at_fp4(cluster.device, curves), curves),
      network_(std::move(fabric), [&] {
          NcclNetworkOptions options = nccl_options(cluster.device, cluster.devices);
          options.contention = false;
          return options;
      }()) {}

Time ServingPrices::collective_time(const CollectiveCall& call,
                                    ServingGroup group,
                                    std::int64_t stage) const {
    const bool context = group == ServingGroup::context;
    const std::int64_t ranks = context                        ? plan_.context_parallel_size
                               : group == ServingGroup::stage ? plan_.ranks_of_stage()
                                                              : plan_.tensor_model_parallel_size;
    const std::int64_t apart = context ? plan_.ranks_of_stage() : 1;
    std::vector<RankId> members;
    for (std::int64_t i = 0; i < ranks; ++i) {
        members.push_back(to_id<RankId>(
            static_cast<std::size_t>(first_rank_ + stage * plan_.ranks_of_stage() + i * apart)));
    }
    const Time by_nccl = time_without_contention(network_.plan(call, members), network_.links());
    if (engine_.direct_all_reduce && call.kind == CollectiveKind::all_reduce) {
        const PeerFlags flags = engine_.flags_in_data ? PeerFlags::in_data : PeerFlags::barriers;
        if (const auto direct =
                direct_all_reduce_time(node_, ranks, call.bytes, device_.kernel_latency, flags)) {
            return std::min(by_nccl, *direct);
        }
    }
    if (call.kind == CollectiveKind::all_to_all) {
        return direct_exchange_time(node_, ranks, call.bytes).value_or(by_nccl);
    }
    return by_nccl;
}

// Time of the kernels that FlashAttention 2 launches beside its decode kernel
// (csrc/flash_attn/flash_api.cpp). One reorders heads that share keys and values if several
// sequences have several groups. One joins the parts of a context, which is split if its sequences
// leave SMs idle.
Time ServingPrices::flash_2_kernels(const AttentionShape& shape) const {
    constexpr std::int64_t kColumns = 128;  // keys per block
    constexpr double kFull = 0.8 * 2;       // blocks per SM above which no context is split
    const auto blocks = static_cast<double>(shape.batch * shape.kv_heads);
    const bool splits =
        shape.seq_kv > kColumns && blocks < kFull * static_cast<double>(device_.num_sms);
    const bool orders = shape.batch > 1 && shape.kv_heads > 1;
    const KernelCall copy =
        transpose(shape.batch * shape.heads, shape.value_head_dim(), Dtype::bf16);
    return cost_.time(copy).duration * ((splits ? 1 : 0) + (orders ? 1 : 0));
}

Time ServingPrices::paged_attention(const KernelCall& kernel, Time alone, bool generates) const {
    const AttentionShape shape = attention_shape(kernel);
    // Tiles of 64 instead of 128 queries load keys and values twice as often. AIConfigurator's
    // tables of an A100 show 0.8 of the rate.
    constexpr double kSmallTiles = 0.8;
    // FlashAttention's paged interface (vLLM, SGLang) belongs to the engines that write the cache
    // with a kernel of its own.
    const bool flash_2 =
        !engine_.fused_cache_write && shape.generation == AttentionGeneration::flash_2;
    if (!generates) {
        const bool small = flash_2 && reads_paged_cache(engine_.scheduler, shape);
        const double uneven = small ? uneven_blocks(shape, device_.num_sms) : 1;
        return std::max(Time::seconds(alone.seconds() * uneven / (small ? kSmallTiles : 1)),
                        least_tile_time(engine_, plan_, kernel, device_)) +
               engine_.attention_latency;
    }
    alone += flash_2 ? flash_2_kernels(shape) : Time{};
    const auto sms = static_cast<double>(std::max<std::uint32_t>(device_.num_sms, 1));
    const double cache_bytes = static_cast<double>(size_bytes(plan_.key_value_precision));
    const double blocks = static_cast<double>(shape.batch * shape.kv_heads) / sms;
    const Time block = Time::seconds(engine_.attention_block.seconds() * blocks * 2 / cache_bytes);
    const std::int64_t group = shape.heads / shape.kv_heads;
    constexpr std::int64_t kSharedWidth = 128;
    const bool shared = engine_.shared_query_heads == 0 || group == 1 ||
                        (group == engine_.shared_query_heads && shape.head_dim == kSharedWidth);
    if (shared) {
        return bounded_sum(alone, bounded_sum(engine_.attention_latency, block));
    }
    const double read = static_cast<double>(shape.batch * shape.heads) *
                        static_cast<double>(shape.seq_kv) *
                        static_cast<double>(shape.head_dim + shape.value_head_dim()) * cache_bytes;
    return bounded_sum(std::max(alone, Time::seconds(read / (kCachePerSm * sms))),
                       bounded_sum(engine_.attention_latency, block));
}

Time ServingPrices::least_move_time(const ServingOp& op, const KernelCall& kernel) const {
    const bool unpacks = plan_.weight_bits < bits_of(plan_.precision);
    const bool scales = plan_.block_scaled || plan_.precision == ProductPrecision::fp4;
    const bool product = std::ranges::count(kExpertProducts, op.name) > 0;
    double share = 0;
    if (product || op.of_expert_rows) {
        share = unpacks ? 0 : product ? kernels_.expert_weights : kernels_.expert_rows;
    } else if (op.name == kQuantise && scales) {
        share = kernels_.scaled_casts;
    }
    const double bandwidth = device_.memory_bandwidth.gigabytes_per_second() * 1e9;
    return share <= 0 ? Time{}
                      : Time::seconds(static_cast<double>(kernel.bytes) / (share * bandwidth));
}

// Least time of a product of experts with the engine's kernel. The curves are of CUTLASS's and
// DeepGEMM's kernels.
Time ServingPrices::least_expert_time(const ServingOp& op, const KernelCall& kernel) const {
    const bool unpacks = plan_.weight_bits < bits_of(plan_.precision);
    const double share = expert_peak(engine_, kernels_, kernel, unpacks);
    if (std::ranges::find(kExpertProducts, op.name) == std::end(kExpertProducts) || op.fp4 ||
        share <= 0) {
        return {};
    }
    return Time::seconds(
        kernel.flop * filled_blocks(kernel) /
        (share * device_.peak(kernel.dtype).per_second() * clock_under_limit(device_)));
}

Time ServingPrices::time_of(const ServingOp& op, std::int64_t stage) const {
    if (const auto* kernel = std::get_if<KernelCall>(&op.work)) {
        if (const auto time = vector_product_time(kernels_, *kernel, device_)) {
            return bounded_product(*time, op.count);
        }
        const Time alone = std::max({(op.fp4 ? fp4_cost_ : cost_).time(*kernel).duration,
                                     least_expert_time(op, *kernel),
                                     least_move_time(op, *kernel)});
        return bounded_product(kernel->kind == KernelKind::attention_forward
                                   ? paged_attention(*kernel, alone, op.name == kDecodeAttention)
                                   : alone,
                               op.count);
    }
    if (const auto* call = std::get_if<CollectiveCall>(&op.work)) {
        return bounded_product(collective_time(*call, op.group, stage), op.count);
    }
    if (op.group == ServingGroup::context) {
        return bounded_product(ring_hop_time(std::get<SendCall>(op.work)), op.count);
    }
    const auto rank = [&](std::int64_t of_stage) {
        return to_id<RankId>(
            static_cast<std::size_t>(first_rank_ + of_stage * plan_.ranks_of_stage()));
    };
    const std::vector<RankId> members{rank(stage), rank(stage + 1)};
    return bounded_product(
        time_without_contention(network_.plan(std::get<SendCall>(op.work), members),
                                network_.links()),
        op.count);
}

// All ranks of a context send to the next one at the same time. The slowest pair counts.
Time ServingPrices::ring_hop_time(const SendCall& call) const {
    const std::int64_t ranks = plan_.context_parallel_size;
    const auto rank = [&](std::int64_t i) {
        return to_id<RankId>(
            static_cast<std::size_t>(first_rank_ + i % ranks * plan_.ranks_of_stage()));
    };
    Time slowest;
    for (std::int64_t i = 0; i < ranks; ++i) {
        const std::vector<RankId> pair{rank(i), rank(i + 1)};
        slowest =
            std::max(slowest, time_without_contention(network_.plan(call, pair), network_.links()));
    }
    return slowest;
}

ServingPrices::PartTimes ServingPrices::part_times(const BatchShape& shape) const {
    PartTimes times;
    for (const ServingOp& op : ops_of_experts(serving_ops(model_, plan_, shape, 0), false)) {
        times.attention = bounded_sum(times.attention, time_of(op, 0));
    }
    ServingPlan of_experts = plan_;
    of_experts.tensor_model_parallel_size = 1;
    of_experts.data_parallel_size = plan_.expert_ranks;
    of_experts.expert_model_parallel_size = plan_.expert_ranks;
    of_experts.expert_ranks = 0;
    for (const ServingOp& op : ops_of_experts(serving_ops(model_, of_experts, shape, 0), true)) {
        times.experts = bounded_sum(times.experts, time_of(op, 0));
    }
    // A rank of experts receives a row once, however many of its experts the token has chosen. The
    // busier side counts: a rank of attention sends, a rank of experts receives.
    const auto ranks = static_cast<double>(plan_.expert_ranks);
    const double rows = static_cast<double>(shape.tokens) * ranks_reached(model_, ranks);
    const double busiest = rows / std::min(static_cast<double>(plan_.ranks_of_stage()), ranks);
    const SendCall call{Bytes{static_cast<std::int64_t>(std::ceil(busiest)) * model_.hidden_size *
                              size_bytes(kServedStream)}};
    const std::vector<RankId> pair{
        to_id<RankId>(static_cast<std::size_t>(first_rank_)),
        to_id<RankId>(static_cast<std::size_t>(first_rank_ + plan_.ranks_of_stage()))};
    times.exchange =
        bounded_product(time_without_contention(network_.plan(call, pair), network_.links()),
                        2 * stage_layers(model_, plan_, 0).experts);
    return times;
}

// Time of a step as a whole, or as two halves that alternate between attention and experts, if that
// is faster.
Time ServingPrices::split_time(const BatchShape& shape) const {
    const PartTimes whole = part_times(shape);
    const Time in_turn = bounded_sum(bounded_sum(whole.attention, whole.experts), whole.exchange);
    if (shape.generating + static_cast<std::int64_t>(shape.chunks.size()) < 2) {
        return in_turn;
    }
    const PartTimes half = part_times(share_of(shape, 2));
    const Time one = bounded_sum(bounded_sum(half.attention, half.experts), half.exchange);
    const Time busiest = bounded_product(std::max(half.attention, half.experts), 2);
    return std::min(in_turn, std::max(one, busiest));
}

Time ServingPrices::stage_time(const BatchShape& shape,
                               const BatchShape& filled,
                               std::int64_t stage) {
    if (plan_.expert_ranks > 0) {
        return split_time(shape);
    }
    const BatchShape share = share_of_rank(filled, plan_);
    const auto [found, fresh] = fixed_.try_emplace({.stage_tokens = filled.tokens,
                                                    .rank_tokens = share.tokens,
                                                    .sampled = filled.sampled,
                                                    .adapters = share.adapters,
                                                    .stage = stage});
    if (fresh) {
        for (const ServingOp& op : serving_ops(model_, plan_, filled, stage)) {
            if (!op.of_context) {
                found->second = bounded_sum(found->second, time_of(op, stage));
            }
        }
    }
    Time sum = found->second;
    std::vector<ServingOp> attention = attention_ops(model_, plan_, shape, stage);
    // Latent attention and windows have other kernels.
    if (engine_.joins_attention && plan_.attention == AttentionGeneration::flash_2 &&
        model_.sliding_window == 0 && !model_.multi_latent_attention) {
        join_attention(attention);
    }
    for (const ServingOp& op : attention) {
        sum = bounded_sum(sum, time_of(op, stage));
    }
    return sum;
}

Time ServingPrices::proposal_time(const BatchShape& shape) {
    Time sum;
    BatchShape prompts;
    for (const PromptChunk& chunk : shape.chunks) {
        prompts.tokens += chunk.new_tokens;
    }
    prompts.chunks = shape.chunks;
    if (prompts.tokens > 0) {
        sum = stage_time(prompts, 0);
    }
    if (shape.drafted > 0) {
        const BatchShape one{.tokens = shape.generating,
                             .sampled = shape.generating,
                             .generating = shape.generating,
                             .generating_context = shape.generating_context,
                             .chunks = {}};
        const std::int64_t steps = (shape.drafted + shape.generating - 1) / shape.generating;
        sum = bounded_sum(sum, bounded_product(stage_time(one, 0), steps));
    }
    return sum;
}

// Patches of an image attend to each other. They are priced as chunks of a prompt with causal
// attention.
Time ServingPrices::encoding_time(std::int64_t images, std::int64_t patches) {
    if (images == 0) {
        return {};
    }
    const BatchShape shape{
        .tokens = images * patches,
        .chunks = std::vector<PromptChunk>(static_cast<std::size_t>(images),
                                           {.new_tokens = patches, .context = 0})};
    const Time launch = on_host(engine_.host_per_launch);
    return std::max(stage_time(shape, 0),
                    bounded_product(launch, launches_of(0, Capture::nothing, false)));
}

Time ServingPrices::message_time(Bytes bytes, std::int64_t from, std::int64_t to) const {
    const std::vector<RankId> pair{to_id<RankId>(static_cast<std::size_t>(from)),
                                   to_id<RankId>(static_cast<std::size_t>(to))};
    return time_without_contention(network_.plan(SendCall{bytes}, pair), network_.links());
}

// Host time relative to the host of a DGX H100, on which the engine's times hold. It scales with
// the time of an eager operator on the device's usual host and with the node's own host speed.
double ServingPrices::host_factor() const {
    return std::max(1.0, device_.launch_cost.seconds() / kEagerOperator.seconds()) /
           node_.host_speed;
}

// Host time per step if `together` steps are prepared at once.
Time ServingPrices::host_time(std::size_t sequences, std::uint32_t together) const {
    const Time all = bounded_sum(
        engine_.host_per_step,
        bounded_product(engine_.host_per_sequence, static_cast<std::int64_t>(sequences)));
    return Time::seconds(all.seconds() * host_factor() / static_cast<double>(together));
}

std::int64_t ServingPrices::launches_of(std::size_t stage, Capture capture, bool mixed) {
    while (launches_.size() <= stage) {
        const auto next = static_cast<std::int64_t>(launches_.size());
        launches_.push_back(step_launches(model_, plan_, next));
    }
    const StepLaunches& of = launches_[stage];
    return capture == Capture::whole
               ? 0
               : (capture == Capture::pieces ? of.of_pieces : of.all) + (mixed ? of.of_mixed : 0);
}

void ServingPrices::times(const Batch& batch, std::vector<Time>& stages) {
    const BatchShape shape = shape_of(batch);
    const bool prompts = !shape.chunks.empty();
    const bool mixed = prompts && shape.generating > 0;
    // The engines have a process for each data-parallel rank, which handles that rank's sequences.
    const auto ranks = static_cast<std::size_t>(plan_.data_parallel_size);
    const Time host = host_time((batch.steps.size() + ranks - 1) / ranks,
                                prompts ? 1 : engine_.num_scheduler_steps);
    const Capture capture = capture_of(engine_, plan_, batch, shape);
    const BatchShape all = capture == Capture::whole ? filled_graph(engine_, plan_, shape) : shape;
    const Time launch = on_host(engine_.host_per_launch);
    const Time copy = prompts ? on_host(engine_.host_per_head_copy) : Time{};
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        const auto index = static_cast<std::int64_t>(stage);
        Time device = stage_time(shape, all, index);
        if (stage == 0 && draft_ != nullptr) {
            device = bounded_sum(device, draft_->proposal_time(shape));
        }
        const std::int64_t images = share_of_rank(shape, plan_).images;
        const Time encoding =
            stage == 0 && encoder_ != nullptr ? encoder_->encoding_time(images, patches_) : Time{};
        // The device starts launched kernels while the host launches the rest. One thread of the
        // host prepares a step, launches its kernels, and then handles the results of the step
        // before (TensorRT-LLM, docs/source/features/overlap-scheduler.md).
        const Time launches = bounded_product(launch, launches_of(stage, capture, mixed));
        const Time busy = engine_.asynchronous ? bounded_sum(host, launches) : launches;
        device = bounded_sum(std::max(device, busy), encoding);
        device = bounded_sum(device, bounded_product(copy, head_copies(model_, plan_, index)));
        stages[stage] = engine_.asynchronous ? device : bounded_sum(host, device);
    }
}

}  // namespace orrery
