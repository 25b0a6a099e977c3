// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/machine_profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fstream>
#include <utility>

#include "engine/base/scratch_folder.h"
#include "runtime/cuda/devices.h"
#include "runtime/data/token_file.h"
#include "runtime/measure/host_machine.h"
#include "runtime/world.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/measure/discovered_cluster.h"
#include "scenarios/studies/measure/observed_costs.h"
#include "scenarios/studies/measure/profile_cases.h"
#include "scenarios/studies/measure/recorded_run.h"

namespace orrery {
namespace {

// Writes pseudo-random tokens that cover the vocabulary.
Result<void> write_drawn_tokens(const std::filesystem::path& file,
                                std::int64_t vocabulary,
                                std::int64_t count) {
    std::vector<std::uint16_t> ids(static_cast<std::size_t>(count));
    std::uint64_t state = 1;
    for (std::uint16_t& id : ids) {
        // The high bits of Knuth's MMIX generator.
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        id = static_cast<std::uint16_t>((state >> 33U) % static_cast<std::uint64_t>(vocabulary));
    }
    return write_token_file(file, Tokens::of(std::move(ids), vocabulary));
}

struct ProfiledRun {
    MachineProfile profile;
    std::size_t steps = 0;
    bool undisturbed = false;
    bool interrupted = false;  // then the remaining runs are missing
};

// Whether the launcher's status is that of a signal which it passed on to its processes.
bool is_told_to_stop(int status) {
    return status == 128 + SIGINT || status == 128 + SIGTERM || status == 128 + SIGHUP;
}

// Trains in one process per device of the scenario and reads the recordings.
ResultOrErrors<ProfiledRun> measure_steps(const std::filesystem::path& scenario,
                                          const std::vector<std::string>& overrides,
                                          std::uint32_t ranks,
                                          const std::string& device,
                                          const std::filesystem::path& folder) {
    std::vector<std::string> command{"train", scenario.string(), "--quiet", "--device", device};
    command.insert(command.end(), {"--record", (folder / "run").string()});
    for (const std::string& change : overrides) {
        command.insert(command.end(), {"--set", change});
    }
    const Result<int> status = run_ranks(ranks, command);
    if (!status) {
        return unexpected<Errors>(Errors{status.error()});
    }
    if (is_told_to_stop(*status)) {
        return ProfiledRun{.interrupted = true};
    }
    if (*status != 0) {
        return unexpected<Errors>(
            Errors{{scenario.string(), "the steps to measure could not be run", ""}});
    }
    const auto run = read_recorded_run(folder / "run");
    if (!run) {
        return unexpected<Errors>(run.error());
    }
    const auto steps = best_steps(run->steps);
    return ProfiledRun{.profile = observed_costs(
                           run->program, steps, run->scenario.device.name, run->sharing_ranks()),
                       .steps = steps.size(),
                       .undisturbed = std::ranges::all_of(
                           steps, [](const MeasuredStep* step) { return step->undisturbed(); })};
}

class MachineProfiler {
public:
    MachineProfiler(const ProfileSpec& spec,
                    std::filesystem::path folder,
                    const std::function<void(double)>& progress)
        : spec_(spec), folder_(std::move(folder)), progress_(progress), machine_(host_machine()) {}

    // Measures the scenario's own shapes.
    Errors run_scenario() {
        ReadOptions read;
        read.overrides = spec_.overrides;
        const auto scenario = read_scenario(spec_.scenario, read);
        if (!scenario) {
            return scenario.error();
        }
        if (const Result<void> same = check_gpu(*scenario); !same) {
            return {same.error()};
        }
        result_.made_of = provenance_of("profile", *scenario);
        result_.faults_left_out = faults_left_out(scenario->faults.entries, FaultUser::real_run);
        const std::int64_t sample = scenario->model.seq_length + 1;
        const std::int64_t vocabulary = std::min<std::int64_t>(scenario->model.vocab_size, 1 << 16);
        const std::filesystem::path tokens = folder_ / "tokens";
        if (const auto done = write_drawn_tokens(tokens, vocabulary, 64 * sample); !done) {
            return {done.error()};
        }
        std::vector<std::string> overrides = spec_.overrides;
        overrides.insert(overrides.end(),
                         {"job.dataset=" + tokens.string(),
                          "job.steps=12",
                          "job.eval_steps=0",
                          "job.learning_rate=1e-4",
                          "job.clip_grad=1e-6",
                          "job.sample_interval=0",
                          // A measurement does not touch the job's own files.
                          "job.checkpoint_folder=''",
                          "job.log_file=''",
                          "job.tensorboard_folder=''",
                          "job.min_learning_rate=0"});
        return add(measure_steps(spec_.scenario,
                                 overrides,
                                 static_cast<std::uint32_t>(scenario->cluster.num_ranks()),
                                 spec_.device,
                                 folder_));
    }

    // Measures the small models on one rank, then on 2, 4, … ranks up to the number of cores or
    // GPUs.
    Errors run_cases() {
        const auto cases = spec_.device == "cuda" ? cases_for_gpus() : cases_for_cores();
        return cases ? run_all(*cases) : Errors{cases.error()};
    }

    MeasuredMachine result() && {
        result_.profile = merged(profiles_);
        return std::move(result_);
    }
    bool has_measured() const { return !profiles_.empty(); }
    // Replaces the previous content of the output.
    Result<void> write() const {
        return OutputFile::write(spec_.output, profile_csv(merged(profiles_), words()));
    }

private:
    // Origin of the times, for the comment of the profile.
    std::string words() const {
        const std::time_t now = std::time(nullptr);
        std::tm date{};
        gmtime_r(&now, &date);
        return fmt::format(
            "Measured by orrery profile in real training steps, {:04}-{:02}-{:02}\n"
            "{}{}\n{} runs, {} steps; in {} runs no other process took a processor away\n",
            date.tm_year + 1900,
            date.tm_mon + 1,
            date.tm_mday,
            gpus_,
            machine_.words(),
            profiles_.size(),
            steps_,
            undisturbed_);
    }

    // Refuses to store times of this machine's GPU under the name of another one.
    Result<void> check_gpu(const Scenario& scenario) const {
        return spec_.device == "cuda" ? check_gpu_is(scenario.device.name) : Result<void>{};
    }

    Result<std::vector<ProfileCase>> cases_for_cores() const {
        const std::uint32_t most =
            spec_.ranks_max > 0 ? spec_.ranks_max : std::min(machine_.cores, 8u);
        std::vector<ProfileCase> cases;
        for (std::uint32_t ranks = 1; ranks <= most; ranks *= 2) {
            for (const char* precision : {"fp32", "bf16"}) {
                for (ProfileCase& one : profile_cases(ranks, precision)) {
                    cases.push_back(std::move(one));
                }
            }
        }
        return cases;
    }

    // Each rank has its own GPU.
    Result<std::vector<ProfileCase>> cases_for_gpus() {
        const auto gpus = nvml_gpus();
        if (!gpus || gpus->empty()) {
            return gpus ? fail("--device cuda", "NVIDIA's management library finds no GPU", "")
                        : unexpected<Error>(gpus.error());
        }
        gpus_ = fmt::format("{} x {}, ", gpus->size(), gpus->front().name);
        const auto there = static_cast<std::uint32_t>(gpus->size());
        const std::uint32_t most = spec_.ranks_max > 0 ? std::min(spec_.ranks_max, there) : there;
        std::vector<ProfileCase> cases;
        for (std::uint32_t ranks = 1; ranks <= most; ranks *= 2) {
            const std::vector<NvmlGpu> own{gpus->begin(), gpus->begin() + ranks};
            const Result<DocumentNode> cluster = gpu_cluster(own, std::nullopt);
            if (!cluster) {
                return unexpected<Error>(cluster.error());
            }
            for (ProfileCase& one : gpu_profile_cases(ranks, "bf16", *cluster)) {
                cases.push_back(std::move(one));
            }
        }
        return cases;
    }

    // The output is written after each case. A failing case does not end the others.
    Errors run_all(const std::vector<ProfileCase>& cases) {
        Errors errors;
        for (std::size_t i = 0; i < cases.size() && !result_.interrupted; ++i) {
            Errors of_case = run_case(cases[i]);
            if (of_case.empty() && !result_.interrupted) {
                const Result<void> written = spec_.output == "-" ? Result<void>{} : write();
                if (!written) {
                    of_case.push_back(written.error());
                }
            }
            errors.insert(errors.end(), of_case.begin(), of_case.end());
            progress_(static_cast<double>(i + 1) / static_cast<double>(cases.size()));
        }
        return errors;
    }

    Errors run_case(const ProfileCase& one) {
        const std::filesystem::path file = folder_ / (one.name + ".yaml");
        const std::filesystem::path tokens = folder_ / "tokens";
        DocumentNode scenario = one.scenario;
        put(scenario, "job.dataset", scalar_node(tokens.string()));
        std::ofstream text(file);
        text << to_yaml(scenario);
        text.close();
        if (!text) {
            return {{file.string(), "can't be written", ""}};
        }
        if (const auto done = write_drawn_tokens(tokens, one.vocabulary, 1 << 14); !done) {
            return {done.error()};
        }
        return add(measure_steps(file, {}, one.ranks, spec_.device, folder_));
    }

    Errors add(ResultOrErrors<ProfiledRun> run) {
        if (!run) {
            return run.error();
        }
        if (run->interrupted) {
            result_.interrupted = true;
            return {};
        }
        profiles_.push_back(std::move(run->profile));
        steps_ += run->steps;
        undisturbed_ += run->undisturbed ? 1 : 0;
        return {};
    }

    const ProfileSpec& spec_;
    std::filesystem::path folder_;
    const std::function<void(double)>& progress_;
    HostMachine machine_;
    std::string gpus_;
    std::vector<MachineProfile> profiles_;
    MeasuredMachine result_;
    std::size_t steps_ = 0;
    std::size_t undisturbed_ = 0;
};

Result<void> check_profiled_device(const std::string& device) {
    if (device == "cpu") {
        return {};
    }
    if (device == "cuda") {
        const auto gpus = cuda_devices();
        return gpus ? Result<void>{}
                    : fail("--device cuda",
                           "no CUDA device can be profiled here: " + gpus.error().what,
                           "a machine with a GPU, or --device cpu");
    }
    return fail("--device", "'" + device + "' is no kind of device", "cpu or cuda");
}

}  // namespace

ResultOrErrors<MeasuredMachine> profile_machine(const ProfileSpec& spec,
                                                const std::function<void(double)>& progress) {
    const auto give_up = [](const Error& error) { return unexpected<Errors>(Errors{error}); };
    if (const Result<void> known = check_profiled_device(spec.device); !known) {
        return give_up(known.error());
    }
    // An unwritable output is reported before hours of measuring.
    if (const auto output = OutputFile::open(spec.output); !output) {
        return give_up(output.error());
    }
    const auto folder = ScratchFolder::make("orrery-profile");
    if (!folder) {
        return give_up(folder.error());
    }
    MachineProfiler profiler{spec, folder->path(), progress};
    const Errors errors = spec.scenario.empty() ? profiler.run_cases() : profiler.run_scenario();
    if (!errors.empty()) {
        return unexpected<Errors>(errors);
    }
    const Result<void> written = profiler.has_measured() ? profiler.write() : Result<void>{};
    if (!written) {
        return give_up(written.error());
    }
    return std::move(profiler).result();
}

}  // namespace orrery
