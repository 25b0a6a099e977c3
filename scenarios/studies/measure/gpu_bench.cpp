// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/gpu_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/cuda/cuda_features.h"
#include "runtime/cuda/nccl_library.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/format/read/device_names.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/measure/discovered_cluster.h"
#include "scenarios/studies/measure/kernel_comparison.h"
#include "scenarios/studies/measure/training_bench.h"

namespace orrery {
namespace {

constexpr std::chrono::seconds kChecksLimit{300};
constexpr std::chrono::seconds kChecksQuiet{30};  // per comparison
constexpr std::chrono::seconds kTorchLimit{180};
constexpr std::chrono::seconds kProfileLimit{900};
constexpr std::string_view kTrainStage = "train:";
constexpr std::string_view kTorchStage = "torch:";

std::filesystem::path scenario_folder() {
    return default_catalogue().parent_path();
}

std::vector<std::string> default_scenarios() {
    std::vector<std::string> files;
    for (const char* size : {"124m", "350m", "774m", "1558m"}) {
        files.push_back(
            (scenario_folder() / ("gpt2-" + std::string{size} + "-1gpu.yaml")).string());
    }
    return files;
}

// Reads a scenario with this machine's device as its node, unless the user sets another.
ResultOrErrors<Scenario> scenario_here(const std::string& file, const GpuBenchSpec& spec) {
    ReadOptions read;
    if (spec.device == "cpu") {
        read.overrides.push_back("cluster.node=cpu-core");
    } else if (const auto devices = cuda_devices()) {
        const CudaDeviceInfo& first = devices->front();
        const std::string known =
            device_of_gpu(first.name, static_cast<std::uint64_t>(first.memory.count()));
        if (!known.empty()) {
            read.overrides.push_back(node_of_one_gpu(known));
        }
    }
    read.overrides.insert(read.overrides.end(), spec.overrides.begin(), spec.overrides.end());
    return read_scenario(file, read);
}

// Appends a line to the table of all timed steps.
Result<void> add_to_table(const std::filesystem::path& file, const std::string& row) {
    std::error_code error;
    const bool is_new = !std::filesystem::exists(file, error);
    std::ofstream out{file, std::ios::app};
    out << (is_new ? bench_columns() : "") << row;
    out.close();
    return out ? Result<void>{} : fail(file.string(), "can't be written");
}

std::filesystem::path steps_csv_of(const GpuBenchSpec& spec) {
    return std::filesystem::path{spec.folder} / "steps.csv";
}

// Tokens per second in the last line of a scenario; 0 without one.
double tokens_per_second_of(const std::filesystem::path& table, const std::string& name) {
    std::ifstream in{table};
    double found = 0;
    for (std::string line; std::getline(in, line);) {
        std::istringstream fields{line};
        std::string field;
        for (int column = 0; std::getline(fields, field, ','); ++column) {
            if (column == 0 && field != name) {
                break;
            }
            found = column == 8 ? std::strtod(field.c_str(), nullptr) : found;
        }
    }
    return found;
}

std::vector<std::string> own_words(const GpuBenchSpec& spec) {
    std::error_code error;
    const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
    std::vector<std::string> words{spec.program.empty() ? self : spec.program,
                                   "gpu-bench",
                                   "--device",
                                   spec.device,
                                   "-o",
                                   spec.folder,
                                   "--steps",
                                   std::to_string(spec.steps)};
    for (const std::string& change : spec.overrides) {
        words.insert(words.end(), {"--set", change});
    }
    return words;
}

BenchStage checks_stage(const GpuBenchSpec& spec) {
    BenchStage stage{.name = "checks",
                     .command = {.words = own_words(spec),
                                 .environment = {},
                                 .limit = kChecksLimit,
                                 .quiet_limit = kChecksQuiet},
                     .is_numbered = true,
                     .uses_kernels = true};
    stage.command.words.insert(stage.command.words.end(),
                               {"--only", "checks", "--comparison", "0"});
    return stage;
}

BenchStage training_stage(const std::string& file,
                          const Scenario& scenario,
                          const GpuBenchSpec& spec) {
    BenchStage stage{.name = std::string{kTrainStage} + scenario.name,
                     .command = {.words = own_words(spec),
                                 .environment = {},
                                 .limit = std::chrono::seconds{spec.limit_s},
                                 .quiet_limit = std::chrono::seconds{spec.limit_s}},
                     .uses_kernels = true};
    stage.command.words.insert(stage.command.words.end(), {"--only", "train", file});
    return stage;
}

// PyTorch with the same model and batch in several modes, of which the best counts.
BenchStage torch_stage(const Scenario& s, const GpuBenchSpec& spec) {
    BenchStage stage{.name = std::string{kTorchStage} + s.name, .command = {}};
    stage.command = {
        .words = {"python3", (scenario_folder() / "gpu_bench" / "gpt2_torch.py").string()},
        .environment = {{"PYTHONUNBUFFERED", "1"}},
        .limit = kTorchLimit,
        .quiet_limit = kTorchLimit};
    const std::vector<std::pair<const char*, std::int64_t>> sizes{
        {"--layers", s.model.num_layers},
        {"--hidden", s.model.hidden_size},
        {"--heads", s.model.num_attention_heads},
        {"--sequence", s.model.seq_length},
        {"--vocabulary", s.model.vocab_size},
        {"--micro", s.plan.micro_batch_size},
        {"--batch", s.plan.global_batch_size},
        {"--steps", std::min<std::int64_t>(spec.steps, 5)}};
    for (const auto& [option, size] : sizes) {
        stage.command.words.insert(stage.command.words.end(), {option, std::to_string(size)});
    }
    if (spec.torch_eager) {
        stage.command.words.emplace_back("--eager");
    }
    stage.conclusion = [table = steps_csv_of(spec), name = s.name](const std::string& output) {
        return torch_conclusion(output, tokens_per_second_of(table, name));
    };
    return stage;
}

BenchStage profile_stage(const GpuBenchSpec& spec) {
    const std::vector<std::string> own = own_words(spec);
    return {.name = "profile",
            .command = {.words = {own.front(),
                                  "profile",
                                  "--device",
                                  spec.device,
                                  "-o",
                                  (std::filesystem::path{spec.folder} / "machine.csv").string()},
                        .environment = {},
                        .limit = kProfileLimit,
                        .quiet_limit = kProfileLimit},
            .uses_kernels = true};
}

ResultOrErrors<std::vector<BenchStage>> all_stages(const GpuBenchSpec& spec) {
    std::vector<BenchStage> stages{checks_stage(spec)};
    const std::vector<std::string> files = spec.files.empty() ? default_scenarios() : spec.files;
    for (const std::string& file : files) {
        if (spec.checks_only) {
            break;
        }
        const auto scenario = scenario_here(file, spec);
        if (!scenario) {
            return unexpected<Errors>(scenario.error());
        }
        stages.push_back(training_stage(file, *scenario, spec));
        if (spec.torch) {
            stages.push_back(torch_stage(*scenario, spec));
        }
    }
    if (spec.profile && !spec.checks_only) {
        stages.push_back(profile_stage(spec));
    }
    if (spec.from.empty()) {
        return stages;
    }
    const auto from = std::ranges::find(stages, spec.from, &BenchStage::name);
    if (from == stages.end()) {
        std::string names;
        for (const BenchStage& stage : stages) {
            names += (names.empty() ? "" : ", ") + stage.name;
        }
        return unexpected<Errors>(
            Errors{{"--from-stage", "'" + spec.from + "' is no stage of this bench", names}});
    }
    return std::vector<BenchStage>(from, stages.end());
}

DeviceChoice device_of(const GpuBenchSpec& spec) {
    return spec.device == "cpu" ? DeviceChoice::cpu : DeviceChoice::cuda;
}

std::string left_out_features() {
    const char* const without = std::getenv(kCudaWithout);
    return without == nullptr ? "" : without;
}

}  // namespace

std::string bench_machine_text(const std::vector<CudaDeviceInfo>& devices) {
    const auto nccl = open_nccl();
    std::string text = fmt::format("orrery {}, {}, NCCL {}\n",
                                   kVersion,
                                   cuda_versions(),
                                   nccl ? (*nccl)->version() : "none: " + nccl.error().what);
    for (const CudaDeviceInfo& d : devices) {
        const std::string known =
            device_of_gpu(d.name, static_cast<std::uint64_t>(d.memory.count()));
        text += fmt::format("GPU {}: {} ({}), {} of memory, {} multiprocessors, sm_{}, {}\n",
                            d.ordinal,
                            d.name,
                            known.empty() ? "not in the catalogue" : known,
                            to_short_text(d.memory),
                            d.multiprocessors,
                            d.compute_capability,
                            d.pci_bus);
    }
    return text;
}

std::string torch_conclusion(const std::string& output, double own_tokens_per_second) {
    double best = 0;
    std::string how;
    std::istringstream lines{output};
    for (std::string line; std::getline(lines, line);) {
        double tokens = 0;
        int end = 0;
        if (std::sscanf(line.c_str(), "tokens/s %lf %n", &tokens, &end) == 1 && tokens > best) {
            best = tokens;
            how = line.substr(static_cast<std::size_t>(end));
        }
    }
    if (best <= 0) {
        return "  PyTorch was not compared: no python3 with torch that trains here\n";
    }
    const std::string text = fmt::format("  PyTorch's best  {:10.0f} tokens/s ({})", best, how);
    return own_tokens_per_second > 0
               ? fmt::format("{}: Orrery has {:.2f} of it\n", text, own_tokens_per_second / best)
               : text + "\n";
}

Result<int> run_checks_stage(const GpuBenchSpec& spec, const Print& print) {
    return compare_kernels_from(
        static_cast<std::size_t>(spec.first_comparison), device_of(spec), print);
}

Errors run_training_stage(const GpuBenchSpec& spec, const Print& print) {
    const auto scenario = scenario_here(spec.files.front(), spec);
    if (!scenario) {
        return scenario.error();
    }
    const std::filesystem::path profile =
        std::filesystem::path{spec.folder} / (scenario->name + ".csv");
    const auto bench = bench_training(
        *scenario, device_of(spec), spec.steps, profile.string(), [&](const StepReport& step) {
            print(fmt::format("  step {:>3} {:10.2f} ms  loss {:.4f}\n",
                              step.step,
                              1e3 * step.seconds,
                              step.loss));
        });
    if (!bench) {
        return {bench.error()};
    }
    print(bench_report(*scenario, *bench) + "  profile: " + profile.string() + "\n");
    const Result<void> added =
        add_to_table(steps_csv_of(spec), bench_row(*scenario, *bench, left_out_features()));
    return added ? Errors{} : Errors{added.error()};
}

ResultOrErrors<std::vector<StageOutcome>> run_bench(const GpuBenchSpec& spec, const Print& print) {
    std::error_code error;
    std::filesystem::create_directories(spec.folder, error);
    const auto stages = all_stages(spec);
    if (!stages) {
        return unexpected<Errors>(stages.error());
    }
    const std::string without = left_out_features();
    if (const auto known = cuda_features_without(without); !known) {
        return unexpected<Errors>(Errors{known.error()});
    }
    auto outcomes = run_stages(*stages, without, run_stage, print);
    if (!outcomes) {
        return unexpected<Errors>(Errors{outcomes.error()});
    }
    return std::move(*outcomes);
}

bool bench_is_well(const std::vector<StageOutcome>& outcomes) {
    return std::ranges::all_of(outcomes, [](const StageOutcome& outcome) {
        return outcome.ok() || outcome.name.starts_with(kTorchStage);  // PyTorch is optional
    });
}

}  // namespace orrery
