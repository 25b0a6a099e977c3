// SPDX-License-Identifier: Apache-2.0
// NCCL on a fabric: the network model of analytic and fluid simulations. NCCL's own rules choose
// the algorithm, protocol and channels of a call (nccl_tuning.h), and the algorithm's messages are
// laid on the links (collectives/). Without contention a call takes NCCL's latency, then its bytes
// at the lesser of NCCL's bandwidth and the bandwidth of the links. NCCL has no estimate for
// point-to-point messages and all_to_all: their latencies and numbers of channels are assumptions,
// stated in the source file. NCCL does not make copies between memory tiers: see
// network/fabric/memory_tiers.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "engine/program/network_model.h"
#include "network/collectives/connections.h"
#include "network/collectives/group_layout.h"
#include "network/congestion_factors.h"
#include "network/exchange.h"
#include "network/exchange_paths.h"
#include "network/fabric/fabric.h"
#include "network/fabric/footprint.h"
#include "network/nccl/nccl_graph.h"
#include "network/nccl/nccl_tuning.h"
#include "network/nccl_p2p.h"

namespace orrery {

struct NcclDevice {
    std::uint32_t compute_capability = 90;  // 0: a CPU, whose threads move the bytes
    std::uint32_t num_sms = 0;              // 0: does not limit the channels
};

struct NcclNetworkOptions {
    std::uint32_t compute_capability = 90;  // of the device, as in NcclDevice
    std::uint32_t num_sms = 0;
    std::vector<NcclDevice> devices{};  // by kind of node; empty: all nodes have the device above
    bool contention = true;             // false: `network: analytic`
    // The effect of the congestion control on transfers between servers, except over TCP; without
    // it, fair shares.
    std::optional<CongestionFactors> congestion{};
    // The fraction of the links' rate that NCCL's all-to-alls between servers reach without
    // congestion factors (kNcclAllToAllShare): the collective, and exchanges that NCCL moves.
    double all_to_all_share = 1;
    // Whether every connection between NICs also has a link of its own, after the fabric's links.
    // Such a link has unlimited capacity, and is in the footprints of the transfers that use the
    // connection (network/packet_network.h).
    bool number_connections = false;
};

struct PhaseLoads;

class NcclNetwork final : public NetworkModel {
public:
    NcclNetwork(Fabric fabric, const NcclNetworkOptions& options);

    // Plans are made from cached shapes: further calls on the same members only cost a copy.
    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override;

    // An exchange of rows among the members, in ascending rank order: an all-to-all-v or another
    // route of a dispatcher. Its servers are the members' nodes, which must have equal numbers of
    // members.
    TransferPlan plan_exchange(const Exchange& exchange, std::span<const RankId> members) const;

    std::vector<OtherPath> paths_around(const TransferCall& call,
                                        std::span<const RankId> members,
                                        std::span<const std::uint8_t> down) const override;

    std::span<const LinkInfo> links() const override;
    std::span<const std::string> link_class_names() const override { return class_names_; }
    bool has_contention() const override { return options_.contention; }

    const Fabric& fabric() const { return fabric_; }
    // The numbered connections, in the order of their links.
    const std::vector<NicConnection>& connections() const { return numbers_.connections(); }
    // The parts of a call's only phase as switches lay them in `state`, one per channel. Part i is
    // the same channel in every state. `broken`: a connection of the channel has no path.
    struct Channel {
        TransferPart part;
        bool broken = false;
    };
    std::vector<Channel> channels_of(const TransferCall& call,
                                     std::span<const RankId> members,
                                     const LinkState& state) const;
    // NCCL's own estimate of a call, for reports; empty for all_to_all and groups of one.
    std::optional<NcclChoice> estimate(const CollectiveCall& call,
                                       std::span<const RankId> members) const;

private:
    static constexpr int kAllToAll = -1;
    // Algorithm (or kAllToAll), channels, collective, communicator.
    using PartsKey = std::tuple<int, std::uint32_t, CollectiveKind, std::uint16_t>;
    struct Group {
        GroupLayout layout;
        const NcclTuning* tuning = nullptr;
        NodeSpec node{};  // of the members' kinds, the one with the slowest internal links
        std::uint32_t num_sms = 0;
        std::map<PartsKey, std::vector<PartShape>> parts;
        std::vector<std::pair<CollectiveCall, TransferPlan>> exchanges;  // exchanges of rows
        // Paths of exchanges, by whether they use the receiver's rail, and by communicator.
        std::map<std::pair<bool, std::uint16_t>, ExchangePaths> paths;
    };
    using ChoiceKey = std::tuple<const NcclTuning*, CollectiveKind, std::int64_t, Dtype>;
    struct MembersLess {
        using is_transparent = void;
        bool operator()(std::span<const RankId> a, std::span<const RankId> b) const;
    };

    // A plan before it is laid on links: everything but the parts of its only phase.
    struct Outline {
        TransferPlan plan;
        int algorithm = 0;  // of a collective, as in PartsKey
        // Number to lay out; copy engines have them without NCCL's channels
        std::uint32_t channels = 0;
        std::int64_t progress = 0;  // bytes that the parts share
        double bandwidth = 0;       // GB/s of that progress
        CongestionFactor factor;
        bool divided = true;  // progress and bandwidth are divided by the parts' divisors

        TransferPart part(const PartShape& shape) const;
        TransferPlan laid(std::span<const PartShape> shapes) const;
    };
    Outline outline_of(Group& group, const CollectiveCall& call) const;
    // The dispatcher's plan of a call with rows (CollectiveCall::rows). No value if the members'
    // nodes have different numbers of members: then the call is a plain all_to_all.
    std::optional<TransferPlan> plan_rows(const CollectiveCall& call,
                                          std::span<const RankId> members) const;
    TransferPlan plan_on(Group& group,
                         const Exchange& exchange,
                         std::span<const RankId> members) const;
    Outline outline_of_all_to_all(Group& group, const CollectiveCall& call) const;
    TransferPhase phase_of(Group& group,
                           const Exchange& exchange,
                           const ExchangePhase& messages,
                           ExchangePaths& paths,
                           std::span<const RankId> members) const;
    double mover_seconds(const Group& group,
                         const Exchange& exchange,
                         const PhaseLoads& loads) const;
    Time exchange_latency(const Group& group,
                          const Exchange& exchange,
                          std::uint32_t network_messages) const;
    NcclP2pChannels p2p_channels_of(const Group& group) const;
    // The bandwidth in GB/s of all channels of a member together, including its own part.
    double port_of(const Group& group) const;
    Outline outline_of_send(RankId from, RankId to, const SendCall& send) const;

    Group& group_of(std::span<const RankId> members) const;
    const NcclChoice& choice_of(const Group& group, const CollectiveCall& call) const;
    const std::vector<PartShape>& parts_of(Group& group,
                                           const CollectiveCall& call,
                                           int algorithm,
                                           std::uint32_t channels) const;
    std::vector<PartShape> make_parts(const Group& group,
                                      const CollectiveCall& call,
                                      int algorithm,
                                      std::uint32_t channels,
                                      Connections& connections) const;
    std::vector<PartShape> send_shapes(RankId from, RankId to, std::uint32_t channels) const;
    // `own` is the dispatcher that moves the rows, if it is not NCCL.
    CongestionFactor factor_of(CollectiveKind kind,
                               bool network,
                               const Dispatcher* own = nullptr) const;
    CongestionFactor factor_of_send(bool network) const;
    // Sets the plan's engine, and the SMs that its channels hold.
    void set_mover(TransferPlan& plan, TransferEngine engine, std::uint32_t num_sms) const;
    NcclDevice device_of(std::uint32_t kind) const;
    NcclCommunicator search(std::uint32_t kind, const NcclGroupShape& shape) const;
    // The bandwidth of a rank's links inside its node (GB/s).
    double intra_bandwidth(RankId rank) const;
    double send_bandwidth(RankId from, RankId to, std::uint32_t channels) const;
    // The additional time of a message on the network of a group, or between two ranks.
    Time message_latency(bool tcp) const;
    double fill_of(const Group& group,
                   const CollectiveCall& call,
                   const NcclChoice& choice,
                   double bandwidth,
                   TransferEngine engine) const;

    Fabric fabric_;
    NcclNetworkOptions options_;
    std::vector<std::string> class_names_;
    mutable std::mutex mutex_;  // guards the members below
    mutable ConnectionTable numbers_;
    mutable std::vector<LinkInfo> links_;  // includes connections if they are numbered
    mutable Connections connections_;
    mutable std::map<std::tuple<RankId, RankId, std::uint32_t>, std::vector<PartShape>> sends_;
    mutable std::map<NcclGroupShape, std::unique_ptr<NcclTuning>> tunings_;
    mutable std::map<std::vector<RankId>, Group, MembersLess> groups_;
    mutable std::map<ChoiceKey, NcclChoice> choices_;
};

}  // namespace orrery
