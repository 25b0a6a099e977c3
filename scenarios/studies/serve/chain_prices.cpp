// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/chain_prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/serving/run_clock.h"
#include "engine/world/rate_alone.h"
#include "network/fabric/fabric.h"
#include "scenarios/format/specs/node_devices.h"

namespace orrery {

namespace {

constexpr double kStreamBytes = 2;  // of an element that moves from node to node
// A ring's plan counts on this share of a host's free memory (prima.cpp, common/profiler.cpp:
// 0.8 of MemAvailable). The kernel keeps pages of the weights in all of it.
constexpr double kPlannedMemory = 0.8;

Transformer with_layers(Transformer model, std::int64_t layers) {
    model.num_layers = layers;
    return model;
}

// A cluster of one node of this kind.
Scenario alone(const Scenario& scenario, std::uint32_t kind) {
    Scenario one = scenario;
    one.cluster.node = scenario.cluster.kind(kind).node;
    one.cluster.num_nodes = 1;
    one.cluster.kinds.clear();
    one.cluster.gpu_of_rank.clear();
    one.cluster.fabric = {};
    one.cluster.ethernet = {};
    one.device = scenario.device_of_kind(kind);
    one.devices.clear();
    return one;
}

Time bytes_time(double bytes, double bits_per_second) {
    return bits_per_second > 0
               ? Time::seconds(std::min(kLastInstant.seconds(), bytes * 8 / bits_per_second))
               : Time::max();
}

// Stored bits of a weight, with its share of the scales.
double stored_bits(const ServingPoolSpec& pool) {
    return static_cast<double>(pool.plan.weight_bits) + pool.weight_scale_bits;
}

// The plan with the bits that devices read: whole ones.
ServingPlan read_plan(const ServingPoolSpec& pool) {
    ServingPlan plan = pool.plan;
    plan.weight_bits = static_cast<std::int64_t>(std::ceil(stored_bits(pool)));
    return plan;
}

bool layers_differ(const Transformer& model) {
    for (std::int64_t layer = 1; layer < model.num_layers; ++layer) {
        if (model.layer_has_experts(layer) != model.layer_has_experts(0) ||
            model.layer_takes_window(layer) != model.layer_takes_window(0)) {
            return true;
        }
    }
    return false;
}

Result<void> check_chain(const Scenario& scenario) {
    if (scenario.cluster.node.gpus_per_node > 1) {
        return fail(scenario.cluster_where,
                    fmt::format("a chain of layers takes nodes of one GPU, and {} has {}",
                                scenario.cluster.node.name,
                                scenario.cluster.node.gpus_per_node),
                    "gpus_per_node: 1");
    }
    if (layers_differ(scenario.model)) {
        return fail(scenario.cluster_where,
                    "a chain counts layers that are alike, and some of the model's have experts "
                    "or a window and others do not",
                    "a model of equal layers, or pipeline_model_parallel_size");
    }
    for (std::uint32_t kind = 0; kind < scenario.cluster.num_kinds(); ++kind) {
        const NodeSpec node = scenario.cluster.kind(kind).node;
        if (node.host_memory > Bytes{} && node.host_memory_bandwidth == Bandwidth{}) {
            return fail(
                scenario.cluster_where,
                fmt::format("{} says nothing of the bandwidth of its host_memory", node.name),
                "host_memory_bandwidth: 50 GB/s");
        }
    }
    return {};
}

}  // namespace

std::vector<ChainNodeUse> ChainPrices::use() const {
    const bool reads_ahead = prefetches(chain_);
    const std::vector<Time> times = chain_times(nodes_, shares_, reads_ahead);
    std::vector<ChainNodeUse> uses;
    for (std::size_t i = 0; i < times.size(); ++i) {
        const ChainNode& node = nodes_[shares_[i].node];
        const std::int64_t read = layers_from_disk(shares_[i], reads_ahead, node.spare_layers);
        uses.push_back({.node = node.name,
                        .device_layers = shares_[i].device_layers,
                        .host_layers = shares_[i].computed_by_host() - read,
                        .disk_layers = read,
                        .output = shares_[i].output,
                        .token_s = times[i].seconds()});
    }
    return uses;
}

std::int64_t chain_blocks(const Transformer& model, const SchedulerLimits& limits) {
    return limits.num_blocks > 0
               ? limits.num_blocks
               : (model.seq_length + limits.block_size - 1) / limits.block_size + 1;
}

ChainPrices::ChainPrices(const Scenario& scenario,
                         const ServingEngine& engine,
                         const ServingPoolSpec& pool,
                         Fabric fabric)
    : model_(scenario.model), engine_(engine), chain_(pool.chain), network_(std::move(fabric), [&] {
          NcclNetworkOptions options = nccl_options(scenario);
          options.contention = false;
          return options;
      }()) {
    const double bits = stored_bits(pool);
    const Bytes layer = serving_weight_bytes(with_layers(model_, 2), pool.plan, 0) -
                        serving_weight_bytes(with_layers(model_, 1), pool.plan, 0);
    layer_bytes_ =
        static_cast<double>(layer.count()) * bits / static_cast<double>(pool.plan.weight_bits);
    layer_cache_bytes_ = static_cast<double>(key_value_bytes(model_, pool.plan).count()) /
                         static_cast<double>(model_.num_layers);
    output_share_ = bits / 16;
    // Of the embedding a token reads one row, and no other page of it is in memory.
    output_bytes_ =
        static_cast<double>(std::max(embedding_parameters(model_), output_parameters(model_))) *
        kStreamBytes * output_share_;
}

Result<std::unique_ptr<ChainPrices>> ChainPrices::make(const Scenario& scenario,
                                                       const ServingEngine& engine,
                                                       const ServingPoolSpec& pool) {
    if (const auto good = check_chain(scenario); !good) {
        return tl::unexpected(good.error());
    }
    if (pool.chain == LayerChain::full_ring &&
        scenario.model.num_layers < std::int64_t{scenario.cluster.num_nodes}) {
        return fail(scenario.cluster_where,
                    fmt::format("full_ring puts a layer on each of {} nodes, and the model has {}",
                                scenario.cluster.num_nodes,
                                scenario.model.num_layers),
                    "chain: ring, which leaves nodes out");
    }
    Result<Fabric> fabric = build_fabric(scenario.cluster);
    if (!fabric) {
        return tl::unexpected(fabric.error());
    }
    std::unique_ptr<ChainPrices> prices{
        new ChainPrices(scenario, engine, pool, std::move(*fabric))};
    if (const auto added = prices->add_kinds(scenario, engine, read_plan(pool)); !added) {
        return tl::unexpected(added.error());
    }
    prices->add_nodes(scenario, pool);
    prices->shares_ = chain_shares(pool.chain, prices->nodes_, scenario.model.num_layers);
    // The plan does not know of them.
    for (std::size_t i = 0; i < prices->nodes_.size(); ++i) {
        prices->nodes_[i].spare_layers = prices->spare_layers_[i];
    }
    if (prices->shares_.empty()) {
        return fail(scenario.cluster_where,
                    fmt::format("{} layers of {:.2f} GB are more than the nodes' memories hold, "
                                "and no disk has the others",
                                scenario.model.num_layers,
                                prices->layer_bytes_ * 1e-9),
                    "nvme_drives and nvme_read_bandwidth of a node, or weights of fewer bits");
    }
    return prices;
}

Result<void> ChainPrices::add_kinds(const Scenario& scenario,
                                    const ServingEngine& engine,
                                    const ServingPlan& plan) {
    const auto of_cpus = engine_kernels(engine.name, plan.precision, "cpu");
    if (!of_cpus) {
        return tl::unexpected(of_cpus.error());
    }
    const double host_share = of_cpus->vector_weights > 0 ? of_cpus->vector_weights : 1;
    for (std::uint32_t kind = 0; kind < scenario.cluster.num_kinds(); ++kind) {
        const Scenario node = alone(scenario, kind);
        auto one = ServingPrices::make(node, with_layers(model_, 1), plan, engine);
        auto two = ServingPrices::make(node, with_layers(model_, 2), plan, engine);
        if (!one || !two) {
            return tl::unexpected(one ? two.error() : one.error());
        }
        kinds_.push_back(
            {.node = node.cluster.node,
             .one = std::move(*one),
             .two = std::move(*two),
             .has_host = node.cluster.node.host_memory > Bytes{} && node.device.generation != "cpu",
             .host_share = host_share});
    }
    return {};
}

void ChainPrices::add_nodes(const Scenario& scenario, const ServingPoolSpec& pool) {
    const auto cache_tokens = static_cast<double>(chain_blocks(model_, pool.limits)) *
                              static_cast<double>(pool.limits.block_size);
    const double layer = layer_bytes_ + cache_tokens * layer_cache_bytes_;
    const double output_layers = std::ceil(output_bytes_ / layer);
    const double most = static_cast<double>(model_.num_layers) + output_layers;
    const auto layers_in = [&](double bytes) {
        return static_cast<std::int64_t>(std::clamp(bytes / layer, 0.0, most));
    };
    for (std::uint32_t node = 0; node < scenario.cluster.num_nodes; ++node) {
        kind_of_.push_back(scenario.cluster.kind_of_node(node));
    }
    const BatchShape token{.tokens = 1, .sampled = 1, .generating = 1, .generating_context = 1};
    for (std::size_t i = 0; i < kind_of_.size(); ++i) {
        const Kind& kind = kinds_[kind_of_[i]];
        const DeviceSpec& device = scenario.device_of_kind(static_cast<std::uint32_t>(kind_of_[i]));
        const auto memory = static_cast<double>(device.memory.count());
        const auto reserved = static_cast<double>(engine_.reserved_memory.count());
        ChainNode priced_node = priced(i, (i + 1) % kind_of_.size(), token);
        priced_node.name = kind.node.name;
        priced_node.output_layers = static_cast<std::int64_t>(output_layers);
        double host_bytes = memory;
        if (kind.has_host) {
            priced_node.device_layers =
                layers_in(engine_.share_of_rest ? engine_.memory_share * (memory - reserved)
                                                : engine_.memory_share * memory - reserved);
            if (pool.n_gpu_layers >= 0) {
                priced_node.device_layers = std::min(priced_node.device_layers, pool.n_gpu_layers);
            }
            host_bytes = static_cast<double>(kind.node.host_memory.count());
        }
        const bool of_host = kind.has_host || device.generation == "cpu";
        const double planned = of_host && prefetches(chain_) ? kPlannedMemory : 1;
        priced_node.host_layers = layers_in(planned * host_bytes);
        const double resting = of_host ? static_cast<double>(pool.resting_memory.count()) : 0;
        spare_layers_.push_back(layers_in(host_bytes + resting) - priced_node.host_layers);
        const double of_drives =
            static_cast<double>(kind.node.nvme_drives) *
            static_cast<double>(kind.node.nvme_read_bandwidth.bits_per_second());
        priced_node.disk_layer = bytes_time(layer_bytes_, of_drives);
        priced_node.read_output = bytes_time(output_bytes_, of_drives);
        nodes_.push_back(std::move(priced_node));
    }
}

Time ChainPrices::hop_time(std::size_t from, std::size_t to, std::int64_t tokens) const {
    if (from == to) {
        return {};
    }
    const SendCall call{
        Bytes{tokens * model_.hidden_size * static_cast<std::int64_t>(kStreamBytes)}};
    const std::vector<RankId> pair{to_id<RankId>(from), to_id<RankId>(to)};
    return time_without_contention(network_.plan(call, pair), network_.links());
}

ChainNode ChainPrices::priced(std::size_t node, std::size_t next, const BatchShape& shape) {
    const Kind& kind = kinds_[kind_of_[node]];
    const Time two = kind.two->stage_time(shape, 0);
    const Time one = kind.one->stage_time(shape, 0);
    ChainNode times;
    times.device_layer = std::max(Time{}, two - one);
    times.output =
        Time::seconds(std::max(0.0, (one - times.device_layer).seconds()) * output_share_);
    times.host_layer = times.device_layer;
    times.host_output = times.output;
    if (kind.has_host) {
        double read = static_cast<double>(shape.generating_context);
        for (const PromptChunk& chunk : shape.chunks) {
            read += static_cast<double>(chunk.context + chunk.new_tokens);
        }
        const double bytes =
            static_cast<double>(shape.tokens) * layer_bytes_ + read * layer_cache_bytes_;
        const double of_host =
            kind.host_share *
            static_cast<double>(kind.node.host_memory_bandwidth.bits_per_second());
        const double of_link = static_cast<double>(kind.node.pcie_bandwidth.bits_per_second()) *
                               kind.node.pcie_efficiency;
        times.host_layer =
            std::min(bytes_time(bytes, of_host),
                     bounded_sum(bytes_time(layer_bytes_, of_link), times.device_layer));
        times.host_output =
            std::min(bytes_time(static_cast<double>(shape.sampled) * output_bytes_, of_host),
                     bounded_sum(bytes_time(output_bytes_, of_link), times.output));
    }
    times.hop = hop_time(node, next, shape.tokens);
    return times;
}

void ChainPrices::times(const Batch& batch, std::vector<Time>& stages) {
    const BatchShape shape = shape_of(batch);
    std::vector<ChainNode> of_shape(nodes_.size());
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        const std::size_t node = shares_[i].node;
        of_shape[node] = priced(node, shares_[(i + 1) % shares_.size()].node, shape);
        of_shape[node].disk_layer = nodes_[node].disk_layer;
        of_shape[node].read_output = nodes_[node].read_output;
        of_shape[node].spare_layers = nodes_[node].spare_layers;
    }
    stages = chain_times(of_shape, shares_, prefetches(chain_));
    const Time host = bounded_sum(
        engine_.host_per_step,
        bounded_product(engine_.host_per_sequence, static_cast<std::int64_t>(batch.steps.size())));
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        if (shares_[i].output) {
            stages[i] = bounded_sum(stages[i], host);
        }
    }
}

}  // namespace orrery
