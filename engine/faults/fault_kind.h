// SPDX-License-Identifier: Apache-2.0
// The kinds of faults: what fails, where, its symptom, and how soon a monitor on the node sees it.
// Latencies and transient shares are defaults that a scenario may override. The table in
// fault_kind.cpp marks figures without a published source as assumed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/base/wall_time.h"
#include "engine/faults/component.h"

namespace orrery {

enum class FaultKind : std::uint8_t {
    gpu_lost,
    hbm_uncorrectable,
    ecc_correctable,
    gpu_hang,
    nvlink_error,
    pcie_degraded,
    thermal_throttle,
    slow_gpu,
    slow_host,
    nic_down,
    slow_nic,
    link_flap,
    gray_link,
    ecmp_collision,
    pfc_storm,
    switch_down,
    spine_loss,
    power_loss,
    site_loss,
    node_crash,
    host_fault,
    software_bug,
    job_hang,
    loss_spike,
    silent_corruption,
    store_outage,
    data_slow,
    control_plane,
    maintenance,
    preemption,
    false_alarm,
    job_update,
    store_full,
    store_slow,
    torn_checkpoint,
};
inline constexpr std::size_t kNumFaultKinds = 35;

// The effect of a fault on the job.
enum class FaultEffect : std::uint8_t {
    stop,     // the step never ends until a restart
    slow,     // every step takes longer until it ends
    stall,    // nothing moves until it ends, then the job continues by itself
    corrupt,  // wrong numbers without a visible error
    outage,   // the checkpoint store does not answer
    busy,     // the checkpoint store takes longer
    torn,     // the next checkpoint is damaged, which shows only when it is read
    none,     // an alarm without a fault
    planned,  // the job is stopped on purpose after a checkpoint, and started again
};

// The symptom of a fault, which decides how it is detected.
enum class Symptom : std::uint8_t {
    exit_code,    // a process ends: seen at once, with its place
    node_error,   // the node's agent sees it in logs and counters
    silence,      // the node no longer answers
    hang,         // no error is reported; only progress stops
    slowness,     // steps take longer
    anomaly,      // loss or gradients look wrong
    store_error,  // the checkpoint store answers with errors
};

struct FaultKindInfo {
    FaultKind kind;
    std::string_view name;
    FaultEffect effect;
    Symptom symptom;
    WallTime inspection;  // period of the node agent's check
    double transient;     // share of the faults that a restart in place cures
    double slowdown;      // factor on a step's kernels or links, for FaultEffect::slow
    Scope natural;  // the failing component; a fault without a place hits each one of this scope
    // True if the place is one or several nodes; otherwise it is the job, the store or the core of
    // the network.
    constexpr bool on_node() const { return natural != Scope::job && natural != Scope::spine; }
};

const FaultKindInfo& info(FaultKind kind);
inline std::string_view name(FaultKind kind) {
    return info(kind).name;
}
// Whether the kind slows down kernels, or, in turn, network adapters.
bool slows_gpus(FaultKind kind);
bool slows_adapters(FaultKind kind);
std::span<const FaultKindInfo> fault_kinds();
std::optional<FaultKind> fault_kind_of(std::string_view name);

}  // namespace orrery
