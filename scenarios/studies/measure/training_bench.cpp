// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/training_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/statistics.h"
#include "models/plan/flops.h"
#include "runtime/trainer.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/studies/measure/discovered_cluster.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// Steps that do not count: they open connections, capture graphs and time kernels.
constexpr std::int64_t kWarmUp = 5;

// Tokens of a vocabulary in an order without a pattern. The expected loss is near the logarithm of
// the vocabulary's size.
Tokens made_up_tokens(const Transformer& model) {
    const std::int64_t count = std::max<std::int64_t>(1 << 20, 4 * (model.seq_length + 1));
    const auto words = static_cast<std::uint32_t>(std::min<std::int64_t>(model.vocab_size, 65536));
    std::vector<std::uint16_t> ids;
    std::uint32_t state = 1;
    for (std::int64_t i = 0; i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        ids.push_back(static_cast<std::uint16_t>((state >> 8) % words));
    }
    return Tokens::of(ids, words);
}

// The profile names the scenario's device, so that must be the running one.
Result<void> check_device_of_profile(const Scenario& scenario, DeviceChoice device) {
    if (device == DeviceChoice::cpu) {
        return scenario.device.generation == "cpu"
                   ? Result<void>{}
                   : fail("cluster.node",
                          "the CPU runs this, and not the scenario's " + scenario.device.name,
                          "--set cluster.node=cpu-core");
    }
    return check_gpu_is(scenario.device.name);
}

Result<void> write_bench_profile(const OpTimes& times,
                                 const Scenario& scenario,
                                 const std::string& device,
                                 const std::string& path) {
    return OutputFile::write(
        path,
        profile_csv(times.profile(scenario.device.name),
                    fmt::format("Kernels of {} on {}", scenario.name, device)));
}

Result<double> predicted_seconds(const Scenario& scenario, const std::string& profile_file) {
    SimulationOptions options;
    options.profile_file = profile_file;
    const Result<Answer> answer = simulate_scenario(on_own_runtime(scenario), options);
    if (!answer) {
        return unexpected<Error>(answer.error());
    }
    return answer->iteration.seconds();
}

Result<void> run_steps(Trainer& trainer,
                       std::int64_t steps,
                       const std::function<void(const StepReport&)>& on_step,
                       TrainingBench& bench) {
    std::vector<double> seconds;
    for (std::int64_t s = 0; s < kWarmUp + steps; ++s) {
        const Result<StepReport> report = trainer.step();
        if (!report) {
            return unexpected<Error>(report.error());
        }
        bench.first_loss = s == 0 ? report->loss : bench.first_loss;
        bench.last_loss = report->loss;
        on_step(*report);
        if (s >= kWarmUp) {
            seconds.push_back(report->seconds);
        } else if (s + 1 == kWarmUp) {
            trainer.executor().measure(nullptr);
        }
    }
    bench.steps = steps;
    bench.step_s = median(seconds);
    bench.slowest_s = std::ranges::max(seconds);
    return {};
}

}  // namespace

Result<TrainingBench> bench_training(const Scenario& scenario,
                                     DeviceChoice device,
                                     std::int64_t steps,
                                     const std::string& profile_file,
                                     const std::function<void(const StepReport&)>& on_step) {
    if (scenario.cluster.num_gpus() != 1) {
        return fail(scenario.name,
                    "has more than one device",
                    "one node with gpus_per_node: 1, such as h100-1gpu");
    }
    if (const Result<void> same = check_device_of_profile(scenario, device); !same) {
        return unexpected<Error>(same.error());
    }
    TrainingJob job = scenario.job.training;
    job.device = device;
    job.steps = kWarmUp + steps;
    job.eval_steps = 0;
    auto trainer =
        Trainer::create(scenario.model, scenario.plan, job, made_up_tokens(scenario.model));
    if (!trainer) {
        return unexpected<Error>(trainer.error());
    }
    Executor& executor = (*trainer)->executor();
    TrainingBench bench{
        .device = executor.device_name(),
        .drawing_s = (*trainer)->drawing_s(),
        .parameters = num_parameters(scenario.model),
        .tokens_per_step = scenario.plan.global_batch_size * scenario.model.seq_length};
    OpTimes times{(*trainer)->program()};
    executor.measure(&times);
    if (const Result<void> done = run_steps(**trainer, steps, on_step, bench); !done) {
        return unexpected<Error>(done.error());
    }
    bench.notes = executor.notes();
    auto kernels = compare_kernels(scenario, (*trainer)->program(), times);
    Result<void> written = write_bench_profile(times, scenario, bench.device, profile_file);
    if (!kernels || !written) {
        return unexpected<Error>(kernels ? written.error() : kernels.error());
    }
    bench.kernels = std::move(*kernels);
    trainer->reset();  // frees its memory before the simulation allocates
    const ModelFlops work = model_flops(scenario.model, scenario.plan);
    const FlopRate peak = scenario.device.peak(scenario.plan.precision);
    const Time step = Time::seconds(bench.step_s);
    bench.mfu_causal = flops_utilization(work.causal_attention, step, peak, 1);
    bench.mfu_full = flops_utilization(work.full_attention, step, peak, 1);
    const auto predicted = predicted_seconds(scenario, "");
    const auto with_profile = predicted_seconds(scenario, profile_file);
    if (!predicted || !with_profile) {
        return unexpected<Error>(predicted ? with_profile.error() : predicted.error());
    }
    bench.predicted_s = *predicted;
    bench.predicted_with_profile_s = *with_profile;
    return bench;
}

std::string bench_report(const Scenario& scenario, const TrainingBench& b) {
    std::string text = fmt::format("\n{}: {} parameters, {} tokens a step, on {}\n",
                                   scenario.name,
                                   b.parameters,
                                   b.tokens_per_step,
                                   b.device);
    for (const std::string& note : b.notes) {
        text += "  " + note + "\n";
    }
    text += fmt::format("  initial weights {:10.2f} s\n", b.drawing_s);
    text += fmt::format("  step            {:10.2f} ms, the median of {}; slowest {:.2f} ms\n",
                        1e3 * b.step_s,
                        b.steps,
                        1e3 * b.slowest_s);
    text += fmt::format("  tokens/s        {:10.0f}\n", b.tokens_per_second());
    text += fmt::format("  MFU             {:10.1f} % causal attention, {:.1f} % full\n",
                        100 * b.mfu_causal,
                        100 * b.mfu_full);
    const auto line = [&](std::string_view what, double predicted) {
        text += fmt::format("  predicted       {:10.2f} ms {}: {:+.1f} %\n",
                            1e3 * predicted,
                            what,
                            100 * (predicted / b.step_s - 1));
    };
    line("before this run", b.predicted_s);
    line("with its kernel times", b.predicted_with_profile_s);
    text += fmt::format(
        "  loss            {:10.4f} at first, {:.4f} at last\n", b.first_loss, b.last_loss);
    return text + measured_report(b.kernels);
}

std::string bench_columns() {
    return "scenario,device,without,micro_batch_size,tokens_per_step,steps,step_ms,slowest_ms,"
           "tokens_per_s,mfu_causal,mfu_full,predicted_ms,predicted_with_profile_ms,first_loss,"
           "last_loss\n";
}

// The list of what is left out has spaces instead of commas.
std::string bench_row(const Scenario& scenario,
                      const TrainingBench& b,
                      const std::string& without) {
    std::string words = without;
    std::ranges::replace(words, ',', ' ');
    return fmt::format(
        "{},{},{},{},{},{},{:.4f},{:.4f},{:.1f},{:.4f},{:.4f},{:.4f},{:.4f},{:.5f},{:.5f}\n",
        scenario.name,
        b.device,
        words,
        scenario.plan.micro_batch_size,
        b.tokens_per_step,
        b.steps,
        1e3 * b.step_s,
        1e3 * b.slowest_s,
        b.tokens_per_second(),
        b.mfu_causal,
        b.mfu_full,
        1e3 * b.predicted_s,
        1e3 * b.predicted_with_profile_s,
        b.first_loss,
        b.last_loss);
}

}  // namespace orrery
