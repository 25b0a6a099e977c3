// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/memory_cases.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "kernels/csv_rows.h"
#include "models/lowering/lowering.h"
#include "models/memory/tensor_lifetimes.h"
#include "scenarios/format/document/csv_header.h"
#include "scenarios/studies/simulate/memory_overheads.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {
namespace {

constexpr const char* kOutcome = "outcome";
constexpr const char* kPeak = "measured_peak_memory_bytes";
constexpr std::string_view kOffload = "activation_offload";

// Returns the share of the word activation_offload and removes the word from the features, since no
// key of a plan expresses it.
double take_offload(PublishedCase& row, Errors& errors) {
    const std::vector<std::string> words = words_between(row.features, ';');
    const std::string text = value_of_word(words, kOffload);
    if (text.empty()) {
        return 0;
    }
    row.features.clear();
    for (const std::string& word : words) {
        if (!word.starts_with(kOffload)) {
            row.features += (row.features.empty() ? "" : ";") + word;
        }
    }
    const std::optional<double> share = parse_number(text);
    if (!share || *share < 0 || *share > 1) {
        errors.push_back({row.where, fmt::format("{}={} is no share", kOffload, text), "0 to 1"});
    }
    return share.value_or(0);
}

// What the passes of a role's chunks and micro-batches keep for their backward passes.
struct SavedActivations {
    Bytes most;         // at one time
    Bytes of_one_pass;  // the largest
};

SavedActivations saved_activations(const Program& program, RoleId role) {
    const RoleLifetimes lifetimes = tensor_lifetimes(program, role);
    std::map<std::uint32_t, Bytes> begins;  // by slot
    std::map<std::uint32_t, Bytes> change;
    SavedActivations saved;
    for (const TensorBlock& block : lifetimes.blocks) {
        const Bytes bytes = lifetimes.groups[block.group].bytes[TensorKind::activations];
        change[block.begin] += bytes;
        change[block.end + 1] -= bytes;
        begins[block.begin] += bytes;
        saved.of_one_pass = std::max(saved.of_one_pass, begins[block.begin]);
    }
    Bytes now;
    for (const auto& [slot, bytes] : change) {
        now += bytes;
        saved.most = std::max(saved.most, now);
    }
    return saved;
}

// Copies to the host run beside the next pass and leave the device after it. Copies back arrive in
// two buffers that take turns and are never freed. So the pass that computes, the one before it and
// two buffers stay on the device (Kuaishou's megatron/core/pipeline_parallel/offload.py).
constexpr std::int64_t kPassesOnDevice = 4;

Bytes bytes_on_host(const SavedActivations& saved, double share) {
    const Bytes most = saved.most - saved.of_one_pass * kPassesOnDevice;
    return Bytes{
        std::llround(share * static_cast<double>(std::max<std::int64_t>(0, most.count())))};
}

}  // namespace

bool is_memory_table(const std::string& file) {
    const std::string line = csv_header(file);
    return line.starts_with("case,") && line.find(std::string{","} + kOutcome) != std::string::npos;
}

ResultOrErrors<std::vector<MemoryCase>> read_memory_cases(const std::string& file) {
    auto rows = read_published_cases(file);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    const auto columns = read_csv(file, {kOutcome, kPeak}, true);
    if (!columns) {
        return unexpected<Errors>(columns.error());
    }
    Errors errors;
    std::vector<MemoryCase> cases;
    for (std::size_t i = 0; i < rows->size(); ++i) {
        MemoryCase memory{.row = std::move((*rows)[i])};
        const std::string& outcome = (*columns)[i].fields[0];
        const std::string& peak = (*columns)[i].fields[1];
        if (outcome != "ok" && outcome != "oom") {
            errors.push_back(
                {memory.row.where, fmt::format("outcome can't be '{}'", outcome), "ok or oom"});
        }
        memory.ran = outcome != "oom";
        const std::optional<double> bytes = parse_number(peak);
        if (!peak.empty() && (!bytes || *bytes <= 0)) {
            errors.push_back(
                {memory.row.where, fmt::format("{} '{}' must be a number", kPeak, peak), "bytes"});
        }
        memory.measured_peak_b = bytes.value_or(0);
        memory.activation_offload = take_offload(memory.row, errors);
        cases.push_back(std::move(memory));
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return cases;
}

Result<MemoryValidation> validate_memory(const std::vector<MemoryCase>& cases,
                                         const std::filesystem::path& root) {
    const Catalogue catalogue{root};
    MemoryValidation validation;
    std::vector<double> errors;
    for (const MemoryCase& memory : cases) {
        const Result<Scenario> scenario = scenario_of(memory.row, catalogue);
        if (!scenario) {
            validation.skipped.push_back({memory.row.name, scenario.error().what});
            continue;
        }
        const Program program = lower(scenario->model, scenario->plan);
        const Result<MemoryUse> known = whole_memory_use(program, *scenario);
        if (!known) {
            return tl::unexpected(known.error());
        }
        const MemoryUse& use = *known;
        const SavedActivations saved = saved_activations(program, program.role_of(use.rank));
        const Bytes on_host = bytes_on_host(saved, memory.activation_offload);
        const auto peak = static_cast<double>((use.peak - on_host).count());
        const auto beside = static_cast<double>(use.beside_plan().count());
        const auto device = static_cast<double>(use.device.count());
        validation.rows.push_back({.name = memory.row.name,
                                   .family = memory.row.family,
                                   .ran = memory.ran,
                                   .fits = peak + beside <= device,
                                   .measured_peak_b = memory.measured_peak_b,
                                   .predicted_peak_b = peak,
                                   .beside_plan_b = beside,
                                   .device_b = device});
        const ValidatedMemory& row = validation.rows.back();
        ++(row.ran ? validation.ran : validation.out_of_memory);
        validation.ran_and_fit += row.ran && row.fits ? 1 : 0;
        validation.out_and_too_large += !row.ran && !row.fits ? 1 : 0;
        if (row.measured_peak_b > 0) {
            errors.push_back(std::abs(row.error()));
        }
    }
    validation.peaks = errors.size();
    validation.median_error = summarise(std::move(errors)).median;
    return validation;
}

}  // namespace orrery
