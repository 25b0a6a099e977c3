// SPDX-License-Identifier: Apache-2.0
#include "engine/faults/fault_kind.h"

#include <array>

#include "engine/base/check.h"

namespace orrery {
namespace {

constexpr WallTime s(double seconds) {
    return WallTime::seconds(seconds);
}

using enum FaultEffect;
using enum Symptom;
using K = FaultKind;

// Inspection periods: ByteRobust (SOSP 2025, table 3) NIC and port 30 s, switch 60 s, driver and
// lost GPU 10 s, kernel 2 s. Transient shares: Unicron (arXiv:2401.00134) 73 % of errors overall,
// NCSA Delta (H100) 92 % of uncorrectable memory errors contained; other shares are assumed.
// Slowdowns: MegaScale (NSDI 2024) slow hosts 10 %; others assumed. The last column is the
// component that fails: published counts name GPUs, NICs, switches and power feeds.
constexpr std::array<FaultKindInfo, kNumFaultKinds> kKinds = {{
    {K::gpu_lost, "gpu_lost", stop, node_error, s(10), 0, 1, Scope::gpu},
    {K::hbm_uncorrectable, "hbm_uncorrectable", stop, exit_code, s(0), 0.92, 1, Scope::gpu},
    {K::ecc_correctable, "ecc_correctable", slow, slowness, s(300), 0, 1.05, Scope::gpu},
    {K::gpu_hang, "gpu_hang", stop, hang, s(10), 0.5, 1, Scope::gpu},
    {K::nvlink_error, "nvlink_error", stop, hang, s(10), 0.5, 1, Scope::gpu},
    {K::pcie_degraded, "pcie_degraded", slow, slowness, s(300), 0, 1.2, Scope::nic},
    {K::thermal_throttle, "thermal_throttle", slow, slowness, s(300), 0, 1.1, Scope::gpu},
    {K::slow_gpu, "slow_gpu", slow, slowness, s(300), 0, 1.1, Scope::gpu},
    {K::slow_host, "slow_host", slow, slowness, s(300), 0, 1.1, Scope::node},
    {K::nic_down, "nic_down", stop, node_error, s(30), 0.2, 1, Scope::nic},
    {K::slow_nic, "slow_nic", slow, slowness, s(60), 0, 2, Scope::nic},
    {K::link_flap, "link_flap", stall, node_error, s(30), 1, 1, Scope::nic},
    {K::gray_link, "gray_link", slow, slowness, s(20), 0, 1.5, Scope::nic},
    {K::ecmp_collision, "ecmp_collision", slow, slowness, s(60), 0, 1.3, Scope::job},
    {K::pfc_storm, "pfc_storm", stall, node_error, s(5), 1, 1, Scope::nic},
    {K::switch_down, "switch_down", stop, node_error, s(60), 0.5, 1, Scope::leaf},
    {K::spine_loss, "spine_loss", slow, slowness, s(10), 0, 1.1, Scope::spine},
    {K::power_loss, "power_loss", stop, silence, s(30), 0, 1, Scope::pdu},
    {K::site_loss, "site_loss", stop, silence, s(30), 0, 1, Scope::site},
    {K::node_crash, "node_crash", stop, silence, s(2), 0, 1, Scope::node},
    {K::host_fault, "host_fault", stop, node_error, s(10), 0, 1, Scope::node},
    {K::software_bug, "software_bug", stop, exit_code, s(0), 1, 1, Scope::job},
    {K::job_hang, "job_hang", stop, hang, s(0), 1, 1, Scope::job},
    {K::loss_spike, "loss_spike", corrupt, anomaly, s(0), 0, 1, Scope::job},
    {K::silent_corruption, "silent_corruption", corrupt, anomaly, s(0), 0, 1, Scope::gpu},
    {K::store_outage, "store_outage", outage, store_error, s(0), 1, 1, Scope::job},
    {K::data_slow, "data_slow", slow, slowness, s(60), 0, 1.5, Scope::job},
    {K::control_plane, "control_plane", stop, hang, s(30), 1, 1, Scope::job},
    {K::maintenance, "maintenance", stop, silence, s(30), 0, 1, Scope::node},
    {K::preemption, "preemption", stop, silence, s(30), 0, 1, Scope::node},
    {K::false_alarm, "false_alarm", none, node_error, s(10), 0, 1, Scope::node},
    {K::job_update, "job_update", planned, exit_code, s(0), 1, 1, Scope::job},
    {K::store_full, "store_full", outage, store_error, s(0), 1, 1, Scope::job},
    {K::store_slow, "store_slow", busy, store_error, s(0), 1, 10, Scope::job},
    {K::torn_checkpoint, "torn_checkpoint", torn, store_error, s(0), 1, 1, Scope::node},
}};

}  // namespace

const FaultKindInfo& info(FaultKind kind) {
    const FaultKindInfo& found = kKinds[static_cast<std::size_t>(kind)];
    ORRERY_CHECK(found.kind == kind);
    return found;
}

bool slows_gpus(FaultKind kind) {
    switch (kind) {
        case FaultKind::slow_gpu:
        case FaultKind::slow_host:
        case FaultKind::thermal_throttle:
        case FaultKind::ecc_correctable:
            return true;
        default:
            return false;
    }
}

bool slows_adapters(FaultKind kind) {
    switch (kind) {
        case FaultKind::slow_nic:
        case FaultKind::gray_link:
        case FaultKind::pcie_degraded:
            return true;
        default:
            return false;
    }
}

std::span<const FaultKindInfo> fault_kinds() {
    return kKinds;
}

std::optional<FaultKind> fault_kind_of(std::string_view name) {
    for (const FaultKindInfo& kind : kKinds) {
        if (kind.name == name) {
            return kind.kind;
        }
    }
    return std::nullopt;
}

}  // namespace orrery
