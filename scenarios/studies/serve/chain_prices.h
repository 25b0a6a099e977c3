// SPDX-License-Identifier: Apache-2.0
// What a step costs on a chain of nodes that differ (layer_chain.h): each node is a stage, which
// computes the layers that it holds and hands the tokens to the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/serving_pool.h"
#include "network/nccl_network.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/format/specs/serving_spec.h"
#include "scenarios/studies/serve/layer_chain.h"
#include "scenarios/studies/serve/serving_prices.h"

namespace orrery {

class ChainPrices : public StepCost {
public:
    // Layers on the nodes of the scenario's cluster, one GPU each, as the pool's chain says. An
    // Error if they cannot hold the model.
    static Result<std::unique_ptr<ChainPrices>> make(const Scenario& scenario,
                                                     const ServingEngine& engine,
                                                     const ServingPoolSpec& pool);

    std::size_t num_stages() const override { return shares_.size(); }
    void times(const Batch& batch, std::vector<Time>& stages) override;

    // For a step that generates one token of one sequence.
    const std::vector<ChainNode>& nodes() const { return nodes_; }
    const std::vector<ChainShare>& shares() const { return shares_; }
    std::vector<ChainNodeUse> use() const;

private:
    // Prices of a kind of nodes, of a model with one layer and of one with two. The second less the
    // first is the price of a layer.
    struct Kind {
        NodeSpec node;
        std::unique_ptr<ServingPrices> one;
        std::unique_ptr<ServingPrices> two;
        bool has_host = false;  // computes, too; a device that is a CPU has the host's memory
    };
    ChainPrices(const Scenario& scenario,
                const ServingEngine& engine,
                const ServingPoolSpec& pool,
                Fabric fabric);
    Result<void> add_kinds(const Scenario& scenario,
                           const ServingEngine& engine,
                           const ServingPlan& plan);
    void add_nodes(const Scenario& scenario, const ServingPoolSpec& pool);
    // A node's times of a step of this shape; `next` gets the tokens.
    ChainNode priced(std::size_t node, std::size_t next, const BatchShape& shape);
    Time hop_time(std::size_t from, std::size_t to, std::int64_t tokens) const;

    Transformer model_;
    ServingEngine engine_;
    LayerChain chain_;
    NcclNetwork network_;
    std::vector<Kind> kinds_;
    std::vector<std::size_t> kind_of_;  // by node
    std::vector<ChainNode> nodes_;
    std::vector<ChainShare> shares_;
    double layer_bytes_ = 0;
    double layer_cache_bytes_ = 0;  // keys and values of a token in a layer
    double output_share_ = 1;       // stored bytes of a weight over those of 16 bits
};

// Tokens of the cache of a chain: of num_blocks, or of one sequence of the model's length, which
// such engines reserve when they start.
std::int64_t chain_blocks(const Transformer& model, const SchedulerLimits& limits);

}  // namespace orrery
