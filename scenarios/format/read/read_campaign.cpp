// SPDX-License-Identifier: Apache-2.0
// The section `campaign`: its length and runs, repairs, the checkpoint store, and start-up.
#include <fmt/format.h>

#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

// Largest number of node-days whose microseconds fit in 64 bits with room for sums.
constexpr double kNodeDaysMost = 5e7;

constexpr Choice<StoreKind> kStores[] = {{"blocking", StoreKind::blocking},
                                         {"asynchronous", StoreKind::asynchronous}};
constexpr Choice<BarrierRule> kBarriers[] = {{"every_group", BarrierRule::every_group},
                                             {"every_kind", BarrierRule::every_kind}};

void check_storage(MapReader& reader, StoragePlan& storage) {
    if (storage.write <= Bandwidth{} || storage.read <= Bandwidth{}) {
        reader.complain("write_bandwidth", "campaign.storage has no bandwidth", "100 GB/s");
    }
}

void check_start_up(MapReader& reader, StartUpPlan& start_up) {
    if (start_up.processes && reader.has("full")) {
        reader.complain("full",
                        "campaign.start_up.full is processes and communicators together",
                        "full or processes");
    }
}

void check_domains(MapReader& reader, CampaignPlan& plan) {
    for (const auto& [key, own, of_shape] :
         {std::tuple{"nodes_per_rack", &plan.nodes_per_rack, plan.shape.nodes_per_rack},
          std::tuple{"nodes_per_leaf", &plan.nodes_per_leaf, plan.shape.nodes_per_leaf}}) {
        if (reader.good(key)) {
            *own = of_shape;
        }
    }
}

constexpr Key kDomainRows[] = {
    key<&CampaignPlan::shape, &ClusterShape::nodes_per_rack>("nodes_per_rack", "Nodes of a rack.")
        .range(1, 100'000)
        .of("nodes")
        .by("trays of an NVLink domain"),
    key<&CampaignPlan::shape, &ClusterShape::nodes_per_leaf>("nodes_per_leaf",
                                                             "Nodes under a leaf switch.")
        .range(1, 100'000)
        .of("nodes")
        .by("the fabric's"),
    key<&CampaignPlan::shape, &ClusterShape::nodes_per_pdu>("nodes_per_pdu",
                                                            "Nodes that share a power feed.")
        .range(1, 100'000)
        .of("nodes"),
    key<&CampaignPlan::shape, &ClusterShape::nodes_per_pod>("nodes_per_pod", "Nodes of a pod.")
        .range(1, 1'000'000)
        .of("nodes"),
};
constexpr KeyTable<CampaignPlan> kDomainKeys =
    key_table<CampaignPlan, check_domains>("domains", kDomainRows);

constexpr Key kRepairRows[] = {
    key<&RepairSpec::time>("time", "Time of a repair."),
    key<&RepairSpec::test>("test", "Time to test a healthy node that was accused."),
    key<&RepairSpec::first_time_fix>("first_time_fix",
                                     "Share of the repairs that mend the node. After the others it "
                                     "is repaired again.")
        .range(0.01, 1),
    key<&RepairSpec::crews>("crews", "Repairs at a time; 0: any number.").range(0, 1'000'000),
    key<&RepairSpec::worse_most>("worse_most", "A worn-out node fails this many times as often.")
        .range(1, 100),
    key<&RepairSpec::worse_repairs>("worse_repairs", "Repairs after which a node is worn out.")
        .range(1, 10'000)
        .of("repairs"),
    key<&RepairSpec::infant>("infant", "A new node fails this many times as often.").range(1, 100),
    key<&RepairSpec::infancy>("infancy", "Time for which a node is new."),
};
constexpr KeyTable<RepairSpec> kRepairKeys = key_table<RepairSpec>("repair", kRepairRows);

constexpr Key kForecastRows[] = {
    key<&Forecast::recall>("recall", "Share of the stopping faults of nodes that are foreseen.")
        .range(0, 1),
    key<&Forecast::precision>("precision", "Share of the warnings that a fault follows.")
        .range(0.001, 1),
    key<&Forecast::lead>("lead", "Time from a warning to its fault."),
};
constexpr KeyTable<Forecast> kForecastKeys = key_table<Forecast>("forecast", kForecastRows);

constexpr Key kStorageRows[] = {
    key<&StoragePlan::write>("write_bandwidth", "Write bandwidth of the whole store."),
    key<&StoragePlan::read>("read_bandwidth", "Read bandwidth of the whole store."),
    key<&StoragePlan::shared>("shared_network", "Checkpoints cross the training's network."),
    key<&StoragePlan::bytes_per_parameter>("bytes_per_parameter",
                                           "Size of a checkpoint: 14 with bf16 weights, fp32 "
                                           "weights and Adam's moments.")
        .range(0.01, 1000)
        .of("bytes"),
    key<&StoragePlan::planning>("planning",
                                "Time before each load in which the ranks agree on reads."),
};
constexpr KeyTable<StoragePlan> kStorageKeys =
    key_table<StoragePlan, check_storage>("storage", kStorageRows);

constexpr Key kStartUpRows[] = {
    choice<kStores, &StartUpPlan::store>("store", "Kind of the store at which processes meet."),
    choice<kBarriers, &StartUpPlan::barriers>("barriers", "How often all processes wait for all."),
    key<&StartUpPlan::store_operation>("store_operation", "Time of an operation of the store.")
        .by("the published one"),
    key<&StartUpPlan::processes>("processes", "Time to start the processes.")
        .by("the published table"),
    key<&StartUpPlan::full>("full", "Time to start processes and communicators together.")
        .by("their sum"),
    key<&StartUpPlan::in_place>("in_place", "Time to restart the processes of the same nodes."),
    key<&StartUpPlan::reconfigure>("reconfigure", "Time to go on with other sizes."),
    key<&StartUpPlan::swap>("swap", "Time to put a spare node in the place of another one."),
    key<&StartUpPlan::call_operator>("operator", "Time until an operator acts."),
};
constexpr KeyTable<StartUpPlan> kStartUpKeys =
    key_table<StartUpPlan, check_start_up>("start_up", kStartUpRows);

void check_days(MapReader& reader, CampaignPlan& plan) {
    double days = plan.length.days();
    const Key& row = row_of(kCampaignKeys, "days");
    reader.real("days", days, row.reals.least, row.reals.most);
    plan.length = WallTime::days(days);
    if (days * plan.shape.nodes > kNodeDaysMost) {
        reader.complain(
            "days",
            fmt::format("campaign.days is {} on {} nodes: too long", days, plan.shape.nodes),
            fmt::format("at most {:.0f}", kNodeDaysMost / plan.shape.nodes));
    }
}

constexpr Key kCampaignRows[] = {
    plain("days", KeyShape::real, "Length of the campaign.")
        .range(0.001, 100'000)
        .of("days")
        .by("30"),
    key<&CampaignPlan::seeds>("seeds", "Campaigns that are simulated, each with its own faults.")
        .range(1, 20'000),
    key<&CampaignPlan::tokens>("tokens", "Tokens to train on; the report has the time it takes.")
        .range(1, 1e18)
        .of("tokens")
        .by("none"),
    key<&CampaignPlan::step_time>("step_time", "Time of a step without faults.")
        .range(1, kLongMost)
        .by("that of `orrery simulate`"),
    key<&CampaignPlan::flap_timeout>("flap_timeout",
                                     "NCCL_IB_TIMEOUT: a packet is lost after 4.096 us * 2^this.")
        .range(1, 31),
    key<&CampaignPlan::flap_retries>("flap_retries", "NCCL_IB_RETRY_CNT.").range(1, 7),
    part_of_same<CampaignPlan>("domains", kDomainKeys, "Nodes that fail together."),
    part<&CampaignPlan::repair>("repair", kRepairKeys, "Repair of nodes."),
    part<&CampaignPlan::forecast>("forecast", kForecastKeys, "Warnings of faults."),
    part<&CampaignPlan::storage>("storage", kStorageKeys, "The store of the checkpoints."),
    part<&CampaignPlan::start_up>("start_up", kStartUpKeys, "Times of starts and restarts."),
    part<&CampaignPlan::detection>("detection", kDetectionKeys, "Detection of faults."),
};

}  // namespace

const KeyTable<CampaignPlan> kCampaignKeys =
    key_table<CampaignPlan, check_days>("campaign", kCampaignRows, "days: 54");

void read_campaign(const DocumentNode& section, CampaignPlan& plan, Errors& errors) {
    plan.present = true;
    read_map(section, "campaign", kCampaignKeys, plan, errors);
}

}  // namespace orrery
