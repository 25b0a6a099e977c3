// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/gpu_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "runtime/cuda/cuda_features.h"
#include "runtime/cuda/devices.h"
#include "runtime/cuda/nccl_library.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/format/read/device_names.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/studies/measure/discovered_cluster.h"
#include "scenarios/studies/measure/kernel_comparison.h"
#include "scenarios/studies/measure/training_bench.h"

namespace orrery {
namespace {

constexpr std::chrono::seconds kChecksLimit{300};
constexpr std::chrono::seconds kChecksQuiet{30};  // one comparison
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

// At once: what is measured must not be lost with what comes later.
void print_part(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

std::string machine_text(const std::vector<CudaDeviceInfo>& devices) {
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

// A scenario with the device that is here for its node, unless the user says otherwise.
ResultOrErrors<Scenario> scenario_here(const std::string& file,
                                       const GpuBenchArguments& arguments) {
    ReadOptions read;
    if (arguments.device == "cpu") {
        read.overrides.push_back("cluster.node=cpu-core");
    } else if (const auto devices = cuda_devices()) {
        const CudaDeviceInfo& first = devices->front();
        const std::string known =
            device_of_gpu(first.name, static_cast<std::uint64_t>(first.memory.count()));
        if (!known.empty()) {
            read.overrides.push_back(node_of_one_gpu(known));
        }
    }
    read.overrides.insert(
        read.overrides.end(), arguments.overrides.begin(), arguments.overrides.end());
    return read_scenario(file, read);
}

// The table of all steps that were timed, a line each.
Result<void> add_to_table(const std::filesystem::path& file, const std::string& row) {
    std::error_code error;
    const bool is_new = !std::filesystem::exists(file, error);
    std::ofstream out{file, std::ios::app};
    out << (is_new ? bench_columns() : "") << row;
    out.close();
    return out ? Result<void>{} : fail(file.string(), "can't be written");
}

std::filesystem::path table_of(const GpuBenchArguments& arguments) {
    return std::filesystem::path{arguments.folder} / "steps.csv";
}

// Tokens a second of the last line of a scenario; 0 if there is none.
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

// The stages that children of this program run.

int run_checks(const GpuBenchArguments& arguments) {
    const DeviceChoice device = arguments.device == "cpu" ? DeviceChoice::cpu : DeviceChoice::cuda;
    const Result<int> wrong = compare_kernels_from(
        static_cast<std::size_t>(arguments.first_comparison), device, print_part);
    if (!wrong) {
        print_part("failed: " + wrong.error().what + "\n");
        return report_error(wrong.error());
    }
    return *wrong > 0 ? kExitCheckFailed : kExitOk;
}

int run_training(const GpuBenchArguments& arguments) {
    const auto scenario = scenario_here(arguments.files.front(), arguments);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    const std::filesystem::path profile =
        std::filesystem::path{arguments.folder} / (scenario->name + ".csv");
    const auto bench =
        bench_training(*scenario,
                       arguments.device == "cpu" ? DeviceChoice::cpu : DeviceChoice::cuda,
                       arguments.steps,
                       profile.string(),
                       [](const StepReport& step) {
                           print_part(fmt::format("  step {:>3} {:10.2f} ms  loss {:.4f}\n",
                                                  step.step,
                                                  1e3 * step.seconds,
                                                  step.loss));
                       });
    if (!bench) {
        return report_error(bench.error());
    }
    print_part(bench_report(*scenario, *bench) + "  profile: " + profile.string() + "\n");
    const char* const without = std::getenv(kCudaWithout);
    const Result<void> added = add_to_table(
        table_of(arguments), bench_row(*scenario, *bench, without == nullptr ? "" : without));
    return added ? kExitOk : report_error(added.error());
}

// The stages as they are started.

std::vector<std::string> own_words(const GpuBenchArguments& arguments) {
    std::error_code error;
    const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
    std::vector<std::string> words{arguments.program.empty() ? self : arguments.program,
                                   "gpu-bench",
                                   "--device",
                                   arguments.device,
                                   "-o",
                                   arguments.folder,
                                   "--steps",
                                   std::to_string(arguments.steps)};
    for (const std::string& change : arguments.overrides) {
        words.insert(words.end(), {"--set", change});
    }
    return words;
}

BenchStage checks_stage(const GpuBenchArguments& arguments) {
    BenchStage stage{.name = "checks",
                     .command = {.words = own_words(arguments),
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
                          const GpuBenchArguments& arguments) {
    BenchStage stage{.name = std::string{kTrainStage} + scenario.name,
                     .command = {.words = own_words(arguments),
                                 .environment = {},
                                 .limit = std::chrono::seconds{arguments.limit_s},
                                 .quiet_limit = std::chrono::seconds{arguments.limit_s}},
                     .uses_kernels = true};
    stage.command.words.insert(stage.command.words.end(), {"--only", "train", file});
    return stage;
}

// PyTorch on the same model and batch, in several ways; the best of them counts.
BenchStage torch_stage(const Scenario& s, const GpuBenchArguments& arguments) {
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
        {"--steps", std::min<std::int64_t>(arguments.steps, 5)}};
    for (const auto& [option, size] : sizes) {
        stage.command.words.insert(stage.command.words.end(), {option, std::to_string(size)});
    }
    if (arguments.torch_eager) {
        stage.command.words.emplace_back("--eager");
    }
    stage.conclusion = [table = table_of(arguments), name = s.name](const std::string& output) {
        return torch_conclusion(output, tokens_per_second_of(table, name));
    };
    return stage;
}

BenchStage profile_stage(const GpuBenchArguments& arguments) {
    const std::vector<std::string> own = own_words(arguments);
    return {
        .name = "profile",
        .command = {.words = {own.front(),
                              "profile",
                              "--device",
                              arguments.device,
                              "-o",
                              (std::filesystem::path{arguments.folder} / "machine.csv").string()},
                    .environment = {},
                    .limit = kProfileLimit,
                    .quiet_limit = kProfileLimit},
        .uses_kernels = true};
}

ResultOrErrors<std::vector<BenchStage>> all_stages(const GpuBenchArguments& arguments) {
    std::vector<BenchStage> stages{checks_stage(arguments)};
    const std::vector<std::string> files =
        arguments.files.empty() ? default_scenarios() : arguments.files;
    for (const std::string& file : files) {
        if (arguments.checks_only) {
            break;
        }
        const auto scenario = scenario_here(file, arguments);
        if (!scenario) {
            return unexpected<Errors>(scenario.error());
        }
        stages.push_back(training_stage(file, *scenario, arguments));
        if (arguments.torch) {
            stages.push_back(torch_stage(*scenario, arguments));
        }
    }
    if (arguments.profile && !arguments.checks_only) {
        stages.push_back(profile_stage(arguments));
    }
    if (arguments.from.empty()) {
        return stages;
    }
    const auto from = std::ranges::find(stages, arguments.from, &BenchStage::name);
    if (from == stages.end()) {
        std::string names;
        for (const BenchStage& stage : stages) {
            names += (names.empty() ? "" : ", ") + stage.name;
        }
        return unexpected<Errors>(
            Errors{{"--from", "'" + arguments.from + "' is no stage of this bench", names}});
    }
    return std::vector<BenchStage>(from, stages.end());
}

int run_all_stages(const GpuBenchArguments& arguments) {
    std::error_code error;
    std::filesystem::create_directories(arguments.folder, error);
    const auto stages = all_stages(arguments);
    if (!stages) {
        return report_errors(stages.error());
    }
    const char* const without = std::getenv(kCudaWithout);
    if (const auto known = cuda_features_without(without == nullptr ? "" : without); !known) {
        return report_error(known.error());
    }
    const auto outcomes =
        run_stages(*stages, without == nullptr ? "" : without, run_stage, print_part);
    if (!outcomes) {
        return report_error(outcomes.error());
    }
    const int printed = print_output(stages_report(*outcomes));
    const auto bad = std::ranges::find_if(*outcomes, [](const StageOutcome& o) {
        return !o.ok() && !o.name.starts_with(kTorchStage);  // PyTorch need not be here
    });
    return bad == outcomes->end() ? printed : kExitCheckFailed;
}

Result<void> device_to_bench(const GpuBenchArguments& arguments) {
    if (arguments.device == "cpu") {
        return {};
    }
    if (arguments.device != "cuda") {
        return fail("--device", "'" + arguments.device + "' is no kind of device", "cuda or cpu");
    }
    const auto devices = cuda_devices();
    if (!devices) {
        Error error = devices.error();
        error.where = "gpu-bench";
        return unexpected<Error>(error);
    }
    return {};
}

}  // namespace

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

int gpu_bench_command(const GpuBenchArguments& arguments) {
    if (const Result<void> there = device_to_bench(arguments); !there) {
        return report_error(there.error());
    }
    if (arguments.only == "checks") {
        return run_checks(arguments);
    }
    if (arguments.only == "train" && arguments.files.size() == 1) {
        return run_training(arguments);
    }
    if (!arguments.only.empty()) {
        return report_error({"--only", "is 'checks', or 'train' and one scenario", ""});
    }
    const auto devices = cuda_devices();
    print_part(arguments.device == "cuda" && devices ? machine_text(*devices)
                                                     : "A rehearsal on the CPU\n");
    return run_all_stages(arguments);
}

Command describe_gpu_bench() {
    const auto arguments = std::make_shared<GpuBenchArguments>();
    return {
        .name = "gpu-bench",
        .help = "Check this machine's GPU kernels, train on it, and compare with the prediction",
        .options = {{"files",
                     &arguments->files,
                     "Scenario files of one GPU; none: the GPT-2 ones",
                     "FILE"},
                    override_option(arguments->overrides),
                    {"-o,--output",
                     &arguments->folder,
                     "Where profiles and steps.csv are written",
                     "FOLDER"},
                    {"--steps",
                     &arguments->steps,
                     "Steps that are timed, of each scenario (10)",
                     "N",
                     false,
                     1,
                     100000},
                    {"--limit",
                     &arguments->limit_s,
                     "Seconds after which a training is given up (300)",
                     "S",
                     false,
                     1,
                     86400},
                    {"--from",
                     &arguments->from,
                     "Begin at this stage: checks, train:NAME, torch:NAME or profile",
                     "STAGE"},
                    {"--only",
                     &arguments->only,
                     "Run 'checks', or 'train' of one scenario, in this process",
                     "STAGE"},
                    {"--comparison",
                     &arguments->first_comparison,
                     "Comparisons that --only checks leaves out at the begin",
                     "N"},
                    device_option(arguments->device,
                                  "cuda (if not given), or cpu for a rehearsal without a GPU"),
                    {"--checks-only", &arguments->checks_only, "Check the kernels, train nothing"},
                    {"!--no-torch", &arguments->torch, "Don't compare with PyTorch"},
                    {"--torch-eager", &arguments->torch_eager, "PyTorch without torch.compile"},
                    {"!--no-profile",
                     &arguments->profile,
                     "Don't measure kernels and NCCL's collectives on 1, 2, 4, ... GPUs at the end "
                     "(machine.csv)"}},
        .examples = {"gpu-bench scenarios/gpt2-124m-1gpu.yaml"},
        .run = [arguments] { return gpu_bench_command(*arguments); },
    };
}

}  // namespace orrery
