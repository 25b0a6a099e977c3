// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/cache_transport.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/world/rate_alone.h"
#include "network/fabric/fabric.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/network/network_rates.h"
#include "scenarios/studies/serve/tier_loads.h"

namespace orrery {

namespace {

// Layers [first, end) of a stage.
struct Layers {
    std::int64_t first = 0;
    std::int64_t end = 0;
};

Layers layers_at(const Transformer& model, const ServingPlan& plan, std::int64_t stage) {
    Layers layers;
    for (std::int64_t before = 0; before < stage; ++before) {
        layers.first += layers_of_stage(model, plan, before);
    }
    layers.end = layers.first + layers_of_stage(model, plan, stage);
    return layers;
}

std::int64_t overlap(std::int64_t a, std::int64_t a_end, std::int64_t b, std::int64_t b_end) {
    return std::max<std::int64_t>(0, std::min(a_end, b_end) - std::max(a, b));
}

// Heads in the cache. Latent attention caches one vector.
std::int64_t cache_heads(const Transformer& model) {
    return model.multi_latent_attention ? 1 : model.num_query_groups;
}

// The first head of a rank. Below: the number of heads that a rank holds.
std::int64_t first_head(const Transformer& model, std::int64_t tp, std::int64_t rank) {
    return rank * cache_heads(model) / tp;
}
std::int64_t heads_of_rank(const Transformer& model, std::int64_t tp) {
    return (cache_heads(model) + tp - 1) / tp;
}

}  // namespace

std::vector<CachePiece> cache_pieces(const Transformer& model,
                                     const ServingPlan& from,
                                     const ServingPlan& to) {
    const std::int64_t source_tp = from.tensor_model_parallel_size;
    const std::int64_t target_tp = to.tensor_model_parallel_size;
    const std::int64_t source_heads = heads_of_rank(model, source_tp);
    const std::int64_t target_heads = heads_of_rank(model, target_tp);
    const std::int64_t bytes_of_head =
        key_value_bytes(model, from).count() / model.num_layers / cache_heads(model);
    std::vector<CachePiece> pieces;
    for (std::int64_t to_stage = 0; to_stage < to.pipeline_model_parallel_size; ++to_stage) {
        const Layers wanted = layers_at(model, to, to_stage);
        for (std::int64_t from_stage = 0; from_stage < from.pipeline_model_parallel_size;
             ++from_stage) {
            const Layers there = layers_at(model, from, from_stage);
            const std::int64_t layers = overlap(wanted.first, wanted.end, there.first, there.end);
            for (std::int64_t target = 0; layers > 0 && target < target_tp; ++target) {
                const std::int64_t head = first_head(model, target_tp, target);
                std::int64_t known_end = head;
                for (std::int64_t source = 0; source < source_tp; ++source) {
                    const std::int64_t at = first_head(model, source_tp, source);
                    const std::int64_t heads =
                        overlap(known_end, head + target_heads, at, at + source_heads);
                    if (heads > 0) {
                        pieces.push_back({.from = from_stage * from.ranks_of_stage() + source,
                                          .to = to_stage * to.ranks_of_stage() + target,
                                          .bytes = layers * heads * bytes_of_head});
                        known_end = at + source_heads;
                    }
                }
            }
        }
    }
    return pieces;
}

Result<std::unique_ptr<FabricTransport>> FabricTransport::make(const Scenario& cluster,
                                                               const Transformer& model,
                                                               const PlacedPool& prompts,
                                                               const PlacedPool& generation) {
    Result<Fabric> fabric = build_fabric(cluster.cluster);
    if (!fabric) {
        return tl::unexpected(fabric.error());
    }
    return std::unique_ptr<FabricTransport>(
        new FabricTransport(cluster, std::move(*fabric), model, prompts, generation));
}

FabricTransport::FabricTransport(const Scenario& cluster,
                                 Fabric fabric,
                                 const Transformer& model,
                                 const PlacedPool& prompts,
                                 const PlacedPool& generation)
    : prompts_(prompts),
      generation_(generation),
      model_(model),
      pieces_(cache_pieces(model, prompts.plan, generation.plan)),
      network_(std::move(fabric), nccl_options(cluster)),
      rates_(make_rates(NetworkFidelity::fluid, network_.links())) {}

FootprintId FabricTransport::footprint_of(const std::vector<LinkShare>& links) {
    const auto known = std::find_if(footprints_.begin(), footprints_.end(), [&](const auto& one) {
        return one.first == links;
    });
    if (known != footprints_.end()) {
        return known->second;
    }
    return footprints_.emplace_back(links, rates_->add_footprint(links)).second;
}

PoolHosts hosts_of(const PlacedPool& pool, std::int64_t instances, std::int64_t gpus_per_server) {
    PoolHosts hosts;
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < instances; ++i) {
        const std::int64_t server =
            (pool.first_rank + i * pool.ranks_of_instance()) / gpus_per_server;
        if (server != last) {
            hosts.first_instance.push_back(static_cast<std::size_t>(i));
            last = server;
        }
        hosts.of_instance.push_back(hosts.first_instance.size() - 1);
    }
    return hosts;
}

std::size_t FabricTransport::begin_transfer(Time now, RequestId request) {
    change_capacities(now);
    std::size_t number = transfers_.size();
    if (unused_.empty()) {
        transfers_.emplace_back();
    } else {
        number = unused_.back();
        unused_.pop_back();
    }
    transfers_[number] = {.request = request, .began = now};
    return number;
}

void FabricTransport::add(Time now, std::size_t transfer, const TransferPhase& phase) {
    for (const TransferPart& part : phase.parts) {
        starts_.emplace(now + phase.latency, Start{.transfer = transfer, .part = part});
        ++transfers_[transfer].open;
    }
}

// Every rank of the replica loads its heads of its layers.
void FabricTransport::load(Time now, const SequenceLoad& load, std::size_t to) {
    const std::size_t number = begin_transfer(now, load.request);
    transfers_[number].is_load = true;
    const ServingPlan& plan = prompts_.plan;
    const std::int64_t replica = static_cast<std::int64_t>(load.request) % plan.data_parallel_size;
    const auto rank_of = [&](std::size_t instance, std::int64_t stage, std::int64_t of_stage) {
        return to_id<RankId>(static_cast<std::size_t>(
            prompts_.first_rank +
            static_cast<std::int64_t>(instance) * prompts_.ranks_of_instance() +
            stage * plan.ranks_of_stage() + replica * plan.tensor_model_parallel_size + of_stage));
    };
    for (const CacheLoad& part : load.parts) {
        const std::size_t holder = hosts_.first_instance[part.host];
        for (std::int64_t stage = 0; stage < plan.pipeline_model_parallel_size; ++stage) {
            const Bytes bytes{key_value_bytes_of_rank(model_, plan, stage).count() *
                              prompts_.block_size * part.blocks};
            for (std::int64_t i = 0; i < plan.tensor_model_parallel_size; ++i) {
                loaded_ += bytes;
                add(now,
                    number,
                    load_phase(network_,
                               rank_of(to, stage, i),
                               part.kind,
                               rank_of(holder, stage, i),
                               bytes));
            }
        }
    }
    ORRERY_CHECK(transfers_[number].open > 0);
}

Time FabricTransport::load_of_token(TierKind kind) const {
    constexpr std::int64_t kTokens = 4096;
    const auto rank = [&](std::size_t instance) {
        return to_id<RankId>(static_cast<std::size_t>(
            prompts_.first_rank +
            static_cast<std::int64_t>(instance) * prompts_.ranks_of_instance()));
    };
    const Bytes bytes{key_value_bytes_of_rank(model_, prompts_.plan, 0).count() * kTokens};
    TransferPlan plan;
    plan.phases = {load_phase(
        network_, rank(0), kind, rank(hosts_.first_instance.back()), bytes)};
    return Time::picoseconds(
        time_without_contention(plan, network_.links()).picoseconds() / kTokens);
}

void FabricTransport::start(
    Time now, RequestId request, std::size_t from, std::size_t to, const CachePart& part) {
    const std::size_t number = begin_transfer(now, request);
    transfers_[number].is_first = part.begin == 0;
    for (const CachePiece& piece : pieces_) {
        // Requests go to the data-parallel ranks in turn.
        const auto rank = [&](const PlacedPool& pool, std::size_t instance, std::int64_t of) {
            const std::int64_t replica =
                static_cast<std::int64_t>(request) % pool.plan.data_parallel_size;
            return to_id<RankId>(static_cast<std::size_t>(
                pool.first_rank + static_cast<std::int64_t>(instance) * pool.ranks_of_instance() +
                replica * pool.plan.tensor_model_parallel_size + of));
        };
        const std::vector<RankId> members{rank(prompts_, from, piece.from),
                                          rank(generation_, to, piece.to)};
        const auto up_to = [&](std::int64_t end) { return piece.bytes * end / part.layers; };
        const Bytes bytes{up_to(part.end) - up_to(part.begin)};
        moved_ += bytes;
        const TransferPlan plan = network_.plan(SendCall{bytes}, members);
        ORRERY_CHECK(plan.phases.size() == 1);
        add(now, number, plan.phases.front());
    }
    ORRERY_CHECK(transfers_[number].open > 0);
}

Time FabricTransport::next_end() const {
    if (starts_.empty() && transfer_of_.empty()) {
        return Time::max();
    }
    Time next = rates_->next_completion();
    if (!starts_.empty()) {
        next = std::min(next, starts_.begin()->first);
    }
    return next_change_ < changes_.size() ? std::min(next, changes_[next_change_].at) : next;
}

void FabricTransport::change_links(std::vector<CapacityChange> changes) {
    changes_ = std::move(changes);
}

// Applies the changes of capacities up to `now`. They are no events of their own: without a
// transfer in progress nothing depends on them.
void FabricTransport::change_capacities(Time now) {
    bool changed = false;
    for (; next_change_ < changes_.size() && changes_[next_change_].at <= now; ++next_change_) {
        rates_->set_capacity(now, changes_[next_change_].link, changes_[next_change_].capacity);
        changed = true;
    }
    if (changed) {
        rates_->settle(now);
    }
}

void FabricTransport::cancel(Time now, RequestId request) {
    std::size_t number = transfers_.size();
    const auto is_of = [&](std::size_t transfer) {
        const bool found = transfers_[transfer].request == request;
        number = found ? transfer : number;
        return found;
    };
    const auto take_back = [&](Bytes bytes) {
        Bytes& sum = transfers_[number].is_load ? loaded_ : moved_;
        sum = sum - bytes;
    };
    for (auto start = starts_.begin(); start != starts_.end();) {
        if (is_of(start->second.transfer)) {
            take_back(start->second.part.bytes);
            start = starts_.erase(start);
        } else {
            ++start;
        }
    }
    for (auto flow = transfer_of_.begin(); flow != transfer_of_.end();) {
        if (is_of(flow->second)) {
            take_back(rates_->stop(now, flow->first));
            flow = transfer_of_.erase(flow);
        } else {
            ++flow;
        }
    }
    ORRERY_CHECK(number < transfers_.size());
    unused_.push_back(number);
    rates_->settle(now);
}

void FabricTransport::pop_ended(Time now, std::vector<RequestId>& ended) {
    popped_.clear();
    rates_->pop_completed(now, popped_);
    change_capacities(now);
    for (const FlowId flow : popped_) {
        const auto found = transfer_of_.find(flow);
        Transfer& transfer = transfers_[found->second];
        if (--transfer.open == 0) {
            ended.push_back(transfer.request);
            (transfer.is_load ? loads_total_ : total_) += now - transfer.began;
            (transfer.is_load ? loads_ended_ : ended_) += transfer.is_first ? 1 : 0;
            unused_.push_back(found->second);
        }
        transfer_of_.erase(found);
    }
    while (!starts_.empty() && starts_.begin()->first == now) {
        const Start& start = starts_.begin()->second;
        const FlowId flow = rates_->start(
            now, footprint_of(start.part.footprint), start.part.bytes, start.part.rate_max);
        transfer_of_.emplace(flow, start.transfer);
        starts_.erase(starts_.begin());
    }
    rates_->settle(now);
}

}  // namespace orrery
