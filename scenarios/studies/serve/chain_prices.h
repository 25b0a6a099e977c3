// SPDX-License-Identifier: Apache-2.0
// The cost of a step on a chain of unequal nodes (layer_chain.h). Each node is a stage, which
// computes its layers and sends the tokens to the next one.
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
    // Splits the layers over the nodes of the scenario's cluster, one GPU each, according to the
    // pool's chain. An Error if they cannot hold the model.
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
    // Prices of a kind of nodes, for a model with one layer and for one with two. The difference is
    // the price of a layer.
    struct Kind {
        NodeSpec node;
        std::unique_ptr<ServingPrices> one;
        std::unique_ptr<ServingPrices> two;
        // Whether the host computes, too. A device that is a CPU has the host's memory.
        bool has_host = false;
        double host_share = 1;  // of the host's bandwidth that products of one row reach
    };
    ChainPrices(const Scenario& scenario,
                const ServingEngine& engine,
                const ServingPoolSpec& pool,
                Fabric fabric);
    Result<void> add_kinds(const Scenario& scenario,
                           const ServingEngine& engine,
                           const ServingPlan& plan);
    void add_nodes(const Scenario& scenario, const ServingPoolSpec& pool);
    // Times of a node in a step of this shape; node `next` receives the tokens.
    ChainNode priced(std::size_t node, std::size_t next, const BatchShape& shape);
    Time hop_time(std::size_t from, std::size_t to, std::int64_t tokens) const;

    Transformer model_;
    ServingEngine engine_;
    LayerChain chain_;
    NcclNetwork network_;
    std::vector<Kind> kinds_;
    std::vector<std::size_t> kind_of_;  // by node
    std::vector<ChainNode> nodes_;
    std::vector<std::int64_t> spare_layers_;  // of each node
    std::vector<ChainShare> shares_;
    double layer_bytes_ = 0;
    double layer_cache_bytes_ = 0;  // keys and values of a token in one layer
    double output_share_ = 1;       // stored bytes of a weight over its bytes in 16 bits
    double output_bytes_ = 0;       // of the output layer's weights
};

// The number of tokens in the cache of a chain: num_blocks, or one sequence of the model's length,
// which such engines reserve at their start.
std::int64_t chain_blocks(const Transformer& model, const SchedulerLimits& limits);

}  // namespace orrery
