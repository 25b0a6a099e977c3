// SPDX-License-Identifier: Apache-2.0
#include "scenarios/commands/gpu_bench.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "models/lowering.h"
#include "runtime/cuda/devices.h"
#include "runtime/cuda/nccl_library.h"
#include "runtime/kernel_program.h"
#include "scenarios/catalogue.h"
#include "scenarios/commands/exit_status.h"
#include "scenarios/commands/profile.h"
#include "scenarios/measure/training_bench.h"
#include "scenarios/read/quantity.h"
#include "scenarios/reader.h"
#include "scenarios/version.h"

namespace orrery {
namespace {

// Of ||GPU - CPU|| / ||CPU||: sums in another order, and results rounded to their type.
double tolerance(Dtype dtype) {
    return dtype == Dtype::bf16 ? 1e-2 : 1e-5;
}

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

int print_machine(const std::vector<CudaDeviceInfo>& devices) {
    const auto nccl = open_nccl();
    std::string text = fmt::format("orrery {}, {}, NCCL {}\n",
                                   kVersion,
                                   cuda_versions(),
                                   nccl ? (*nccl)->version() : "none: " + nccl.error().what);
    for (const CudaDeviceInfo& d : devices) {
        text += fmt::format("GPU {}: {}, {} of memory, {} multiprocessors, sm_{}, {}\n",
                            d.ordinal,
                            d.name,
                            to_short_text(d.memory),
                            d.multiprocessors,
                            d.compute_capability,
                            d.pci_bus);
    }
    return print_output(text);
}

// Small models with heads that tensor cores take, whose steps have every kernel there is.
std::vector<KernelCall> calls_to_check() {
    Transformer gpt{.name = "check",
                    .num_layers = 1,
                    .hidden_size = 256,
                    .ffn_hidden_size = 1024,
                    .num_attention_heads = 4,
                    .num_query_groups = 4,
                    .kv_channels = 64,
                    .seq_length = 256,
                    .vocab_size = 1024};
    Transformer llama = gpt;
    llama.num_query_groups = 2;
    llama.normalization = Normalization::rmsnorm;
    llama.position_embedding = PositionEmbedding::rope;
    llama.activation = Activation::swiglu;
    llama.add_bias_linear = false;
    llama.tied_embeddings = false;
    std::vector<KernelCall> calls;
    for (const Dtype precision : {Dtype::bf16, Dtype::fp32}) {
        for (const Transformer& model : {gpt, llama}) {
            const Program program = lower(
                model, {.micro_batch_size = 2, .global_batch_size = 4, .precision = precision});
            for (const KernelCall& call : program.kernels) {
                if (kernel_program(call) && std::ranges::find(calls, call) == calls.end()) {
                    calls.push_back(call);
                }
            }
        }
    }
    return calls;
}

// How many kernels are wrong.
Result<int> check_kernels() {
    std::string text = "\nKernels beside the CPU's, |difference| / |result|\n\n";
    int wrong = 0;
    for (const KernelCall& call : calls_to_check()) {
        const auto difference = compare_kernel(call, DeviceChoice::cuda, DeviceChoice::cpu);
        if (!difference) {
            return unexpected<Error>(difference.error());
        }
        const bool fits = *difference <= tolerance(call.dtype);  // false for NaN
        wrong += fits ? 0 : 1;
        text += fmt::format("  {:<24} {:<5} variant {:>3}  {:.2e}  {}\n",
                            name(call.kind),
                            name(call.dtype),
                            call.variant,
                            *difference,
                            fits ? "ok" : "WRONG");
    }
    text += fmt::format("\n  {} wrong\n", wrong);
    if (print_output(text) != kExitOk) {
        return fail("", "the report can't be written");
    }
    return wrong;
}

// What a program prints, or nothing if it fails.
std::string output_of(const std::string& command) {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe{popen(command.c_str(), "r"), pclose};
    std::string text;
    std::array<char, 256> part{};
    while (pipe && fgets(part.data(), static_cast<int>(part.size()), pipe.get()) != nullptr) {
        text += part.data();
    }
    return text;
}

// PyTorch on the same model and batch; a line that says what there is to say.
std::string torch_report(const Scenario& s, double tokens_per_second) {
    const std::string command = fmt::format(
        "python3 '{}' --layers {} --hidden {} --heads {} --sequence {} "
        "--vocabulary {} --micro {} --batch {} --steps 5 2>/dev/null",
        (scenario_folder() / "gpu_bench" / "gpt2_torch.py").string(),
        s.model.num_layers,
        s.model.hidden_size,
        s.model.num_attention_heads,
        s.model.seq_length,
        s.model.vocab_size,
        s.plan.micro_batch_size,
        s.plan.global_batch_size);
    const std::string text = output_of(command);
    double torch = 0;
    if (std::sscanf(text.c_str(), "tokens/s %lf", &torch) != 1 || torch <= 0) {
        return "  PyTorch was not compared: no python3 with torch that trains here\n";
    }
    return fmt::format("  torch.compile   {:10.0f} tokens/s: Orrery has {:.2f} of it\n",
                       torch,
                       tokens_per_second / torch);
}

int bench_file(const std::string& file, const GpuBenchArguments& arguments) {
    ReadOptions read;
    read.overrides = arguments.overrides;
    const ResultOrErrors<Scenario> scenario = read_scenario(file, read);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    const std::filesystem::path profile =
        std::filesystem::path{arguments.folder} / (scenario->name + ".csv");
    const auto bench =
        bench_training(*scenario, DeviceChoice::cuda, arguments.steps, profile.string());
    if (!bench) {
        return report_error(bench.error());
    }
    std::string text = bench_report(*scenario, *bench);
    if (arguments.torch) {
        text += torch_report(*scenario, bench->tokens_per_second());
    }
    return print_output(text + "  profile: " + profile.string() + "\n");
}

}  // namespace

int gpu_bench_command(const GpuBenchArguments& arguments) {
    const auto devices = cuda_devices();
    if (!devices) {
        Error error = devices.error();
        error.where = "gpu-bench";
        return report_error(error);
    }
    int status = print_machine(*devices);
    const Result<int> wrong = check_kernels();
    if (!wrong) {
        return report_error(wrong.error());
    }
    if (*wrong > 0) {
        return kExitCheckFailed;  // what computes wrongly is not worth timing
    }
    std::error_code error;
    std::filesystem::create_directories(arguments.folder, error);
    const std::vector<std::string> files =
        arguments.files.empty() ? default_scenarios() : arguments.files;
    for (std::size_t i = 0; !arguments.checks_only && i < files.size(); ++i) {
        const int of_file = bench_file(files[i], arguments);
        status = status == kExitOk ? of_file : status;
    }
    if (arguments.profile && !arguments.checks_only) {
        const std::filesystem::path file = std::filesystem::path{arguments.folder} / "machine.csv";
        const int of_profile = profile_command({.device = "cuda", .output = file.string()});
        status = status == kExitOk ? of_profile : status;
    }
    return status;
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
                    {"-o,--output", &arguments->folder, "Where profiles are written", "FOLDER"},
                    {"--steps",
                     &arguments->steps,
                     "Steps that are timed, of each scenario",
                     "N",
                     false,
                     1,
                     100000},
                    {"--checks-only", &arguments->checks_only, "Check the kernels, train nothing"},
                    {"!--no-torch", &arguments->torch, "Don't compare with PyTorch"},
                    {"!--no-profile",
                     &arguments->profile,
                     "Don't measure kernels and NCCL's collectives on 1, 2, 4, ... GPUs at the end "
                     "(machine.csv)"}},
        .examples = {"gpu-bench scenarios/gpt2-124m-1gpu.yaml"},
        .run = [arguments] { return gpu_bench_command(*arguments); },
    };
}

}  // namespace orrery
