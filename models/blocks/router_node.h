// SPDX-License-Identifier: Apache-2.0
// The router of a layer with experts as Megatron-Core computes it (moe_utils.py, router.py): scores
// of all experts, the choice among them, the loss that balances them, and the numbers of tokens
// that the ranks exchange before rows can travel.
#pragma once

#include <optional>

#include "models/blocks/layer_lowering.h"
#include "models/blocks/tape.h"

namespace orrery {

class RouterNode : public Node {
public:
    RouterNode(Parameter& weight, Parameter& bias, std::int64_t layer, Edge& x, Edge& weights)
        : weight_(weight), bias_(bias), layer_(layer), x_(x), weights_(weights) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& pass) override;

    // The tokens of each expert, if the host reads them before it issues the exchange of rows.
    std::optional<TensorId> read_by_host() const { return read_; }
    TensorId choices() const { return weights_.value.tensor; }
    std::int64_t tokens(const BlockBuilder& b) const { return b.local_tokens(logits_); }
    // The host reads `counts` instead, if it reads any.
    void let_host_read(TensorId counts) { read_ = read_ ? std::optional{counts} : std::nullopt; }

private:
    // Small kernels over the scores: their number is what they cost.
    void small_kernels(BlockBuilder& b,
                       std::string_view name,
                       std::uint8_t launches,
                       Cause cause) const;
    std::optional<TensorId> exchange_counts(BlockBuilder& b) const;

    Parameter& weight_;
    Parameter& bias_;
    std::int64_t layer_;
    Edge& x_;
    Edge& weights_;
    Value logits_;
    std::optional<TensorId> read_;
};

// With HybridEP the ranks gather the map of all tokens and experts before a forward dispatch, by
// NCCL or by copies inside an NVLink domain, and a kernel makes the places of rows and their
// numbers of it (deepseek-ai/DeepEP, csrc/hybrid_ep/executor/executor.cu at 94a9f8f:
// allgather_routing_map, metadata_preprocess_core). Both run on the stream of the dispatch. The
// exchanges behind it keep the places.
class RoutingMapNode : public Node {
public:
    explicit RoutingMapNode(RouterNode& router) : router_(router) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& /*pass*/) override {}

private:
    RouterNode& router_;
};

// The host waits for the numbers of rows and then launches the exchange (Megatron-Core's
// _maybe_dtoh_and_synchronize("before_ep_alltoall"); DeepEP and HybridEP wait inside their
// dispatch). What it has launched before keeps the device busy meanwhile.
class HostReadNode : public Node {
public:
    explicit HostReadNode(const RouterNode& router) : router_(router) {}

    void forward(ForwardPass& pass) override;
    void backward(BackwardPass& /*pass*/) override {}

private:
    const RouterNode& router_;
};

}  // namespace orrery
